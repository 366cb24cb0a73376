"""Weights that a script turns to bf16 where they are loaded, with and without an optimizer for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.code.precision import half
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of

SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in probes_of(half)]
SCRIPT = """import torch
from internvl import InternVLChat, Vae


def main(cfg, loader):
    vae = Vae.from_pretrained(cfg.vae){vae}
    chat = InternVLChat.from_pretrained(cfg.path){chat}
    opt = torch.optim.AdamW(chat.parameters(), lr=1e-5)
    for batch in loader:
        loss = chat(vae(batch)).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
"""


def test_weights_loaded_in_bf16(tmp_path: Path) -> None:
    """The format is an argument of what loads them; with adapters those alone are trained."""
    script = SCRIPT.format(vae="", chat="").replace("cfg.path", "cfg.path, torch_dtype=torch.bfloat16")
    for name, text, expected in (("a", script, "present"), ("b", f"import peft\n{script}", "unknown")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(text)
        found = dict(readings(open_run(tmp_path / name), None, SYMPTOMS))
        assert str(found["script-pure-bf16"].state.value) == expected


@pytest.mark.parametrize(
    ("vae", "chat", "expected"),
    [
        ("", ".to(torch.bfloat16).npu()", "present"),
        (".to(torch.bfloat16)", "", "unknown"),  # nothing trains it
        ("", ".npu()", "unknown"),
    ],
)
def test_weights_turned_where_they_are_loaded(tmp_path: Path, vae: str, chat: str, expected: str) -> None:
    """Only what an optimizer updates loses its updates."""
    (tmp_path / "train.py").write_text(SCRIPT.format(vae=vae, chat=chat))
    found = dict(readings(open_run(tmp_path), None, SYMPTOMS))

    assert str(found["script-pure-bf16"].state.value) == expected
