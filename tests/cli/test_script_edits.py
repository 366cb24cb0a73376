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
