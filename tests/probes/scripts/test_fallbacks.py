"""Defaults that a script falls back on: they are in force unless a file says otherwise."""

from __future__ import annotations

import ast

from traindoctor.probes.readers.script import LITERAL, Extractor

TEXT = """
lr = cfg.get("lr", 3.0)
size = int(os.environ.get("BATCH", 2))
decay = getattr(args, "decay", 0.5)
opt = torch.optim.SGD(m.parameters(), lr=lr, weight_decay=decay)
loader = DataLoader(data, batch_size=size, shuffle=True)
"""


def test_a_default_is_in_force_unless_something_says_otherwise() -> None:
    found = {s.key: s for s in Extractor(ast.parse(TEXT), "train.py").settings()}
    assert [found[k].value for k in ("learning_rate", "weight_decay", "batch_size")] == [3.0, 0.5, 2]
    assert found["learning_rate"].trust < LITERAL


def test_what_the_program_says_comes_first() -> None:
    text = 'cfg = {"lr": 0.1}\n' + TEXT.replace('lr = cfg.get("lr", 3.0)\n', "").replace(
        "lr=lr", 'lr=cfg.get("lr", 3.0)'
    )
    said = Extractor(ast.parse(text), "train.py").settings()
    assert {s.key: s.value for s in said}["learning_rate"] == 0.1


def test_what_is_no_default_stays_unknown() -> None:
    text = TEXT.replace('cfg.get("lr", 3.0)', 'cfg.get("lr")')
    assert "learning_rate" not in {s.key for s in Extractor(ast.parse(text), "train.py").settings()}
