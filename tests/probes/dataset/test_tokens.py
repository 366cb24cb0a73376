"""Files of token ids: nanoGPT's, llm.c's and Megatron's."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure

from ._make import reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def text(seed: int, count: int, kinds: int = 5000) -> np.ndarray:
    """[count] ids as frequent as words are: the k-th one 1/k as often as the first."""
    chance = 1 / np.arange(1, kinds + 1)
    return np.random.default_rng(seed).choice(kinds, count, p=chance / chance.sum())


def flat(root: Path, train: np.ndarray, val: np.ndarray, dtype: type = np.uint16) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    train.astype(dtype).tofile(root / "train.bin")
    val.astype(dtype).tofile(root / "val.bin")
    return root


def indexed(root: Path, name: str, texts: list[np.ndarray]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    np.concatenate(texts).astype(np.uint16).tofile(root / f"{name}.bin")
    lengths = np.array([len(t) for t in texts], np.int32)
    starts = 2 * np.concatenate([[0], np.cumsum(lengths[:-1].astype(np.int64))])
    documents = np.arange(len(texts) + 1, dtype=np.int64)
    head = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, len(texts), len(texts) + 1)
    body = lengths.tobytes() + starts.astype(np.int64).tobytes() + documents.tobytes()
    (root / f"{name}.idx").write_bytes(head + body)
    return root


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("kinds", [60, 5000])
def test_text_of_both_splits_is_found_wherever_it_stands(tmp_path: Path, dtype: type, kinds: int) -> None:
    train, val = text(0, 120_000, kinds), text(1, 20_000, kinds)
    sound = flat(tmp_path / "sound", train, val, dtype)
    assert reading("duplicate-samples-across-splits", sound).state is A
    assert reading("data-unreadable", sound).state is A
    assert reading("data-duplicates", sound).state is A

    mixed = np.concatenate([val[:15_001], train[70_003:78_000]])
    assert (
        reading("duplicate-samples-across-splits", flat(tmp_path / "mixed", train, mixed, dtype)).state is P
    )
    twice = np.concatenate([train, train[:40_000]])
    assert reading("data-duplicates", flat(tmp_path / "twice", twice, val, dtype)).state is P


def test_stretches_go_over_the_ends_of_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, val = text(0, 60_000), text(1, 5_000)
    root = flat(tmp_path, train, val)
    whole = measure(root).training[0]
    monkeypatch.setattr("traindoctor.probes.dataset.tokens.BLOCK", 10_000)
    parts = measure(root).training[0]
    assert set(whole.hashes.tolist()) == set(parts.hashes.tolist())
    assert len(whole.hashes) == len(parts.hashes)


def test_flat_files_that_were_cut_or_never_filled(tmp_path: Path) -> None:
    train, val = text(0, 60_000), text(1, 9_000)
    odd = flat(tmp_path / "odd", train, val)
    (odd / "train.bin").write_bytes((odd / "train.bin").read_bytes()[:-1])
    assert "cut off" in reading("data-unreadable", odd).why
    train[40_000:] = 0
    assert "never written" in reading("data-unreadable", flat(tmp_path / "zeros", train, val)).why


def test_ids_beyond_the_vocabulary_of_meta_pkl(tmp_path: Path) -> None:
    root = flat(tmp_path, text(0, 60_000, 70), text(1, 9_000, 70))
    (root / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 70, "stoi": {"a": 0}}))
    assert reading("data-unreadable", root).state is A
    (root / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 65, "stoi": {"a": 0}}))
    assert "vocabulary of 65" in reading("data-unreadable", root).why


def test_a_header_of_llm_c(tmp_path: Path) -> None:
    ids = text(0, 50_000).astype(np.uint16)
    head = np.zeros(256, np.int32)
    head[:3] = 20240520, 1, len(ids)
    (tmp_path / "fineweb_train_000001.bin").write_bytes(head.tobytes() + ids.tobytes())
    assert reading("data-unreadable", tmp_path).state is A
    (tmp_path / "fineweb_train_000001.bin").write_bytes(head.tobytes() + ids.tobytes()[:70_000])
    assert "70000 of 100000 bytes" in reading("data-unreadable", tmp_path).why


def test_megatron_files(tmp_path: Path) -> None:
    texts = [text(i, 100 + i) for i in range(200)]
    sound = indexed(tmp_path / "sound", "train_text_document", texts[:160])
    indexed(sound, "valid_text_document", texts[160:])
    assert reading("duplicate-samples-across-splits", sound).state is A
    assert reading("data-unreadable", sound).state is A

    shared = indexed(tmp_path / "shared", "train_text_document", texts[:180])
    indexed(shared, "valid_text_document", texts[160:])
    assert reading("duplicate-samples-across-splits", shared).state is P

    fewer = indexed(tmp_path / "fewer", "train_text_document", texts[:90])
    assert reading("data-fewer-than-benchmark", fewer, sound).state is P
    assert reading("data-differs-from-benchmark", sound, sound).state is A

    cut = indexed(tmp_path / "cut", "train_text_document", texts)
    (cut / "train_text_document.bin").write_bytes((cut / "train_text_document.bin").read_bytes()[:30_000])
    assert "of its index lie behind its end" in reading("data-unreadable", cut).why
    (cut / "train_text_document.idx").unlink()
    assert "index (.idx) is not there" in reading("data-unreadable", cut).why
    lone = indexed(tmp_path / "lone", "train_text_document", texts)
    (lone / "train_text_document.bin").unlink()
    assert "is not there" in reading("data-unreadable", lone).why
    short = indexed(tmp_path / "short", "train_text_document", texts)
    (short / "train_text_document.idx").write_bytes((short / "train_text_document.idx").read_bytes()[:500])
    assert "ends before" in reading("data-unreadable", short).why


def test_other_files_called_bin_are_left_alone(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    random.normal(size=9000).astype(np.float32).tofile(tmp_path / "train.bin")
    random.integers(0, 256, 30_730).astype(np.uint8).tofile(tmp_path / "test_batch.bin")
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK\x03\x04" + bytes(5000))
    (tmp_path / "val.bin").write_bytes(b"\x80\x04" + bytes(9000))
    assert not measure(tmp_path).parts
