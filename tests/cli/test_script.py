"""diagnose script: what is read, what is said of it, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.cli import main

Captured = pytest.CaptureFixture[str]

SOUND = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, x):
        return self.body(x)


torch.manual_seed(0)
table, kinds = torch.load("table.pt")
table = (table - table.mean(0)) / (table.std(0) + 1e-6)
loader = DataLoader(TensorDataset(table, kinds), batch_size=32, shuffle=True)
net = Net()
adam = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    net.train()
    for x, y in loader:
        adam.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
"""
UNCLEARED = SOUND.replace("        adam.zero_grad()\n", "")


def printed(capsys: Captured, *line: str, code: int = 0) -> str:
    assert main(line) == code
    return capsys.readouterr().out


def refused(capsys: Captured, *line: str, code: int = 4) -> str:
    assert main(line) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def file(root: Path, text: str, name: str = "train.py") -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def cells(*sources: str, **more: object) -> str:
    found = [{"cell_type": "code", "source": s.splitlines(keepends=True), "outputs": []} for s in sources]
    return json.dumps({"cells": found, "metadata": {}, "nbformat": 4, **more})


def test_a_sound_script_gets_one_clear_line(capsys: Captured, tmp_path: Path) -> None:
    first, *_ = printed(capsys, "script", file(tmp_path, SOUND)).splitlines()
    found = json.loads(printed(capsys, "script", file(tmp_path, SOUND), "-f", "json"))

    made, left = len(found["checked"]) + len(found["usual"]), len(found["not_checked"])
    assert first == f"No finding in {made} checks; {left} could not be told."
    assert found["findings"] == found["remarks"] == found["causes"] == []


def test_what_carries_a_likely_cause_is_a_finding(capsys: Captured, tmp_path: Path) -> None:
    """Often meant so, and still the reason for a likely cause: nothing is claimed without a finding."""
    parts = SOUND.replace("nn.Linear(64, 5))", ")\n        self.head = nn.Linear(64, 5)")
    parts = parts.replace("return self.body(x)", "return self.head(self.body(x))")
    half = parts.replace("net.parameters()", "net.head.parameters()")
    found = json.loads(printed(capsys, "script", file(tmp_path, half), "-f", "json"))

    assert found["causes"][0]["cause"] == "graph.weight-frozen"
    assert [f["symptom"] for f in found["findings"]] == ["script-part-not-trained"]
    assert json.loads(printed(capsys, "script", file(tmp_path, parts), "-f", "json"))["findings"] == []


def test_a_finding_has_its_place_its_code_its_correction_and_its_cause(
    capsys: Captured, tmp_path: Path
) -> None:
    found = json.loads(printed(capsys, "script", file(tmp_path, UNCLEARED), "-f", "json"))
    one = found["findings"][0]

    assert one["symptom"] == "script-gradients-not-cleared"
    assert one["code"] == [{"file": "train.py", "line": 26, "side": "run", "lines": ["loss.backward()"]}]
    assert "zero_grad" in one["instead"]
    assert one["matters"]
    assert one["not_a_fault_where"]
    assert one["points_to"][0]["cause"] == found["causes"][0]["cause"]


def test_text_and_markdown_show_the_line_and_the_id_that_explain_takes(
    capsys: Captured, tmp_path: Path
) -> None:
    for form in ("terminal", "markdown"):
        said = printed(capsys, "script", file(tmp_path, UNCLEARED), "-f", form)
        cause = json.loads(printed(capsys, "script", str(tmp_path / "train.py"), "-f", "json"))["causes"][0]

        assert "train.py:26" in said
        assert "optimizer.zero_grad()" in said
        assert cause["cause"] in said
        assert printed(capsys, "explain", cause["cause"])


def test_heavier_findings_come_first_and_equal_input_gives_equal_bytes(
    capsys: Captured, tmp_path: Path
) -> None:
    text = UNCLEARED.replace("F.cross_entropy(net(x), y)", "F.cross_entropy(net(x).softmax(1), y)")
    said = printed(capsys, "script", file(tmp_path, text), "-f", "json")
    weights = [f["weight"] for f in json.loads(said)["findings"]]

    assert len(weights) >= 2
    assert weights == sorted(weights, reverse=True)
    assert said == printed(capsys, "script", file(tmp_path, text), "-f", "json")


def test_modules_of_the_project_are_read_with_the_script(capsys: Captured, tmp_path: Path) -> None:
    net = SOUND[SOUND.index("class Net") : SOUND.index("torch.manual_seed")]
    net = "from torch import nn\n\n\n" + net.replace("return self.body(x)", "return self.body(x).softmax(-1)")
    file(tmp_path, net, "model.py")
    main_text = (
        SOUND[: SOUND.index("class Net")] + "from model import Net\n" + SOUND[SOUND.index("torch.man") :]
    )
    file(tmp_path, "import torch\nraise SystemExit\n", "other.py")
    found = json.loads(printed(capsys, "script", file(tmp_path, main_text), "-f", "json"))

    assert [f["symptom"] for f in found["findings"]] == ["script-double-softmax"]
    assert found["findings"][0]["where"][0]["file"] == "model.py"
    assert found["programs"] == ["train.py"]


def test_each_program_of_a_folder_is_judged_by_itself(capsys: Captured, tmp_path: Path) -> None:
    file(tmp_path, UNCLEARED, "a/train.py")
    file(tmp_path, SOUND, "b/train.py")
    file(tmp_path, UNCLEARED.replace("adam", "opt"), "c/train.py")
    found = json.loads(printed(capsys, "script", str(tmp_path), "-f", "json"))

    assert found["programs"] == ["a/train.py", "b/train.py", "c/train.py"]
    assert [f["where"][0]["file"] for f in found["findings"]] == ["a/train.py", "c/train.py"]


def test_a_notebook_is_read_cell_by_cell(capsys: Captured, tmp_path: Path) -> None:
    before, loop = UNCLEARED[: UNCLEARED.index("for epoch")], UNCLEARED[UNCLEARED.index("for epoch") :]
    path = file(
        tmp_path,
        cells(
            "%matplotlib inline\n!pip install torch \\\n  numpy\n" + before, "%%bash\nls", "%%time\n" + loop
        ),
        "train.ipynb",
    )
    found = json.loads(printed(capsys, "script", path, "-f", "json"))
    one = found["findings"][0]

    assert one["symptom"] == "script-gradients-not-cleared"
    assert one["where"][0] == {"file": "train.ipynb cell 3", "line": 6, "side": "run"}
    assert one["code"][0]["lines"] == ["loss.backward()"]
    assert any("cell 2 is no Python (%%bash)" in n for n in found["notes"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch\nfor x in loader\n    pass\n", "line 2"),
        ("import torch\nprint 'loss', loss if\n", "Python 2"),
        ("", "the file is empty"),
        ("import csv\nprint(csv)\n", "no training script"),
        ("import torch\nx = " + "-" * 5000 + "1\n", "nested"),
        ("import torch\nx = a" + ".b()" * 400 + "\n", "nested"),
        ("#" * (600 * 1024), "larger than"),
    ],
)
def test_what_cannot_be_judged_is_told_in_one_sentence(
    capsys: Captured, tmp_path: Path, text: str, said: str
) -> None:
    assert said in refused(capsys, "script", file(tmp_path, text))


def test_programs_without_a_framework_are_judged(capsys: Captured, tmp_path: Path) -> None:
    """By what they have in common with the others: data, splits, order and scores."""
    text = """
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.linear_model import SGDClassifier
X, y = np.load("x.npy"), np.load("y.npy")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
X_test = X_test * 1.5 + 0.3
model = SGDClassifier()
for epoch in range(20):
    model.partial_fit(X_train, y_train, classes=np.unique(y))
print((model.predict(X_test) == y_test).mean())
"""
    found = json.loads(printed(capsys, "script", file(tmp_path, text), "-f", "json"))

    assert "script-splits-processed-differently" in [f["symptom"] for f in found["findings"]]
    right = file(tmp_path, text.replace("X_test = X_test * 1.5 + 0.3\n", ""))
    assert not json.loads(printed(capsys, "script", right, "-f", "json"))["findings"]


def test_binaries_missing_files_and_folders_without_scripts_are_told(
    capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_bytes(b"\x7fELF\0\0\0" * 50)
    (tmp_path / "empty").mkdir()

    assert "binary" in refused(capsys, "script", str(tmp_path / "train.py"))
    assert "No such file" in refused(capsys, "script", str(tmp_path / "gone.py"))
    assert "no Python file" in refused(capsys, "script", str(tmp_path / "empty"))
    assert "no notebook" in refused(capsys, "script", file(tmp_path, "{}", "a.ipynb"))
    assert "in R" in refused(
        capsys,
        "script",
        file(tmp_path, cells("x <- 1", metadata={"kernelspec": {"language": "R"}}), "r.ipynb"),
    ).replace("in r", "in R")


def test_other_encodings_are_read(capsys: Captured, tmp_path: Path) -> None:
    for name in ("latin-1", "utf-16"):
        declared = "# -*- coding: latin-1 -*-\n# größe\n" if name == "latin-1" else "# größe\n"
        path = tmp_path / f"{name}.py"
        path.write_bytes((declared + UNCLEARED).encode(name))
        found = json.loads(printed(capsys, "script", str(path), "-f", "json"))

        assert [f["symptom"] for f in found["findings"]] == ["script-gradients-not-cleared"]


def test_no_link_leads_out_and_the_module_outside_is_not_read(capsys: Captured, tmp_path: Path) -> None:
    file(tmp_path, "x = 1\n", "outside.py")
    path = file(tmp_path, "import helper\n" + SOUND, "project/train.py")
    (tmp_path / "project" / "helper.py").symlink_to(tmp_path / "outside.py")
    found = json.loads(printed(capsys, "script", path, "-f", "json"))

    assert found["programs"] == ["train.py"]
    assert found["not_read"] == []


def test_secrets_are_not_quoted(capsys: Captured, tmp_path: Path) -> None:
    secret = "hf_" + "a1B2" * 8
    text = UNCLEARED.replace("loss.backward()", f"loss.backward()  # {secret}")
    for form in ("json", "markdown", "terminal"):
        assert secret not in printed(capsys, "script", file(tmp_path, text), "-f", form, "--all")


def test_a_configuration_in_python_is_judged_with_its_bases(capsys: Captured, tmp_path: Path) -> None:
    file(
        tmp_path,
        "norm = dict(mean=[123.7, 116.3, 103.5], std=[58.4, 57.1, 57.4])\n"
        "train_pipeline = [dict(type='LoadImage'), dict(type='Normalize', **norm), dict(type='Pack')]\n"
        "test_pipeline = [dict(type='LoadImage'), dict(type='Pack')]\n",
        "configs/_base_/data.py",
    )
    path = file(
        tmp_path,
        "_base_ = ['./_base_/data.py']\n"
        "optimizer = dict(type='SGD', lr=0.1, momentum=0.9, weight_decay=1e-4)\n"
        "max_epochs = 100\nbatch_size = 32\n",
        "configs/resnet.py",
    )
    found = json.loads(printed(capsys, "script", path, "-f", "json"))

    assert [f["symptom"] for f in found["findings"]] == ["script-splits-processed-differently"]
    assert found["findings"][0]["where"][0]["file"].endswith("_base_/data.py")


def test_a_script_that_lies_elsewhere_counts_as_evidence(capsys: Captured, tmp_path: Path) -> None:
    rows = [json.dumps({"step": s, "loss": 2.0 * 0.99**s, "learning_rate": 1e-3}) for s in range(60)]
    file(tmp_path, "\n".join(rows), "run/log.jsonl")
    path = file(tmp_path, UNCLEARED, "code/train.py")
    symptom = "script-gradients-not-cleared"

    def state(*more: str) -> dict[str, object]:
        said = json.loads(printed(capsys, str(tmp_path / "run"), "-f", "json", *more))
        return next(f for f in said["findings"] if f["symptom"] == symptom)

    assert state()["state"] == "unknown"
    assert state("--script", path)["state"] == "present"
    assert state("--script", str(tmp_path / "code"))["where"][0]["file"] == "train.py"
    assert "--script" in refused(capsys, str(tmp_path / "run"), "--script", str(tmp_path / "no.py"))
