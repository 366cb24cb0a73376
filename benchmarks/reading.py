"""How fast files are read, beside what users call instead, on files made here: `make bench`.

Four files of the kinds that fill run directories: 1,000,000 scalar events, a text log of 50 MB, a CSV and a
JSON-lines log of 200,000 rows each. Every reading is a process of its own and times itself in CPU seconds
(user + system), imports left out. Ours is `open_run`: all curves, under canonical names, cut at restarts.

The other side is tensorboard's EventAccumulator with nothing left out (size_guidance 0), Python's csv and
json, and for the text log one regular expression per line. TENSORBOARD_PYTHON names the interpreter that has
tensorboard, where this one has not; without either that comparison is left out, and a line says so.

`--scale 0.01` makes everything a hundred times smaller, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EVENTS, ROWS, LOG_BYTES = 1_000_000, 200_000, 50 * 1024**2
TAGS = ("train/loss", "train/grad_norm", "lr", "eval/accuracy")
FIRST_STEP = 16_384  # from here to 2,097,151 a step takes three bytes

OURS = """
from importlib import import_module
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.assembly.contents import READERS
for reader in READERS:
    import_module("traindoctor.probes.readers." + reader)
def read(path):
    return sum(len(s) for s in open_run(path.parent).all_series)
"""
ACCUMULATOR = """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
def read(path):
    found = EventAccumulator(str(path), size_guidance={"scalars": 0})
    found.Reload()
    return sum(len(found.Scalars(tag)) for tag in found.Tags()["scalars"])
"""
CSV = """
import csv
def read(path):
    with path.open(newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = list(zip(*rows))
    return sum(len([float(cell) for cell in column]) for column in columns[1:])
"""
JSON = """
import json
def read(path):
    with path.open() as file:
        rows = [json.loads(line) for line in file]
    return sum(len(row) - 1 for row in rows)
"""
REGEX = """
import re
PATTERN = re.compile(r"step (\\d+)/\\d+ \\| loss ([-\\d.e]+) \\| lr ([-\\d.e]+) \\| grad norm ([-\\d.e]+)")
def read(path):
    with path.open() as file:
        matches = [m for m in map(PATTERN.search, file) if m]
    return sum(len([float(g) for g in m.groups()[1:]]) for m in matches)
"""
TIMED = """
import json, pathlib, sys, time
path = pathlib.Path(sys.argv[1])
start = time.process_time()
points = read(path)
print(json.dumps([time.process_time() - start, points]))
"""


@dataclass(frozen=True)
class Case:
    """One file and how else it is read."""

    name: str
    path: Path
    other: str
    code: str
    python: str | None = sys.executable


def main() -> None:
    """Make the files, read each in both ways and print rates (points and bytes per CPU second) and ratios."""
    parser = argparse.ArgumentParser(description="Reading rates beside those of what users call instead.")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the files (default: 1)")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as folder:
        for case in made(Path(folder), scale):
            show(case)


def made(folder: Path, scale: float) -> Iterator[Case]:
    """Make each file in a directory of its own."""
    rows = max(100, int(ROWS * scale))
    events = new(folder, "events", "events.out.tfevents.1700000000.host.1.0")
    events.write_bytes(event_file(max(100, int(EVENTS * scale) // len(TAGS))))
    yield Case("scalar events", events, "EventAccumulator", ACCUMULATOR, tensorboard_python())
    log = new(folder, "text", "train.log")
    log.write_text(text_log(int(LOG_BYTES * scale)))
    yield Case("text log", log, "one regex per line", REGEX)
    table = new(folder, "csv", "metrics.csv")
    table.write_text(
        "step,loss,lr,grad_norm\n" + "".join(",".join(map(str, row)) + "\n" for row in points(rows))
    )
    yield Case("CSV", table, "csv.reader", CSV)
    lines = new(folder, "jsonl", "log.jsonl")
    names = ("step", "loss", "lr", "grad_norm")
    lines.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in points(rows)))
    yield Case("JSON lines", lines, "json.loads", JSON)


def new(folder: Path, directory: str, name: str) -> Path:
    """Return the path of a file in a new directory."""
    (folder / directory).mkdir()
    return folder / directory / name


def show(case: Case) -> None:
    """Print one comparison."""
    size = case.path.stat().st_size
    print(f"{case.name} ({size / 1e6:.1f} MB)")
    ours, found = timed(sys.executable, OURS, case.path)
    print(f"  {'traindoctor':20} {rate(ours, found, size)}")
    if case.python is None:
        print(f"  {case.other:20} left out: tensorboard is not installed here (name one: TENSORBOARD_PYTHON)")
        return
    theirs, same = timed(case.python, case.code, case.path)
    print(f"  {case.other:20} {rate(theirs, same, size)}   ours is {theirs / ours:.2f} x as fast")
    if same != found:
        print(f"  the two do not find the same number of points: {found} and {same}")


def rate(seconds: float, found: int, size: int) -> str:
    """Return time and rates as text."""
    speed = f"{found / seconds:11,.0f} points/s {size / seconds / 1e6:7.1f} MB/s"
    return f"{seconds:7.2f} s  {found:9,} points  {speed}"


def timed(python: str, code: str, path: Path) -> tuple[float, int]:
    """Run a reading in a process of its own; return its CPU seconds and the points that it found."""
    done = subprocess.run(
        [python, "-c", code + TIMED, str(path)], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, found = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), int(found)


def tensorboard_python() -> str | None:
    """Return an interpreter that has tensorboard, or None."""
    for python in filter(None, (os.environ.get("TENSORBOARD_PYTHON"), sys.executable)):
        probe = [python, "-c", "import tensorboard.backend.event_processing.event_accumulator"]
        if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


# ------------------------------------------------------------------------------------------------ files


def points(rows: int) -> Iterator[tuple[int, float, float, float]]:
    """Yield step, loss, learning rate and gradient norm of a run that goes well."""
    noise = np.random.default_rng(0).normal(size=(rows, 2)).tolist()
    for step, (a, b) in enumerate(noise):
        loss = 0.4 + 2.5 * math.exp(-4 * step / rows) + 0.02 * a
        rate = 3e-4 * 0.5 * (1 + math.cos(math.pi * step / rows))
        yield step, round(loss, 5), float(f"{rate:.6g}"), round(1.2 * math.exp(0.2 * b), 4)


def text_log(size: int) -> str:
    """Return a log of about so many bytes: a line per step, and other lines between them."""
    total = max(100, size // 100)
    lines = ["2024-05-01 10:00:00 INFO starting training"]
    for step, loss, rate, norm in points(total):
        clock = f"2024-05-01 {10 + step // 3600 % 12:02d}:{step // 60 % 60:02d}:{step % 60:02d}"
        values = f"loss {loss:.4f} | lr {rate:.3e} | grad norm {norm:.4f}"
        lines.append(f"{clock} INFO step {step}/{total} | {values} | 812 ms/it")
        if step % 500 == 499:
            lines.append(f"{clock} INFO saved checkpoint to out/checkpoint-{step}")
    return "\n".join(lines) + "\n"


def event_file(steps: int) -> bytes:
    """Return an event file of `steps` points of each tag, written as PyTorch's SummaryWriter does."""
    version = b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"
    first = framed(np.frombuffer(version, dtype=np.uint8).reshape(1, -1))
    columns = [[row.tobytes() for row in framed(event_payloads(tag, steps))] for tag in TAGS]
    return first.tobytes() + b"".join(record for group in zip(*columns, strict=True) for record in group)


def event_payloads(tag: str, steps: int) -> NDArray[np.uint8]:
    """Return (steps, length) bytes: Event{wall_time, step, summary{value{tag, simple_value}}}."""
    name = tag.encode()
    value = b"\x0a" + bytes([len(name)]) + name + b"\x15"
    head = b"\x2a" + bytes([len(value) + 6]) + b"\x0a" + bytes([len(value) + 4]) + value
    step = np.arange(FIRST_STEP, FIRST_STEP + steps, dtype=np.uint32)
    varint = np.stack([step & 127 | 128, step >> 7 & 127 | 128, step >> 14], axis=1).astype(np.uint8)
    walls = (1.7e9 + np.arange(steps) * 0.25).astype("<f8").view(np.uint8).reshape(steps, 8)
    values = (1.0 + np.exp(-np.arange(steps) / steps)).astype("<f4").view(np.uint8).reshape(steps, 4)
    fixed = [np.tile(np.frombuffer(part, dtype=np.uint8), (steps, 1)) for part in (b"\x09", b"\x10", head)]
    return np.concatenate([fixed[0], walls, fixed[1], varint, fixed[2], values], axis=1)


def framed(payloads: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return records: length, its checksum, payload, its checksum."""
    count, length = payloads.shape
    sizes = np.full(count, length, dtype="<u8").view(np.uint8).reshape(count, 8)
    return np.concatenate([sizes, masked_crc(sizes), payloads, masked_crc(payloads)], axis=1)


def masked_crc(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return (rows, 4) bytes: the masked CRC-32C of each row, as TFRecord files carry it."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1).astype(np.uint32)
    crc = np.full(len(rows), 0xFFFFFFFF, dtype=np.uint32)
    for column in rows.T:
        crc = table[(crc ^ column) & 255] ^ (crc >> 8)
    crc = ~crc
    masked = (crc >> 15 | crc << 17) + np.uint32(0xA282EAD8)
    return masked.astype("<u4").view(np.uint8).reshape(-1, 4)


if __name__ == "__main__":
    main()
