# ruff: noqa: E501 -- the edits are texts
"""A run in two parts, and what it forgets at the second start."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally

_RESUMES = (
    (
        "step = 0\nfor epoch in range(1,",
        """step, start = 0, 1
if {{resume}}:
    state = torch.load({{resume}})
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    step, start = state["step"], state["epoch"] + 1
    logging.info("resumed from %s at epoch %d", {{resume}}, start)
for epoch in range(start,""",
    ),
    ("    lr = optimizer.param_groups", "    lr = optimizer.param_groups"),
    (
        "@@close",
        """    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    torch.save({**state, "step": step, "epoch": epoch}, "last.pt")
@@close""",
    ),
)
_TWICE = ("--epochs 9", "--epochs 16 --resume last.pt")


def resumed() -> Iterator[Case]:
    """A run in two parts; the fault forgets optimizer and schedule at the second start."""
    yield _RESUMED_TWIN
    forgets = (
        '    optimizer.load_state_dict(state["optimizer"])\n    scheduler.load_state_dict(state["scheduler"])\n',
        "",
    )
    yield Case(
        "images",
        "d",
        "forgets-schedule",
        "state.resume",
        "",
        {"seed": 107, "resume": ""},
        (*_RESUMES, forgets),
        check="any",
        benchmark=_RESUMED_TWIN.name,
        commands=_TWICE,
        accept=literally("the schedule restarts on resume", "hyperparameter.schedule-wrong"),
    )
    yield Case(
        "images",
        "d",
        "forgets-weights",
        "state.resume",
        "",
        {"seed": 68, "resume": ""},
        (*_RESUMES, ('    model.load_state_dict(state["model"])\n', "")),
        check="any",
        benchmark=_RESUMED_TWIN.name,
        commands=_TWICE,
        accept=literally("a checkpoint meant to be loaded was not", "init.pretrained-not-loaded"),
    )


_RESUMED_TWIN = Case(
    "images", "d", "healthy-resumed-67", None, set={"seed": 67, "resume": ""}, edits=_RESUMES, commands=_TWICE
)
