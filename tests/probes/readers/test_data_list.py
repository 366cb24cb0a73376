"""Lists of data files and samples are read; what is no such list is left to other readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import data_list
from traindoctor.probes.run import DataList, Listed

A, B = "a" * 64, "b" * 64
SUMS = f"{A}  train/1.jpg\n{B} *train/2.jpg\n"
MANIFEST = json.dumps(
    {"files": [{"path": "train/1.jpg", "size": 10, "sha256": A}, {"path": "2", "bytes": 4}]}
)
BY_NAME = json.dumps({"train/1.jpg": {"size": 10, "md5": "x"}, "train/2.jpg": A})
TABLE = "filename,size,md5\ntrain/1.jpg,10,ff\ntrain/2.jpg,20,ee\n"
INFO = json.dumps(
    {
        "splits": {"train": {"num_examples": 120, "num_bytes": 9}, "test": {"num_examples": 8}},
        "download_checksums": {"hf://x/train.csv": {"num_bytes": 7, "checksum": A}},
    }
)


def file_of(tmp_path: Path, name: str, text: str | bytes) -> RunFile:
    data = text.encode() if isinstance(text, str) else text
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return RunFile(tmp_path, name, len(data))


def read(tmp_path: Path, name: str, text: str | bytes) -> DataList:
    file = file_of(tmp_path, name, text)
    assert data_list.sniff(file)
    return data_list.read(file).lists[0]


GOLDEN = [
    ("sha256sums.txt", SUMS, {"train/1.jpg": Listed(None, A), "train/2.jpg": Listed(None, B)}),
    ("manifest.json", MANIFEST, {"train/1.jpg": Listed(10, A), "2": Listed(4)}),
    ("manifest.json", BY_NAME, {"train/1.jpg": Listed(10, "x"), "train/2.jpg": Listed(None, A)}),
    ("data/files.csv", TABLE, {"train/1.jpg": Listed(10, "ff"), "train/2.jpg": Listed(20, "ee")}),
    (
        "train_list.txt",
        "n01/1.JPEG 0\nn01/2.JPEG 3\n",
        {"n01/1.JPEG": Listed(None, "", "0"), "n01/2.JPEG": Listed(None, "", "3")},
    ),
    ("shard_rank0.txt", "0\n2\n4\n", {"0": Listed(), "2": Listed(), "4": Listed()}),
    ("rank_1/samples.txt", "1\n3\n", {"1": Listed(), "3": Listed()}),
    ("shard_rank1.json", "[1, 3, 5]", {"1": Listed(), "3": Listed(), "5": Listed()}),
    ("data.mindrecord0.db", b"SQLite format 3\0", {"data.mindrecord0.db": Listed(16)}),
]


@pytest.mark.parametrize(("name", "text", "entries"), GOLDEN)
def test_lists(tmp_path: Path, name: str, text: str | bytes, entries: dict[str, Listed]) -> None:
    """Each form gives names with what stands beside them."""
    assert read(tmp_path, name, text).entries == entries


@pytest.mark.parametrize(("name", "text", "_"), GOLDEN)
def test_cut_off_anywhere(tmp_path: Path, name: str, text: str | bytes, _: object) -> None:
    """A damaged file costs itself: never anything but a refusal or a shorter list."""
    whole = text.encode() if isinstance(text, str) else text
    for end in range(len(whole)):
        file = file_of(tmp_path, name, whole[:end])
        if data_list.sniff(file):
            try:
                data_list.read(file)
            except ValueError:
                continue


def test_the_result_of_a_check(tmp_path: Path) -> None:
    """`sha256sum -c` names what fails; its own summary is no row."""
    text = "1.jpg: OK\n2.jpg: FAILED\n3.jpg: FAILED open or read\n"
    text += "sha256sum: WARNING: 1 computed checksum did NOT match\n"
    found = read(tmp_path, "check.txt", text)

    assert (found.checked, found.failed, list(found.entries)) == (3, ("2.jpg", "3.jpg"), ["1.jpg"])


def test_archives_that_broke_off(tmp_path: Path) -> None:
    """A log of unpacking names them; another log with the same words is no list."""
    text = "a.tar: ok\ntar: b.tar: Unexpected EOF in archive\ntar: Error is not recoverable: exiting now\n"
    found = read(tmp_path, "untar.log", text)

    assert (found.checked, found.failed) == (1, ("b.tar",))
    assert not data_list.sniff(file_of(tmp_path, "train.log", text))
    assert not data_list.sniff(file_of(tmp_path, "untar2.log", "a.tar: ok\n"))


def test_a_hugging_face_record(tmp_path: Path) -> None:
    """Samples per split, and the checksums of what was downloaded."""
    found = read(tmp_path, "dataset_info.json", INFO)

    assert found.declared == {"train": 120, "test": 8}
    assert found.entries == {"hf://x/train.csv": Listed(7, A)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.txt", "cat\ndog\n"),
        ("requirements.txt", "numpy==1.26\ntorch==2.3\n"),
        ("train.log", "step 1 loss 2.0\nstep 2 loss 1.0\n"),
        ("metrics.csv", "step,loss\n1,2.0\n2,1.0\n"),
        ("results.csv", "name,accuracy\na,0.5\nb,0.6\n"),
        ("config.json", '{"path": "x", "size": 3}'),
        ("manifest.json", '{"version": 1, "loss": [1, 2]}'),
        ("samples.txt", "a generated sample of text\nand another one of them\n"),
        ("file_list.txt", ""),
        ("status.txt", "training: OK so far\n"),
    ],
)
def test_strangers(tmp_path: Path, name: str, text: str) -> None:
    """Logs, tables of metrics, configurations and prose are no lists."""
    assert not data_list.sniff(file_of(tmp_path, name, text))


def test_lists_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that is too long is cut, and says so."""
    monkeypatch.setattr(data_list, "MAX_ENTRIES", 5)
    file = file_of(tmp_path, "sums.txt", "".join(f"{A}  {n}.jpg\n" for n in range(20)))
    content = data_list.read(file)

    assert len(content.lists[0].entries) == 5 and not content.lists[0].complete
    assert content.notes == ("only the first 5 entries were read",)


def test_a_run_carries_its_lists(tmp_path: Path) -> None:
    """Lists reach the run with the rank that their path names."""
    file_of(tmp_path, "train.log", "".join(f"step {n} loss {1 / n:.3f}\n" for n in range(1, 9)))
    file_of(tmp_path, "shard_rank3.txt", "1\n2\n")

    assert [(d.file, d.rank) for d in open_run(tmp_path).lists] == [("shard_rank3.txt", 3)]


def test_secrets_in_names_stay_out(tmp_path: Path) -> None:
    """A list of addresses may hold somebody's password."""
    found = read(tmp_path, "sums.txt", f"{A}  https://me:hunter2secret@host/x.tar\n")

    assert list(found.entries) == ["https://***@host/x.tar"]
