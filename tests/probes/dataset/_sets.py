"""Small sets as people have them: series in time, patients, conversations, recordings."""

from __future__ import annotations

import json
import struct
import wave
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from traindoctor.engine.model import State

from ._make import HEADER, csv, table

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Build = Callable[[Path], None]


def plain(root: Path) -> None:
    for name, n, seed in (("train", 300, 0), ("val", 100, 1)):
        csv(root / f"{name}.csv", HEADER, table(n, seed))


def hours(n: int = 600) -> list[list[object]]:
    """[n] rows of an hourly series with one value."""
    random = np.random.default_rng(3)
    start = np.datetime64("2024-01-01T00:00")
    return [
        [str(start + np.timedelta64(i, "h")).replace("T", " "), round(float(v), 3)]
        for i, v in enumerate(np.cumsum(random.normal(size=n)))
    ]


def series(pick: Callable[[list[list[object]]], tuple[list[Any], list[Any]]]) -> Build:
    """A series in time, dealt to train.csv and test.csv by `pick`."""

    def build(root: Path) -> None:
        train, test = pick(hours())
        csv(root / "train.csv", ("timestamp", "load"), train)
        csv(root / "test.csv", ("timestamp", "load"), test)

    return build


def by_chance(rows: list[list[object]]) -> tuple[list[Any], list[Any]]:
    mine = np.random.default_rng(0).random(len(rows)) < 0.8
    return (
        [r for r, m in zip(rows, mine, strict=True) if m],
        [r for r, m in zip(rows, mine, strict=True) if not m],
    )


def shuffled(rows: list[list[object]]) -> tuple[list[Any], list[Any]]:
    order = np.random.default_rng(0).permutation(450)
    return [rows[i] for i in order], rows[450:]


def in_order(rows: list[list[object]]) -> tuple[list[Any], list[Any]]:
    return rows[:450], rows[450:]


def newest_first(rows: list[list[object]]) -> tuple[list[Any], list[Any]]:
    return rows[:450][::-1], rows[450:][::-1]


def future(rows: list[list[object]]) -> tuple[list[Any], list[Any]]:
    return rows[150:], rows[:150]


def signed_up(rows: list[list[object]]) -> tuple[list[Any], list[Any]]:
    """Customers by the day on which they came: several a day, and a split at random is right."""
    random = np.random.default_rng(1)
    some = [
        [str(np.datetime64("2023-01-01") + int(d)), i] for i, d in enumerate(random.integers(0, 400, 500))
    ]
    return some[:400], some[400:]


def visits(parted: bool, key: str = "patient_id", more: str = "bp") -> Build:
    """Eight visits each of 50 patients, split by patient or by row."""

    def build(root: Path) -> None:
        random = np.random.default_rng(2)
        who = np.repeat(np.arange(50), 8)
        mine = who < 40 if parted else random.random(400) < 0.8
        rows = [
            [int(w) + 100, round(float(v), 4), int(v > 0)]
            for w, v in zip(who, random.normal(size=400), strict=True)
        ]
        for name, some in (("train", mine), ("val", ~mine)):
            csv(
                root / f"{name}.csv",
                (key, more, "diagnosis"),
                compress(rows, some),
            )

    return build


def copies(parted: bool) -> Build:
    """Four copies each of 60 pictures, split by picture or by copy."""

    def build(root: Path) -> None:
        rows = [[f"leaf_{n}_aug{k}.jpg", n % 2] for n in range(60) for k in range(4)]
        mine = [n < 48 if parted else k < 3 for n in range(60) for k in range(4)]
        for name, some in (("train", mine), ("val", [not m for m in mine])):
            csv(root / f"{name}.csv", ("filename", "label"), compress(rows, some))

    return build


def chats(
    edit: Callable[[list[list[dict[str, Any]]]], object] = lambda _: None, form: str = "messages"
) -> Build:
    """120 conversations of two turns."""

    def build(root: Path) -> None:
        turns: list[list[dict[str, Any]]] = [
            [
                {"role": "user", "content": f"What is {i} and {i}?"},
                {"role": "assistant", "content": str(2 * i)},
            ]
            for i in range(120)
        ]
        edit(turns)
        root.mkdir(parents=True, exist_ok=True)
        (root / "train.jsonl").write_text("".join(json.dumps({form: t}) + "\n" for t in turns))

    return build


def empty_answers(turns: list[list[dict[str, Any]]]) -> None:
    for t in turns[::20]:
        t[-1]["content"] = " "


def misspelt(turns: list[list[dict[str, Any]]]) -> None:
    for t in turns[::20]:
        t[-1]["role"] = "asistant"


def unanswered(turns: list[list[dict[str, Any]]]) -> None:
    for t in turns[::10]:
        t.pop()


def asked_twice(turns: list[list[dict[str, Any]]]) -> None:
    for i, t in enumerate(turns[::10]):
        t.insert(1, {"role": "user", "content": f"And {i}?"})


def instructed(echo: int) -> Build:
    """120 instructions with outputs, every `echo`-th of which says the instruction again."""

    def build(root: Path) -> None:
        rows = [
            {"instruction": f"Tell me about number {i}", "output": f"{i} is a number" if i % echo else ""}
            for i in range(120)
        ]
        for row in rows:
            row["output"] = row["output"] or row["instruction"]
        root.mkdir(parents=True, exist_ok=True)
        (root / "train.json").write_text(json.dumps(rows))

    return build


def exchanged(turns: list[list[dict[str, Any]]]) -> None:
    for t in turns[::10]:
        t[0]["role"], t[1]["role"] = "assistant", "user"


def other_keys(turns: list[list[dict[str, Any]]]) -> None:
    for at in range(0, 120, 12):
        turns[at] = [{"from": t["role"], "value": t["content"]} for t in turns[at]]


def calling(turns: list[list[dict[str, Any]]]) -> None:
    """A call of a tool says nothing and is sound."""
    for t in turns[::3]:
        call = {"type": "function", "function": {"name": "add", "arguments": "{}"}}
        t[1:1] = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": ""},
        ]


def asking(turns: list[list[dict[str, Any]]]) -> None:
    """Prompts alone, for a reward to judge what the model writes: no answer is meant to be there."""
    for t in turns:
        t.pop()


def pairs(edit: Callable[[list[dict[str, str]]], object]) -> Build:
    def build(root: Path) -> None:
        rows = [{"prompt": f"Say {i}", "chosen": f"{i}.", "rejected": f"no {i}"} for i in range(100)]
        edit(rows)
        root.mkdir(parents=True, exist_ok=True)
        (root / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    return build


def equal_pairs(rows: list[dict[str, str]]) -> None:
    for row in rows[::10]:
        row["rejected"] = row["chosen"]


def turned_pairs(rows: list[dict[str, str]]) -> None:
    rows += [{"prompt": r["prompt"], "chosen": r["rejected"], "rejected": r["chosen"]} for r in rows[:10]]


def many_answers(rows: list[dict[str, str]]) -> None:
    """Several answers to one prompt are how preferences are collected."""
    rows += [r | {"chosen": f"{r['chosen']}!"} for r in rows]


def wav(path: Path, seed: int, rate: int = 16000, channels: int = 1, loud: float = 3000.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).normal(size=800 * channels) * loud
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(np.clip(values, -32768, 32767).astype("<i2").tobytes())


def recordings(folder: str = "yes", **odd: Any) -> Build:
    """60 recordings of two words; one in ten of the first is odd."""

    def build(root: Path) -> None:
        for i in range(60):
            other = odd if i % 10 == 0 else {}
            wav(root / "train" / (folder if i % 2 == 0 else "no") / f"{i}.wav", i, **other)

    return build


def flac(rate: int = 16000, channels: int = 1, total: int = 800) -> bytes:
    """The beginning of a FLAC file: STREAMINFO alone."""
    told = rate << 44 | (channels - 1) << 41 | 15 << 36 | total
    return (
        b"fLaC\x80\x00\x00\x22"
        + struct.pack(">HH", 4096, 4096)
        + b"\0" * 6
        + told.to_bytes(8, "big")
        + b"\0" * 16
    )


CASES: Sequence[tuple[str, Build, State]] = [
    ("series-split-by-chance", series(by_chance), P),
    ("series-split-by-chance", series(future), P),
    ("series-split-by-chance", series(in_order), A),
    ("series-split-by-chance", series(signed_up), U),
    ("series-split-by-chance", plain, U),
    ("series-out-of-order", series(shuffled), P),
    ("series-out-of-order", series(lambda r: (r[200:450] + r[:200], r[450:])), P),
    ("series-out-of-order", series(in_order), A),
    ("series-out-of-order", series(newest_first), A),
    ("series-out-of-order", series(signed_up), U),
    ("groups-across-splits", visits(parted=False), P),
    ("groups-across-splits", visits(parted=False, key="Subject"), P),
    ("groups-across-splits", visits(parted=True), A),
    ("groups-across-splits", visits(parted=False, key="user_id", more="item_id"), U),
    ("groups-across-splits", copies(parted=False), P),
    ("groups-across-splits", copies(parted=True), A),
    ("groups-across-splits", plain, U),
    ("chats-malformed", chats(empty_answers), P),
    ("chats-malformed", chats(misspelt), P),
    ("chats-malformed", chats(unanswered), P),
    ("chats-malformed", chats(exchanged), P),
    ("chats-malformed", chats(other_keys), P),
    ("chats-malformed", pairs(equal_pairs), P),
    ("chats-malformed", pairs(turned_pairs), P),
    ("chats-malformed", chats(asked_twice), P),
    ("chats-malformed", instructed(8), P),
    ("chats-malformed", instructed(200), A),
    ("chats-malformed", chats(), A),
    ("chats-malformed", chats(calling), A),
    ("chats-malformed", chats(asking), A),
    ("chats-malformed", pairs(many_answers), A),
    ("chats-malformed", plain, U),
    ("recordings-mixed", recordings(rate=8000), P),
    ("recordings-mixed", recordings(channels=2), P),
    ("recordings-mixed", recordings(), A),
    ("recordings-clipped", recordings(loud=40_000.0), P),
    ("recordings-clipped", recordings(loud=3000.0), A),
    ("recordings-clipped", plain, U),
    ("recordings-mixed", plain, U),
    ("samples-blank", recordings(loud=0.0), P),
    ("samples-blank", recordings(), A),
    ("samples-blank", recordings(folder="silence", loud=0.0), A),
    ("samples-blank", plain, U),
]
