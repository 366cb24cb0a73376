"""WebDataset: samples in tar files, their parts told apart by what follows the first dot."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from ..files import MAX_READ, RunFile
from .examples import Examples
from .gather import Budget, Problems
from .media import AUDIO, IMAGES, Damaged, read_header
from .model import Part, Split
from .naming import is_label

MOST_MEMBER = 64 * 1024**2
LOOK = 40  # members by which it is told whether a tar file holds samples
USUAL = 0.9  # share of samples from which on a part belongs to every one
_LABELS = frozenset({"cls", "label", "class", "target", "cls.txt", "label.txt"})


class Member(RunFile):
    """One file of a tar, in memory."""

    content = b""

    @staticmethod
    def of(file: RunFile, name: str, content: bytes) -> Member:
        """Return `content` as a file called `name` that lies in `file`."""
        one = Member(file.root, name, len(content))
        object.__setattr__(one, "content", content)
        return one

    def read_bytes(self, limit: int = MAX_READ) -> bytes:
        """Read at most `limit` bytes."""
        return self.content[:limit]

    def open(self) -> BinaryIO:
        """Open for reading by parts."""
        return io.BytesIO(self.content)


def is_webdataset(file: RunFile) -> bool:
    """Whether a tar file holds samples of several parts each, as the first members tell."""
    if file.suffix != ".tar" or file.head[257:262] != b"ustar":
        return False
    keys: Counter[str] = Counter()
    try:
        with file.open() as handle, tarfile.open(fileobj=handle, mode="r:") as tar:
            for _, one in zip(range(LOOK), tar, strict=False):
                if one.isfile():
                    keys[_key(one.name)[0]] += 1
    except (tarfile.TarError, OSError, ValueError, EOFError):
        pass
    return bool(keys) and sum(n > 1 for n in keys.values()) >= 0.5 * len(keys)


def _key(name: str) -> tuple[str, str]:
    folder, _, last = name.rpartition("/")
    stem, _, rest = last.partition(".")
    return f"{folder}/{stem}", rest.lower()


def read_tars(files: Sequence[RunFile], split: Split, budget: Budget) -> Part:
    """Read samples in the order of their files, up to the bound of each; what follows is not counted."""
    found = Examples([f.path for f in files], budget.bounds.seed, budget.bounds.label)
    problems = Problems()
    parts: Counter[str] = Counter()
    total, exact, notes = 0, True, []
    lacking: list[tuple[frozenset[str], int, int]] = []
    for number, file in enumerate(files):
        limit = max(64, (budget.bounds.samples - found.looked) // (len(files) - number))
        found.cut()
        at = 0
        for members in _samples(file, problems, budget):
            at += 1
            if at > limit:
                exact = False
                break
            kinds = frozenset(members)
            parts.update(kinds)
            lacking.append((kinds, number, at))
            _damage(members, file, at, problems)
            said = {k: v for k, v in members.items() if k not in _LABELS}
            found.add(_sample(members), number, at, hash(tuple(sorted(said.items()))))
        total += at
        if budget.spent_out:
            exact = False
            notes.append(f"stopped after {budget.spent_out}")
            break
    usual = {k for k, n in parts.items() if n >= (0.5 if k == "cls" else USUAL) * max(1, found.looked)}
    for kinds, number, at in lacking:
        if not usual <= kinds:
            gone = ", ".join(f".{k}" for k in sorted(usual - kinds))
            problems.add(files[number].path, f"sample {at} has no {gone}", at)
    return found.part(split, "WebDataset", total, exact, problems, tuple(notes))


def _samples(file: RunFile, problems: Problems, budget: Budget) -> Iterator[dict[str, bytes]]:
    """Yield the parts of each sample by their endings."""
    key = ""
    members: dict[str, bytes] = {}
    try:
        with file.open() as handle, tarfile.open(fileobj=handle, mode="r:") as tar:
            for one in tar:
                if not one.isfile():
                    continue
                stem, ending = _key(one.name)
                if stem != key and members:
                    yield members
                    members = {}
                key = stem
                if not budget.take(one.size + 512):
                    return
                stream = tar.extractfile(one) if one.size <= MOST_MEMBER else None
                members[ending] = stream.read() if stream is not None else b""
                tar.members = []  # type: ignore[attr-defined]  # the list that tarfile keeps is not needed
            handle.seek(max(0, file.size - tarfile.BLOCKSIZE))
            if handle.read().strip(tarfile.NUL):
                problems.add(file.path, "cut off: the end of the archive is missing")
    except (tarfile.TarError, OSError, EOFError) as error:
        problems.add(file.path, f"cut off or damaged: {str(error)[:80] or type(error).__name__}")
    if members:
        yield members


def _damage(members: dict[str, bytes], file: RunFile, at: int, problems: Problems) -> None:
    for ending, data in members.items():
        suffix = f".{ending.rpartition('.')[2]}"
        if suffix not in IMAGES | AUDIO:
            continue
        try:
            read_header(Member.of(file, f"{at}{suffix}", data))
        except Damaged as error:
            problems.add(file.path, f"sample {at}: {ending}: {error}", at)


def _sample(members: dict[str, bytes]) -> dict[str, Any]:
    """The parts as features: a class as a number or a word, the label in a JSON part, all else as bytes."""
    found: dict[str, Any] = {}
    for ending, data in members.items():
        if ending in _LABELS:
            found["label"] = _number(data)
        else:
            found[ending] = [data]
        if ending == "json" and len(data) < MOST_MEMBER // 64:
            try:
                told = json.loads(data)
            except (ValueError, RecursionError):
                continue
            for name, value in told.items() if isinstance(told, dict) else ():
                if is_label(str(name)) and isinstance(value, (int, float, str)) and "label" not in found:
                    found["label"] = _number(str(value).encode())
    return found


def _number(data: bytes) -> Any:
    try:
        return np.array([float(data)])
    except ValueError:
        return [data.strip()[:80]]
