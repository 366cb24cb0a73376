"""Run directories behind addresses: only what is needed is fetched, and every failure is one sentence."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.cli import main
from traindoctor.probes.assembly import remote
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunUnreadable, address, walk

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
GOLDEN = Path(__file__).resolve().parents[1] / "readers" / "golden"
fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def log(steps: int = 20) -> bytes:
    return b"".join(b"step %d loss %.3f lr 0.001\n" % (k, 3 - k / 20) for k in range(1, steps + 1))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("s3://bucket/run", "s3://bucket/run"),
        ("gs://bucket/a/b.log", "gs://bucket/a/b.log"),
        ("hf://datasets/u/r/x", "hf://datasets/u/r/x"),
        ("C:/runs/a", None),
        ("runs/a", None),
        ("/runs/s3:/a", None),
        ("s3:", None),
    ],
)
def test_addresses(given: str, meant: str | None) -> None:
    """What `Path` makes of an address is understood; ordinary paths and drives are none."""
    assert address(Path(given)) == meant


def test_a_path_that_exists_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder called `s3:` is a folder."""
    monkeypatch.chdir(tmp_path)
    Path("s3:/bucket").mkdir(parents=True)

    assert address(Path("s3:/bucket")) is None


def test_a_run_in_memory(memory: Any) -> None:
    """A directory and a single file are read as from a disk; the address is what is shown."""
    memory.pipe("/exp/logs/train.log", log())
    memory.pipe("/exp/config.yaml", b"learning_rate: 0.001\nbatch_size: 8\n")
    run = open_run(Path("memory://exp"))

    assert run.info.path == "memory://exp"
    assert run.info.files_read == ("config.yaml", "logs/train.log")
    assert len(run.series["train/loss"]) == 20 and run.settings["batch_size"].value == 8
    assert len(open_run(Path("memory://exp/logs/train.log")).series["train/loss"]) == 20


def test_every_golden_file_is_read_as_from_a_disk(memory: Any, tmp_path: Path) -> None:
    """Each format's golden files give the same run from a store, databases included."""
    for folder in sorted(GOLDEN.iterdir()):
        for file in walk(folder)[0]:
            memory.pipe(f"/golden/{folder.name}/{file.path}", file.read_bytes())
    here, there = open_run(GOLDEN).info, open_run(Path("memory://golden")).info

    assert there.files_read == here.files_read
    assert (there.series, there.formats, there.steps) == (here.series, here.formats, here.steps)


def test_only_what_is_needed_is_fetched(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints and pictures are not touched, of foreign files the beginning, of a log each byte once."""
    fetched: dict[str, int] = {}
    fetch = type(memory).cat_file

    def counted(self: Any, path: str, start: Any = None, end: Any = None, **more: Any) -> bytes:
        data: bytes = fetch(self, path, start=start, end=end, **more)
        fetched[path] = fetched.get(path, 0) + len(data)
        return data

    monkeypatch.setattr(type(memory), "cat_file", counted)
    memory.pipe("/exp/train.log", log(5000))
    memory.pipe("/exp/checkpoint-10/model.safetensors", bytes(2 * 1024**2))
    memory.pipe("/exp/picture.png", bytes(1024**2))
    memory.pipe("/exp/vectors.dat", np.random.default_rng(0).bytes(1024**2))
    run = open_run(Path("memory://exp"))

    assert len(run.series["train/loss"]) == 5000
    assert "/exp/checkpoint-10/model.safetensors" not in fetched and "/exp/picture.png" not in fetched
    assert fetched["/exp/vectors.dat"] <= 64 * 1024
    assert fetched["/exp/train.log"] <= len(log(5000)) + 64 * 1024
    assert any("1 checkpoints and binary files are not fetched" in note for note in run.info.notes)


def test_what_cannot_be_read_is_one_sentence(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing there, a store nobody knows, a store that fails, a package that is missing."""
    with pytest.raises(RunUnreadable, match=r"^memory://none: there is nothing at this address$"):
        walk(Path("memory://none"))
    with pytest.raises(RunUnreadable, match=r"^nosuch://bucket/run: .*nosuch"):
        walk(Path("nosuch://bucket/run"))

    memory.pipe("/exp/train.log", log())

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("the token has expired\nand more")

    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "ls", failing)
        with pytest.raises(RunUnreadable, match=r"^memory://exp: the token has expired$"):
            walk(Path("memory://exp"))
    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "cat_file", failing)
        with pytest.raises(RunUnreadable, match="nothing here"):
            open_run(Path("memory://exp"))
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(RunUnreadable, match=r"pip install 'traindoctor\[remote\]'"):
        walk(Path("memory://exp"))


def test_the_command_line(memory: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A run behind an address is diagnosed; one that is not there ends with exit code 4."""
    memory.pipe("/exp/train.log", log())

    assert main(["memory://exp"]) == 0
    assert "memory://exp" in capsys.readouterr().out
    assert main(["memory://none"]) == 4
    assert "nothing at this address" in capsys.readouterr().err


def test_a_database_too_large_for_the_disk_is_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has to lie on disk is fetched up to a limit."""
    memory.pipe("/exp/mlflow.db", (GOLDEN / "mlflow_store" / "mlflow.db").read_bytes())
    (file,), _ = walk(Path("memory://exp"))
    monkeypatch.setattr(remote, "MAX_LOCAL", 100)

    with pytest.raises(OSError, match="not fetched"):
        file.local()


# ------------------------------------------------------------------------------------------ a real server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a local server that speaks S3."""
    if not (find_spec("moto") and find_spec("s3fs") and find_spec("flask")):
        pytest.skip("needs moto[server] and s3fs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            where = f"http://127.0.0.1:{port}"
            _wait(where, running)
            yield where
        finally:
            running.terminate()


def _wait(where: str, running: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(where, timeout=1).close()  # noqa: S310
            return
        except OSError:
            assert running.poll() is None
            time.sleep(0.2)
    pytest.fail("the server does not answer")


def test_an_object_store(server: str, tmp_path: Path) -> None:
    """An example is put into a bucket and diagnosed from there as from the disk, by the command itself."""
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    env = {**os.environ, **keys, "AWS_ENDPOINT_URL": server, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    here = EXAMPLES / "nan-from-data" / "run"
    put = "import s3fs, sys; s = s3fs.S3FileSystem(); s.mkdir('runs')"
    put += "; s.put(sys.argv[1], 'runs/exp', recursive=True)"
    subprocess.run([sys.executable, "-c", put, str(here)], env=env, check=True, timeout=120)
    diagnose = "import sys; from traindoctor.cli import main; sys.exit(main())"

    def asked(where: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", diagnose, where]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)

    far, near = asked("s3://runs/exp"), asked(str(here))
    assert far.returncode == 0, far.stderr
    assert far.stdout.splitlines()[0] == near.stdout.splitlines()[0]
    assert "Samples carry missing values" in far.stdout and "s3://runs/exp" in far.stdout
    missing = asked("s3://no-such-bucket/exp")
    assert missing.returncode == 4 and len(missing.stderr.splitlines()) == 1
