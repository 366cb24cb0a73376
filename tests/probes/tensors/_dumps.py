"""Small operator dumps made by hand, in the layouts that the tools write."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "samples" / "ascend"
STORAGES = {
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "uint16": "BFloat16Storage",
}


def entry(values: Any, *, dtype: str = "", digest: bool = False, file: str = "") -> dict[str, Any]:
    """What dump.json tells of one tensor."""
    array = np.asarray(values)
    with np.errstate(all="ignore"):
        mean, norm = float(np.mean(array)), float(np.sqrt(np.sum(np.square(array, dtype=np.float64))))
    told = {
        "type": "torch.Tensor",
        "dtype": "torch." + (dtype or str(array.dtype)),
        "shape": list(array.shape),
        "Max": float(np.max(array)),
        "Min": float(np.min(array)),
        "Mean": mean,
        "Norm": norm,
        "requires_grad": False,
    }
    if digest:
        import zlib

        told["md5"] = f"{zlib.crc32(array.tobytes()):08x}"
    if file:
        told["data_name"] = file
    return told


Call = tuple[str, Sequence[Any], Sequence[Any]]  # name, inputs (arrays or scalars), outputs


def msprobe(
    folder: Path,
    calls: Sequence[Call],
    *,
    tensors: str = "",
    digest: bool = False,
    stack: Mapping[str, str] | None = None,
    **head: Any,
) -> Path:
    """Write a dump of msprobe; `tensors` is "npy" or "pt" for one with values."""
    folder.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {}
    for name, inputs, outputs in calls:
        backward = ".backward" in name

        def told(items: Sequence[Any], role: str, name: str = name) -> list[Any]:
            found: list[Any] = []
            for i, item in enumerate(items):
                if isinstance(item, (int, float, str)):
                    found.append({"type": type(item).__name__, "value": item})
                    continue
                file = f"{name}.{role}.{i}.{tensors}" if tensors else ""
                if file:
                    write(folder / "dump_tensor_data" / file, item)
                found.append(entry(item, digest=digest, file=file))
            return found

        data[name] = {
            ("input" if backward else "input_args"): told(inputs, "input"),
            **({} if backward else {"input_kwargs": {}}),
            "output": told(outputs, "output"),
        }
    whole = {
        "task": "tensor" if tensors else "statistics",
        "level": "L1",
        "framework": "pytorch",
        "dump_data_dir": None,
        **head,
        "data": data,
    }
    (folder / "dump.json").write_text(json.dumps(whole))
    if stack:
        frames = {
            str(i): [
                [name],
                ["File /lib/python3.11/x.py, line 1, in f, \n x", f"File /home/me/net.py, line {line}"],
            ]
            for i, (name, line) in enumerate(stack.items())
        }
        (folder / "stack.json").write_text(json.dumps(frames))
    return folder


def write(path: Path, array: Any) -> None:
    """Write an array as .npy or as torch.save would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, np.asarray(array))
    else:
        path.write_bytes(pt(np.asarray(array)))


def pt(array: np.ndarray[Any, Any], strides: Sequence[int] | None = None, pickled: bytes = b"") -> bytes:
    """The bytes of `torch.save(tensor)`; uint16 stands for bf16. `pickled` replaces the pickle."""
    import io

    storage = STORAGES[str(array.dtype)]
    flat = np.ascontiguousarray(array).ravel()
    if strides is None:
        strides = [int(np.prod(array.shape[i + 1 :])) for i in range(array.ndim)]
    program = b"".join(
        (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((",
            _text("storage"),
            f"ctorch\n{storage}\n".encode(),
            _text("0"),
            _text("cpu"),
            b"J" + struct.pack("<i", flat.size) + b"tQK\x00",
            b"(" + b"".join(b"J" + struct.pack("<i", n) for n in array.shape) + b"t",
            b"(" + b"".join(b"J" + struct.pack("<i", n) for n in strides) + b"t",
            b"\x89ccollections\nOrderedDict\n)RtR.",
        )
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("t/data.pkl", pickled or program)
        archive.writestr("t/byteorder", "little")
        archive.writestr("t/data/0", flat.tobytes())
        archive.writestr("t/version", "3\n")
    return out.getvalue()


def _text(word: str) -> bytes:
    data = word.encode()
    return b"X" + struct.pack("<I", len(data)) + data
