"""Damaged runs through the whole command: never a traceback, a warning or a probe error, always valid JSON.

The runs are the readers' golden files and the bundled examples, damaged as disks, copies and loggers damage
them. The damage follows from a number, so that a failure names the case that shows it again. For many more:

    TRAINDOCTOR_FUZZ=1000-2000 python -m pytest tests/cli/test_fuzz.py -q -n 2
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from traindoctor.cli import main
from traindoctor.reports import json_report

TESTS = Path(__file__).resolve().parents[1]
GOLDEN, EXAMPLES = TESTS / "probes" / "readers" / "golden", TESTS.parent / "examples"
SOURCES = (*sorted(p for p in GOLDEN.iterdir() if p.is_dir()), *sorted(EXAMPLES.glob("*/run")))
FEW = "0-21"
MENDED = (56, 188, 358)  # and 16 and 20: these once broke
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
ODD = (
    "nan", "NaN", "inf", "-inf", "-Infinity", "1e308", "-1.7e308", "1e400", "1e-320", "0", "-0.0", "0.0",
    "9" * 25, "9" * 400, "9" * 5000, "-1", "1e18", "9223372036854775808", "", "null", "true",
    "None", "1,5", "1_000", "0x1F",
    "１２", "12%", "--", "3.4.5", "1e", "2147483648", "65504", "1e-45", "[1, 2]", "{}", '"7"', "tensor(2.0)",
)  # fmt: skip
Damage = Callable[[random.Random, bytes], bytes]


def _text(change: Callable[[random.Random, str], str]) -> Damage:
    """A change of text, kept byte by byte where the file is none."""
    return lambda rng, data: change(rng, data.decode("latin-1")).encode(
        "utf-8" if data.isascii() else "latin-1", "replace"
    )


def _lines(change: Callable[[random.Random, list[str]], list[str]]) -> Damage:
    return _text(lambda rng, text: "".join(change(rng, text.splitlines(keepends=True) or [""])))


def _slice(rng: random.Random, size: int) -> tuple[int, int]:
    at = rng.randrange(size + 1)
    return at, min(size, at + rng.choice((1, 3, 40, size // 3)))


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 4, 30))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _drop(rng: random.Random, data: bytes) -> bytes:
    at, end = _slice(rng, len(data))
    return data[:at] + data[end:]


def _repeat(rng: random.Random, data: bytes) -> bytes:
    at, end = _slice(rng, len(data))
    return data[:end] + data[at:end] * rng.choice((1, 2, 50)) + data[end:]


def _zeros(rng: random.Random, data: bytes) -> bytes:
    """What a file system leaves of a file that was being written when the machine stopped."""
    at, end = _slice(rng, len(data))
    return data[:at] + b"\0" * (end - at) + data[end:]


def _recoded(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-16-be", "utf-8-sig", "utf-32", "gbk", "cp1252")), "replace")


def _numbers(rng: random.Random, text: str) -> str:
    """Some or all numbers become odd ones."""
    share, one = rng.choice((0.02, 0.2, 1.0)), rng.choice((None, *ODD))
    return NUMBER.sub(
        lambda m: (rng.choice(ODD) if one is None else one) if rng.random() < share else m[0], text
    )


def _scaled(rng: random.Random, text: str) -> str:
    """All numbers become huge, tiny, negative or whole."""
    factor = rng.choice((1e300, 1e30, 1e-300, -1.0, 0.0, 1e6))
    return NUMBER.sub(lambda m: f"{float(m[0]) * factor:g}", text)


def _column(rng: random.Random, rows: list[str]) -> list[str]:
    """One field of every line is emptied, made one value, or dropped."""
    sign = rng.choice((",", " ", ": ", "\t"))
    at, how = rng.randrange(6), rng.choice(("empty", "same", "drop", "twice"))
    same, changed = rng.choice(ODD), []
    for row in rows:
        fields = row.split(sign)
        if at < len(fields) - 1:
            put = {"empty": [""], "same": [same], "drop": [], "twice": [fields[at]] * 2}[how]
            fields[at : at + 1] = put
        changed.append(sign.join(fields))
    return changed


def _duplicated(rng: random.Random, rows: list[str]) -> list[str]:
    """Steps stand twice, side by side or again from the start."""
    return [r for row in rows for r in (row, row)] if rng.random() < 0.5 else rows * rng.choice((2, 5))


def _shuffled(rng: random.Random, rows: list[str]) -> list[str]:
    return rng.sample(rows, len(rows)) if rng.random() < 0.7 else rows[::-1]


def _interleaved(rng: random.Random, rows: list[str]) -> list[str]:
    """Two writers of one file: lines that stand in the middle of others."""
    half, changed = len(rows) // 2, []
    for one, other in zip(rows[:half], rows[half:], strict=False):
        at = rng.randrange(len(one) + 1)
        changed.append(one[:at] + other + one[at:])
    return changed or rows


def _cut(rng: random.Random, rows: list[str]) -> list[str]:
    most = rng.choice((5, 20, 60))
    return [row if rng.random() < 0.5 else row[: rng.randrange(most)] + "\n" for row in rows]


def _thinned(rng: random.Random, rows: list[str]) -> list[str]:
    return [row for row in rows if rng.random() < rng.choice((0.1, 0.5, 0.9))]


def _ends(rng: random.Random, text: str) -> str:
    return text.replace("\n", rng.choice(("\r\n", "\r", "\n\n", "\x0b", "\u2028", " ")))


def _nested(rng: random.Random, text: str) -> str:
    """Brackets without end, around the whole or in the place of a number."""
    deep = rng.choice((3, 200, 20_000))
    a, b = rng.choice(("[]", "{}", "()"))
    wrapped = '{"a":' * deep + text + "}" * deep if a == "{" else a * deep + text + b * deep
    return wrapped if rng.random() < 0.5 else NUMBER.sub(a * deep + "1" + b * deep, text, count=1)


def _quotes(rng: random.Random, text: str) -> str:
    old, new = rng.choice((('"', "'"), ('"', ""), (",", ";"), (":", "="), (".", ","), ("_", "-"), ("{", "[")))
    return text.replace(old, new)


DAMAGES: tuple[Damage, ...] = (
    _flip,
    _drop,
    _repeat,
    _zeros,
    _recoded,
    *(_text(f) for f in (_numbers, _numbers, _numbers, _scaled, _ends, _nested, _quotes)),
    *(_lines(f) for f in (_column, _column, _duplicated, _shuffled, _interleaved, _cut, _thinned)),
)


def damaged_run(number: int, to: Path) -> Path:
    """Write the run of this number, its files damaged; two runs at once in every fifth."""
    rng = random.Random(number)  # noqa: S311 - damage, no secret
    for source in rng.sample(SOURCES, 2 if number % 5 == 4 else 1):
        for file in sorted(p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            at = to / file.relative_to(source)
            at.parent.mkdir(parents=True, exist_ok=True)
            data = file.read_bytes()
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                data = rng.choice(DAMAGES)(rng, data)[:200_000]
            at.write_bytes(data)
            if rng.random() < 0.05:
                name = f"{at.stem}-copy{rng.choice(('.txt', '.json', '.csv', '.log', '.yaml', ''))}"
                shutil.copy(at, at.with_name(name))
    return to


@cache
def schema() -> Draft202012Validator:
    return Draft202012Validator(json.loads(json_report.schema_text()))


def _no_number(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def _cases() -> tuple[int, ...]:
    first, _, last = os.environ.get("TRAINDOCTOR_FUZZ", FEW).partition("-")
    return (*range(int(first), int(last)), *(MENDED if "TRAINDOCTOR_FUZZ" not in os.environ else ()))


@pytest.mark.parametrize("number", _cases())
def test_damage_is_told_and_breaks_nothing(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A contract's exit code, one sentence or a report in all formats, JSON that is as published."""
    line = [str(damaged_run(number, tmp_path / "run"))]
    if number % 3 == 1:
        line += ["--benchmark", str(damaged_run(10**6 + number, tmp_path / "benchmark"))]
    outputs = [word for name in ("d.html", "d.md", "d.json") for word in ("-o", str(tmp_path / name))]

    code = main([*line, "-f", "terminal", *outputs])

    out, err = capsys.readouterr()
    assert (code, "internal error" in err) in ((0, False), (4, False))
    assert all(said.startswith("diagnose: ") for said in err.splitlines())
    if code == 4:
        assert (out, len(err.splitlines())) == ("", 1)
        return
    found = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"), parse_constant=_no_number)
    schema().validate(found)
    assert found["not_evaluated"] == []
    assert [f["why"] for f in found["findings"] if "probe error" in f["why"]] == []
