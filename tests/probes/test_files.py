"""A run directory is untrusted: nothing outside it is opened."""

import gzip
import os
from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunUnreadable, decode, walk


def test_walk_is_sorted_and_relative(tmp_path: Path) -> None:
    """Paths are relative, with forward slashes, in a stable order."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.log").write_text("1")
    (tmp_path / "a.log").write_text("1")

    assert [f.path for f in walk(tmp_path)[0]] == ["a.log", "b/x.log"]


def test_links_out_of_the_run_are_not_followed(tmp_path: Path) -> None:
    """A link to a file elsewhere is said and not read."""
    secret = tmp_path / "secret.txt"
    secret.write_text("do not read")
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log").symlink_to(secret)

    files, notes = walk(run)

    assert files == []
    assert any("leads out" in n for n in notes)


def test_special_files_are_passed_over(tmp_path: Path) -> None:
    """A pipe does not hang the reading."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "train.log").write_text("loss 1")

    assert [f.path for f in walk(tmp_path)[0]] == ["train.log"]


def test_a_single_file_is_a_run(tmp_path: Path) -> None:
    """A path to a file is read as a run of that file."""
    (tmp_path / "train.log").write_text("loss 1")

    assert [f.path for f in walk(tmp_path / "train.log")[0]] == ["train.log"]


def test_missing_is_one_sentence(tmp_path: Path) -> None:
    """A path that does not exist is said in one sentence."""
    with pytest.raises(RunUnreadable, match="No such file"):
        walk(tmp_path / "none")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    """Logs that Windows wrote are read as well."""
    assert decode("loss 0.5 é".encode(encoding)) == "loss 0.5 é"


def test_a_store_that_only_its_own_tool_reads(tmp_path: Path) -> None:
    """An Aim repository is named with what to do instead; none of its files is taken for a log."""
    store = tmp_path / ".aim" / "meta" / "chunks"
    store.mkdir(parents=True)
    (store / "000008.log").write_text("step 1 loss 1.0\nstep 2 loss 0.5\n")
    with pytest.raises(RunUnreadable, match=r"an Aim repository; its database .* export its metrics"):
        open_run(tmp_path)

    (tmp_path / "train.log").write_text("".join(f"step {k} loss {1 / k}\n" for k in range(1, 9)))
    info = open_run(tmp_path).info
    assert info.files_read == ("train.log",)
    assert any(note.startswith(".aim: an Aim repository") for note in info.notes)


def test_of_too_many_files_those_near_the_top_are_listed(tmp_path: Path) -> None:
    """A log beside folders of a great many files is found; where all can be listed, the order is as ever."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(6):
            (tmp_path / folder / f"{number}.txt").write_text("1")
    (tmp_path / "train.log").write_text("1")

    files, notes = walk(tmp_path, limit=8)

    assert [f.path for f in files] == [*(f"a/{n}.txt" for n in range(6)), "b/0.txt", "train.log"]
    assert notes == ["only the first 8 files were looked at"]
    assert [f.path for f in walk(tmp_path)[0]][-2:] == ["b/5.txt", "train.log"]


def test_packed_logs(tmp_path: Path) -> None:
    """A log packed by itself is read under its own name, one cut off as far as it goes; none twice."""
    text = "".join(f"step {s} loss {1 + 1 / s:.4f}\n" for s in range(1, 4001))
    packed = gzip.compress(text.encode())
    (tmp_path / "train.log.gz").write_bytes(packed)
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "train.log.gz").write_bytes(packed[: len(packed) // 2])
    both = tmp_path / "both"
    both.mkdir()
    (both / "train.log.gz").write_bytes(packed)
    (both / "train.log").write_text("step 1 loss 2.0\n")
    (both / "broken.log.gz").write_bytes(b"no archive")

    assert len(open_run(tmp_path / "train.log.gz").series["train/loss"]) == 4000
    assert 1000 < len(open_run(cut).series["train/loss"]) < 3000
    names = [f.path for f in walk(both)[0]]
    assert names == ["broken.log", "train.log", "train.log.gz"]
    assert "broken.log" in dict(open_run(both).info.not_read)
