"""Files that no reader is asked about, by extension, and what a report says of them (nothing, mostly)."""

from __future__ import annotations

_SILENT = """
png jpg jpeg gif bmp webp svg pdf mp4 avi wav mp3 flac onnx whl so dll exe ttf woff woff2 pyc lock idx
doc docx
md rst html css js c cc cpp h cu java tex bib diff patch
"""
_NAMED = {
    "checkpoint": "pt pth ckpt safetensors distcp h5 hdf5 msgpack orbax",
    "binary data": "bin model",
    "array": "npy npz",
    "pickle, never opened": "pkl pickle",
    "data table": "parquet arrow tfrecord mindrecord lmdb",
    "database": "mdb",
    "spreadsheet": "xlsx",
    "archive": "zip gz tar tgz xz 7z",
}
_REASONS: dict[str, str] = {f".{s}": "" for s in _SILENT.split()} | {
    f".{s}": reason for reason, suffixes in _NAMED.items() for s in suffixes.split()
}
WEIGHTS = frozenset(
    {".pt", ".pth", ".ckpt", ".safetensors", ".distcp", ".bin", ".npz", ".tar"}
)  # may hold weights
# Named like weights, and yet the arguments of a run.
_EXCEPTIONS = frozenset({"training_args.bin"})


def passed_over(name: str, suffix: str) -> str | None:
    """Return why a file is not opened ("" when it is not worth a word), or None when readers are asked."""
    if name == ".metadata":  # of a distributed checkpoint, whose reader looks at it
        return ""
    return None if name in _EXCEPTIONS else _REASONS.get(suffix)
