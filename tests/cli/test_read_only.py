"""Nothing in a run, a dump or a checkpoint folder is renamed, converted or written, by any command."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.probes.tensors._dumps import SHARED, msprobe
from tests.probes.tensors._saved import HERE
from traindoctor.cli.app import run_command_line as run
from traindoctor.cli.app import sub_app

X = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)
# Every command with what it is given; {a} and {b} are two runs, {o} a folder outside.
COMMANDS = {
    "": ["{a}", "--benchmark", "{b}", "-o", "{o}/r.md", "-f", "json", "-o", "{o}/r.json", "-o", "{o}/r.html"],
    "checklist": ["{a}", "--benchmark", "{b}"],
    "gate": ["{a}", "--benchmark", "{b}", "-f", "junit", "-o", "{o}/g.xml"],
    "config": ["{a}", "--benchmark", "{b}"],
    "compare": ["{a}", "--benchmark", "{b}", "-o", "{o}/c.md"],
    "determinism": ["{a}", "{b}"],
    "data": ["{a}/data"],
    "overflow": ["{a}", "--log", "{a}"],
    "fusion": ["{a}", "{b}", "--state", "{o}/s.json"],
    "script": ["{a}/train.py", "--benchmark", "{b}/train.py"],
    "weights": ["{a}", "--benchmark", "{b}"],
    "workflow": ["{a}", "--benchmark", "{b}"],
}
NO_RUN = {"rules", "explain", "schema", "docs"}  # they look at rules alone


def filled(folder: Path, end: float) -> Path:
    """A run with a log, dumps of three tools, decoded and raw, checkpoints, data and a fusion result."""
    folder.mkdir()
    rows = [{"step": s, "loss": 2 / s + 0.1, "eval_accuracy": end * (1 - 0.5**s)} for s in range(1, 41)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    for kind in ("npy", "pt"):
        calls = [("Functional.gelu.0.forward", [X], [X * np.float32(end)])]
        msprobe(folder / kind / "step0" / "rank0", calls, tensors=kind)
    tree = folder / "precision_data" / "npu" / "debug_0" / "dump"
    tree.mkdir(parents=True)
    (tree / "Conv2D.net_conv.30.5.1620612694000001").write_bytes(b"\0" * 64)
    (tree / "123456").write_bytes(b"\0" * 64)
    (tree / "mapping.csv").write_text("123456,MatMul.net_fc.31.5.1620612694000002\n")
    np.save(tree / "Conv2D.net_conv.30.5.1620612694000001.output.0.npy", X)
    (folder / "fusion_result.json").write_text(
        json.dumps({"graphId": "0", "graph_fusion": {n: {"effect_times": 1} for n in "ABC"}})
    )
    shutil.copytree(HERE / "healthy", folder / "ckpt")
    (folder / "train.py").write_text(
        "import torch\noptimizer = torch.optim.SGD([], lr=0.1)\noptimizer.step()\n"
    )
    (folder / "data").mkdir()
    (folder / "data" / "train.csv").write_text("x,label\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    return folder


def snapshot(root: Path) -> dict[str, tuple[str, int]]:
    """Every entry below a folder: content and time of the last change."""
    found = {}
    for path in sorted(root.rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(root))] = (content, path.stat().st_mtime_ns)
    return found


def guarded(roots: list[Path], writable: bool) -> None:
    for root in roots:
        for path in (root, *root.rglob("*")):
            mode = path.stat().st_mode
            path.chmod(mode | stat.S_IWUSR if writable else mode & ~0o222)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    pair = (filled(tmp_path / "a", 0.6), filled(tmp_path / "b", 0.8))
    guarded(list(pair), writable=False)
    yield pair
    guarded(list(pair), writable=True)


def test_every_command_is_looked_at() -> None:
    names = {c.name or c.callback.__name__ for c in sub_app.registered_commands if c.callback}
    names |= {g.name or "" for g in sub_app.registered_groups}
    assert names <= set(COMMANDS) | NO_RUN, "a new command: say here what it is given"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_tree_is_left_as_it_was(command: str, sides: tuple[Path, Path], tmp_path: Path) -> None:
    before = [snapshot(s) for s in sides]
    (tmp_path / "o").mkdir()
    words = [w.format(a=sides[0], b=sides[1], o=tmp_path / "o") for w in COMMANDS[command]]
    code = run([*([command] if command else []), *words, "-q"])

    assert code in ({0, 1, 3} if command == "gate" else {0})
    assert [snapshot(s) for s in sides] == before
    if os.geteuid():  # for root nothing is read-only: the hashes have to do
        assert not os.access(sides[0], os.W_OK)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
def test_the_samples_are_left_as_they_were(tmp_path: Path) -> None:
    here = [SHARED / "precision_tool_synthetic", SHARED / "ms_dump_cpu_nan", SHARED / "msprobe_compare"]
    before = [snapshot(p) for p in here]
    for path in here:
        assert run([str(path), "-q", "-o", str(tmp_path / "r.md")]) == 0
        run(["overflow", str(path), "-q"])
        run(["compare", str(path), "--benchmark", str(path), "-q"])
    assert [snapshot(p) for p in here] == before
