"""Write down, from inside any loader, which samples a run gets: JSON lines, by the standard library alone.

    from traindoctor.probes.dataset.manifest import Manifest

    with Manifest("runs/exp7/manifest.jsonl", split="train", rank=rank) as manifest:
        for epoch in range(2):
            for index, (image, label) in enumerate_batches(loader):
                manifest.add(id=index, sample=image, label=label, epoch=epoch)

`diagnose data` and `diagnose RUN` read it: order over epochs, overlap and gaps between ranks, duplicates,
NaN, ranges, class shares, and files that are missing or have changed.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from types import TracebackType
from typing import IO, Any

VERSION = 1


class Manifest:
    """A manifest that is being written. Append-only: a run that dies keeps what was added.

    `split`, `rank` and `epoch` stand for every sample that does not say otherwise. Several processes write
    several files (`manifest.rank0.jsonl`, ...). Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str | Path, *, split: str = "", rank: int | None = None, epoch: int = 0) -> None:
        self.defaults = {"split": split, "rank": rank, "epoch": epoch}
        self.file: IO[str] = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - close() ends it

    def add(
        self,
        *,
        id: object = None,
        path: str | Path | None = None,
        sample: Any = None,
        label: Any = None,
        split: str | None = None,
        epoch: int | None = None,
        rank: int | None = None,
    ) -> None:
        """Add one sample: what names it (`id` or `path`) and, if given, its content's checksum and range.

        `sample` is bytes, or an array or tensor of any framework (brought to host memory).
        """
        given = {"split": split, "epoch": epoch, "rank": rank}
        entry = {k: v if v is not None else self.defaults[k] for k, v in given.items()}
        entry = {k: v for k, v in entry.items() if v not in (None, "")}
        if id is not None:
            entry["id"] = str(id) if not isinstance(id, int) else id
        if path is not None:
            entry["path"] = str(path)
            found = Path(path)
            if found.is_file():
                entry["size"] = found.stat().st_size
        if label is not None:
            entry["label"] = _scalar(label)
        if sample is not None:
            entry.update(describe(sample))
        self.file.write(json.dumps(entry, sort_keys=True) + "\n")

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Manifest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def describe(sample: Any) -> dict[str, Any]:
    """Return checksum, shape, element type and range of one sample; of bytes only the checksum."""
    if isinstance(sample, (bytes, bytearray, memoryview, str)):
        raw = sample.encode() if isinstance(sample, str) else bytes(sample)
        return {"hash": hashlib.blake2b(raw, digest_size=16).hexdigest()}
    array = _on_host(sample)
    found: dict[str, Any] = {
        "hash": hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest(),
        "shape": list(array.shape),
        "dtype": str(array.dtype),
    }
    if array.size and array.dtype.kind in "fiub":
        low, high = float(array.min()), float(array.max())
        if math.isfinite(low) and math.isfinite(high):
            found |= {"low": low, "high": high, "mean": float(array.mean()), "std": float(array.std())}
        else:
            found["finite"] = False
    return found


def _on_host(sample: Any) -> Any:
    for step in ("detach", "cpu"):
        if hasattr(sample, step):
            sample = getattr(sample, step)()
    for step in ("numpy", "asnumpy"):
        if hasattr(sample, step):
            return getattr(sample, step)()
    if hasattr(sample, "tobytes") and hasattr(sample, "dtype"):
        return sample
    raise TypeError(f"a sample is bytes or an array, not {type(sample).__name__}")


def _scalar(label: Any) -> Any:
    if isinstance(label, (bool, int, float, str)):
        return label
    return (
        label.item() if hasattr(label, "item") and getattr(label, "size", 1) in (1, ()) else str(label)[:200]
    )
