"""`diagnose script A --benchmark B` lists the edits between the two."""

import json
from pathlib import Path

from traindoctor.cli.script_work import Asked, look
from traindoctor.reports.script_report import render_json, render_text

SCRIPT = """import torch
from torch import nn

model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in load():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


def test_each_edit_has_both_codes_its_kind_and_what_it_can_do(tmp_path: Path) -> None:
    """In the text and in JSON; of two equal scripts none."""
    mine, theirs = tmp_path / "mine.py", tmp_path / "theirs.py"
    mine.write_text(SCRIPT.replace("    optimizer.zero_grad()\n", ""), encoding="utf-8")
    theirs.write_text(SCRIPT, encoding="utf-8")
    report = look(Asked(mine, theirs, quiet=True))
    same = look(Asked(theirs, theirs, quiet=True))
    alone = look(Asked(theirs, quiet=True))
    (edit,) = json.loads(render_json(report))["edits"]

    assert edit["kind"] == "clearing-left-out"
    assert edit["benchmark_code"] == "optimizer.zero_grad()"
    assert edit["benchmark"] == "theirs.py:7"
    assert edit["causes"][0] == "state.gradients-not-cleared"
    assert "Edits against the benchmark's script" in render_text(
        report, width=100, color=False, everything=False
    )
    assert json.loads(render_json(same))["edits"] == []
    assert "edits" not in json.loads(render_json(alone))


PORT = """import mindspore as ms
from mindspore import nn, ops

net = nn.Dense(4, 3)
opt = nn.SGD(net.trainable_params(), learning_rate=0.1)
grad = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, opt.parameters)
for x, y in load():
    loss, grads = grad(x, y)
    opt(ops.clip_by_value(grads, -1.0, 1.0))
"""


def test_a_port_is_told_by_role_with_both_places(tmp_path: Path) -> None:
    """In the text and in JSON; layers that loops and helpers make are not counted."""
    mine, theirs = tmp_path / "mine.py", tmp_path / "theirs.py"
    clips = "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()"
    theirs.write_text(SCRIPT.replace("    optimizer.step()", clips), encoding="utf-8")
    mine.write_text(PORT, encoding="utf-8")
    report = look(Asked(mine, theirs, quiet=True))
    (row,) = json.loads(render_json(report))["roles"]
    text = render_text(report, width=100, color=False, everything=False)

    assert (row["kind"], row["run"], row["benchmark"]) == ("clipping-by-value", "mine.py:9", "theirs.py:10")
    assert row["causes"] == ["hyperparameter.gradient-clipping-missing"]
    assert "held against the benchmark's role by role" in text

    helped = PORT.replace(
        "net = nn.Dense(4, 3)", "net = nn.SequentialCell([nn.Dense(4, 4) for _ in range(3)])"
    )
    mine.write_text(helped, encoding="utf-8")
    told = json.loads(render_json(look(Asked(mine, theirs, quiet=True))))["port"]
    assert not [r for r in told if "written here" in r["text"]]
