"""What one split has and the other lacks: ends of texts, token ids, tags, columns; and pairs of languages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State

from ._make import csv, reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
_EN = "open the door before night and count every lamp that burns in a quiet house by the river"
EN = _EN.split()
_DE = "öffne die tür vor nacht und zähle jede lampe welche in einem stillen haus am fluss brennt"
DE = _DE.split()


def said(random: np.random.Generator, words: list[str] = EN, least: int = 6, most: int = 14) -> str:
    return " ".join(random.choice(words, random.integers(least, most))).capitalize() + "."


def texts(path: Path, n: int, seed: int, cut: int = 10_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    path.write_text("".join(json.dumps({"text": said(random, most=40)[:cut]}) + "\n" for _ in range(n)))


def test_texts_that_break_off_in_one_split(tmp_path: Path) -> None:
    for name, cut in (("sound", 10_000), ("cut", 60)):
        texts(tmp_path / name / "train.jsonl", 300, 0)
        texts(tmp_path / name / "val.jsonl", 100, 1, cut)
    texts(tmp_path / "both" / "train.jsonl", 300, 0, 60)  # cut alike
    texts(tmp_path / "both" / "val.jsonl", 100, 1, 60)

    assert reading("splits-written-differently", tmp_path / "sound").state is A
    assert "break off at 60" in reading("splits-written-differently", tmp_path / "cut").why
    assert reading("splits-written-differently", tmp_path / "both").state is A


def test_tags_of_html_in_one_split(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name, held in (("one", 0), ("both", 3)):
        for split, every in (("train", 2), ("test", held)):
            lines = [said(random) for _ in range(200)]
            lines = [f"<p>{s}</p>" if every and i % every == 0 else s for i, s in enumerate(lines)]
            path = tmp_path / name / f"{split}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(json.dumps({"text": s}) + "\n" for s in lines))

    assert "tags of HTML" in reading("splits-written-differently", tmp_path / "one").why
    assert reading("splits-written-differently", tmp_path / "both").state is A


def ids(n: int, seed: int, mark: int = 1) -> np.ndarray:
    """[n] ids of documents that begin with `mark`."""
    random = np.random.default_rng(seed)
    chance = 1 / np.arange(1, 900)
    found = 5 + random.choice(899, n, p=chance / chance.sum())
    found[::60] = mark
    return found


def tokens(root: Path, train: np.ndarray, val: np.ndarray, size: int | None = None) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    train.astype(np.uint16).tofile(root / "train.bin")
    val.astype(np.uint16).tofile(root / "val.bin")
    if size is not None:
        (root / "meta.json").write_text(json.dumps({"vocab_size": size}))
    return root


def doubled(found: np.ndarray) -> np.ndarray:
    return np.repeat(found, np.where(found == 1, 2, 1))


def test_special_tokens_in_files_of_ids(tmp_path: Path) -> None:
    train, val = ids(90_000, 0), ids(20_000, 1)
    sound = tokens(tmp_path / "sound", train, val, 904)
    assert reading("data-token-rows-odd", sound).state is A
    assert reading("splits-written-differently", sound).state is A
    assert reading("data-unreadable", sound).state is A

    twice = tokens(tmp_path / "twice", doubled(train), doubled(val))
    assert "id 1 by twos" in reading("data-token-rows-odd", twice).why
    letters = np.where(train == 300, 301, train)  # a word that now and then follows itself
    assert reading("data-token-rows-odd", tokens(tmp_path / "words", letters, val)).state is A

    lines = np.where(train > 90, 1 + train % 90, train)  # letters: a line break parts paragraphs
    assert reading("data-token-rows-odd", tokens(tmp_path / "letters", doubled(lines), lines)).state is A

    without = tokens(tmp_path / "without", train, val[val != 1])
    assert "token id 1 " in reading("splits-written-differently", without).why
    word = tokens(tmp_path / "word", train, val[val != 9])  # a word that one text lacks
    assert reading("splits-written-differently", word).state is A
    few = tokens(tmp_path / "few", train, val[val != 1][:4000])
    assert reading("splits-written-differently", few).state is A

    wide = tokens(tmp_path / "wide", train, val, 128_256)
    assert "those from 65536 on" in reading("data-unreadable", wide).why
    small = tokens(tmp_path / "small", train, val, 700)
    assert "vocabulary of 700 (meta.json)" in reading("data-unreadable", small).why


def rows_of_ids(root: Path, begin: list[int], pad: int = 0) -> Path:
    root.mkdir(parents=True)
    random = np.random.default_rng(0)
    rows = []
    for _ in range(80):
        found = [*begin, *random.integers(10, 800, random.integers(5, 20)).tolist(), 2]
        rows.append({"input_ids": found + [2] * pad, "attention_mask": [1] * len(found) + [0] * pad})
    (root / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return root


def test_rows_that_begin_twice(tmp_path: Path) -> None:
    assert reading("data-token-rows-odd", rows_of_ids(tmp_path / "sound", [1])).state is A
    assert (
        "begin with id 1 twice" in reading("data-token-rows-odd", rows_of_ids(tmp_path / "two", [1, 1])).why
    )
    assert reading("data-token-rows-odd", rows_of_ids(tmp_path / "three", [9, 9, 9])).state is A  # no mark


def tagged(path: Path, first: str, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    lines = []
    for i in range(90):
        lines += [f"{w} O" for w in said(random).split()]
        lines += [f"Anna{i} {first}-PER", "Novak I-PER", ". O", ""]
    path.write_text("\n".join(lines) + "\n")


def test_two_ways_of_tagging(tmp_path: Path) -> None:
    for name, first in (("sound", "B"), ("other", "I")):
        tagged(tmp_path / name / "train.conll", "B", 0)
        tagged(tmp_path / name / "dev.conll", first, 1)
    tagged(tmp_path / "both" / "train.conll", "I", 0)
    tagged(tmp_path / "both" / "dev.conll", "I", 1)

    assert reading("splits-written-differently", tmp_path / "sound").state is A
    assert "begin with B- in 100%" in reading("splits-written-differently", tmp_path / "other").why
    assert reading("splits-written-differently", tmp_path / "both").state is A


def measured(root: Path, change: Callable[[list[Any]], list[Any]]) -> Path:
    random = np.random.default_rng(0)
    rows = [[*map(float, r)] for r in np.round(random.normal((40, 55, 5), (9, 12, 2), (900, 3)), 2)]
    csv(root / "train.csv", ("age", "weight", "dose"), rows[:600])
    csv(root / "test.csv", ("age", "weight", "dose"), [change(r) for r in rows[600:]])
    return root


def test_exchanged_columns(tmp_path: Path) -> None:
    sound = measured(tmp_path / "sound", lambda r: r)
    crossed = measured(tmp_path / "crossed", lambda r: [r[1], r[0], r[2]])
    older = measured(tmp_path / "older", lambda r: [r[0] + 5, r[1] - 5, r[2]])  # another population

    moved = [[int(i % 10 < (3 if i < 600 else 8))] for i in range(900)]  # other shares of two answers
    answers = [[a, 1 - a, b] for (a,), b in zip(moved, range(900), strict=True)]
    csv(tmp_path / "shares" / "train.csv", ("yes", "no", "n"), answers[:600])
    csv(tmp_path / "shares" / "test.csv", ("yes", "no", "n"), answers[600:])
    assert "exchanged" not in reading("splits-scaled-differently", tmp_path / "shares").why

    assert reading("splits-scaled-differently", sound).state is A
    assert "exchanged" in reading("splits-scaled-differently", crossed).why
    assert reading("splits-scaled-differently", older).state is A


def pairs(root: Path, change: Callable[[int, list[str]], list[str]], other: list[str] = DE) -> Path:
    root.mkdir(parents=True)
    random = np.random.default_rng(0)
    both = [change(i, [said(random), said(random, other)]) for i in range(300)]
    (root / "train.en").write_text("\n".join(a for a, _ in both) + "\n", encoding="utf-8")
    (root / "train.de").write_text("\n".join(b for _, b in both) + "\n", encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("change", "other", "state", "why"),
    [
        (lambda _, r: r, DE, A, ""),
        (lambda i, r: r[::-1] if i % 4 == 0 else r, DE, P, "exchanged"),
        (lambda i, r: [r[0], r[0]] if i % 5 == 0 else r, DE, P, "the source again"),
        (lambda i, r: [r[0], r[0]] if i % 60 == 0 else r, DE, A, ""),  # names and numbers stay
        (lambda i, r: [r[0], r[0]] if i % 3 == 0 else r, EN, U, ""),  # corrections: mostly right before
    ],
)
def test_sides_of_translations(
    change: Callable[[int, list[str]], list[str]], other: list[str], state: State, why: str, tmp_path: Path
) -> None:
    found = reading("chats-malformed", pairs(tmp_path / "set", change, other))
    assert found.state is state
    assert why in found.why


def test_translations_of_hugging_face(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name, every in (("sound", 10_000), ("crossed", 4)):
        rows = []
        for i in range(300):
            pair = [said(random), said(random, DE)]
            rows.append(
                {"translation": dict(zip(("en", "de"), pair[:: -1 if i % every == 1 else 1], strict=True))}
            )
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    assert reading("chats-malformed", tmp_path / "sound").state is A
    assert "exchanged" in reading("chats-malformed", tmp_path / "crossed").why
