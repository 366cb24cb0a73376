"""Steps with several optimizers: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

GAN = """
import torch, pytorch_lightning as pl
import torch.nn.functional as F
class Maker(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8)
        self.out = torch.nn.Linear(8, 4)
    def forward(self, x):
        return self.out(self.body(x))
class Judge(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(4, 1)
    def forward(self, x):
        return self.out(x)
class Pair(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.maker = Maker()
        self.judge = Judge()
    def training_step(self, batch, i):
        {UNPACK} = self.optimizers()
        fake = self.maker(batch)
        loss = self.judge(fake.detach()).mean() - self.judge(batch).mean()
        {JUDGE}
        loss = -self.judge(fake).mean()
        {MAKER}
    def configure_optimizers(self):
        om = torch.optim.Adam({MADE}.parameters(), lr=1e-3)
        oj = torch.optim.Adam(self.judge.parameters(), lr=1e-3)
        return [om, oj]
pl.Trainer(max_epochs=8).fit(Pair())
"""
JUDGE = "oj.zero_grad(); self.manual_backward(loss); self.clip_gradients(oj, 1.0); oj.step()"
MAKER = "om.zero_grad(); self.manual_backward(loss); om.step()"


def _gan(judge: str = JUDGE, maker: str = MAKER, unpack: str = "om, oj", made: str = "self.maker") -> str:
    text = GAN.replace("{JUDGE}", judge).replace("{MAKER}", maker)
    return text.replace("{UNPACK}", unpack).replace("{MADE}", made)


LOOP = """
import torch
g, d = Maker(), Judge()
opt_g = torch.optim.Adam(g.parameters())
opt_d = torch.optim.Adam(d.parameters())
for x in loader:
    {D}
    {G}
"""
D = "opt_d.zero_grad(); (d(g(x).detach()) - d(x)).mean().backward(); opt_d.step()"
G = "opt_g.zero_grad(); (-d(g(x))).mean().backward(); opt_g.step()"


def _loop(d: str = D, g: str = G) -> str:
    return LOOP.replace("{D}", d).replace("{G}", g)


@pytest.mark.parametrize(
    ("symptom", "wanted", "text"),
    [
        ("script-gradients-not-cleared", A, _gan()),
        ("script-gradients-not-cleared", P, _gan(maker="self.manual_backward(loss); om.step()")),
        ("script-gradients-not-cleared", P, _gan(maker=MAKER.replace("om.zero", "oj.zero"))),
        (
            "script-gradients-not-cleared",
            A,
            _gan(maker="self.maker.zero_grad(); self.manual_backward(loss); om.step()"),
        ),
        ("script-gradients-not-cleared", A, _loop()),
        ("script-gradients-cleared-too-early", U, _loop()),
        (
            "script-gradients-cleared-too-early",
            P,
            _loop(g="(-d(g(x))).mean().backward(); opt_g.zero_grad(); opt_g.step()"),
        ),
        (
            "script-gradients-cleared-too-early",
            P,
            _gan(maker="self.manual_backward(loss); om.zero_grad(); om.step()"),
        ),
        ("script-gradients-cleared-too-early", U, _gan()),
        ("script-step-missing", P, _gan(maker="om.zero_grad(); self.manual_backward(loss)")),
        ("script-step-missing", U, _gan()),
        ("script-clip-without-effect", A, _gan()),
        ("script-clip-without-effect", P, _gan(judge=JUDGE.replace("gradients(oj", "gradients(om"))),
        (
            "script-clip-without-effect",
            P,
            _gan(judge="oj.zero_grad(); self.clip_gradients(oj, 1.0); self.manual_backward(loss); oj.step()"),
        ),
        (
            "script-clip-without-effect",
            P,
            _gan(judge="oj.zero_grad(); self.manual_backward(loss); oj.step(); self.clip_gradients(oj, 1.0)"),
        ),
        ("script-optimizer-gets-part", P, _gan(made="self.judge")),
        ("script-optimizer-gets-part", P, _gan(made="self.maker.out")),
        ("script-optimizer-gets-part", U, _gan()),
    ],
)
def test_each_optimizer_by_itself(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


def test_the_order_of_optimizers() -> None:
    assert state("script-part-not-trained", _gan(unpack="oj, om")) == P
    assert state("script-part-not-trained", _gan()) != P


EXTRA = """        self.judge = Judge()
        self.blur = Blur()
"""
BLUR = """class Blur(torch.nn.Module):
    def forward(self, x):
        return x.mean(1, keepdim=True)
class Pair("""


def test_a_part_without_weights_needs_no_optimizer() -> None:
    text = _gan().replace("        self.judge = Judge()\n", EXTRA).replace("class Pair(", BLUR)
    text = text.replace("self.maker(batch)", "self.blur(self.maker(batch))")
    assert state("script-optimizer-gets-part", text) == U


def test_optimizers_run_by_hand_are_announced() -> None:
    text = _gan()
    assert state("script-step-returns-nothing", text) != P
    unsaid = text.replace("        self.automatic_optimization = False\n", "")
    assert state("script-step-returns-nothing", unsaid) == P
    assert state("script-step-returns-nothing", unsaid.replace("(pl.LightningModule)", "(Base)")) != P
