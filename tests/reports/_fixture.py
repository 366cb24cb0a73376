"""A rich diagnosis made by hand, and the texts of an unfriendly run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from traindoctor.engine.model import (
    CheckedItem,
    Diagnosis,
    Hypothesis,
    NextCheck,
    Place,
    Reading,
    Reason,
    Remedy,
    Result,
    RunInfo,
    State,
)
from traindoctor.reports.model import Current, Curve, Extras, Mark

LR = "hyperparameter.learning-rate-too-large"
CLIP = "hyperparameter.gradient-clipping-missing"
GENERAL = "porting.hyperparameters-differ"

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07after",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x9b2Jcleared",
    "abc\u202etxt.exe\u2066\u2069\u200b",
    "[/bold][link=http://evil.example]x[/link]",
    "<script>alert(1)</script>&lt;b&gt;",
    "![x](http://evil.example/x.png) [y](javascript:alert(1))",
    "| a | b |\n|---|---|",
    "`code` ``two`` ```\nfence",
    '"]; click n0 "javascript:alert(1)"; %%{init: {}}%%',
    "::error file=x::boo",
    "x\n::set-output name=a::b",
    "##[command]rm",
    "@team fixes #123 and __init__ _a_ *b* ~~c~~ $x$",
    "# heading",
    "1. list",
    "- item",
    "nul\x00bell\x07del\x7f",
    "\ud800lone",
    "</svg><svg onload=alert(1)>",
    "====",
)


def reading(symptom: str = "loss-diverges", **changes: Any) -> Reading:
    """A present reading with its place."""
    made = Reading(
        symptom,
        State.PRESENT,
        "train/loss rose from 1.3 to 185000 and did not come back",
        value=185000.0,
        threshold=2.0,
        step=8.0,
        where=(Place("logs/train.log", 60, 8.0),),
        series=("train/loss",),
    )
    return replace(made, **changes)


def healthy() -> Diagnosis:
    """A diagnosis of a run with nothing wrong."""
    seen = tuple(
        Reading(f"symptom-{i:02}", State.ABSENT, "nothing of the kind", value=0.0) for i in range(20)
    )
    lacking = tuple(
        Reading(f"unread-{i:02}", State.UNKNOWN, "needs a benchmark run (--benchmark)") for i in range(5)
    )
    return Diagnosis(
        run=RunInfo(
            "runs/exp7",
            ("hf-trainer-state",),
            "transformers",
            500.0,
            "step",
            ("trainer_state.json",),
            (),
            (),
            ("eval/loss", "learning_rate", "train/loss"),
            {"precision": "bf16"},
        ),
        benchmark=None,
        hypotheses=(hypothesis(LR, 0.03), hypothesis(CLIP, 0.02)),
        findings=(*seen, *lacking),
        checklist=(),
        next_checks=(),
        unexplained={},
        conflict=0.0,
        converged=True,
        rules_version="0123456789ab",
    )


def hypothesis(cause: str, probability: float, **changes: Any) -> Hypothesis:
    """A cause without reasons."""
    made = Hypothesis(cause, f"Title of {cause}", "A summary.", probability, 0.05, {}, (), (), ())
    return replace(made, **changes)


def sick() -> Diagnosis:
    """A diagnosis with a leading cause, its general one, rivals, a checklist and a benchmark."""
    diverges, noisy = reading(), reading("lr-above-benchmark", why="0.1 against 0.001", step=None, series=())
    masked = reading("loss-masked-nan", value=math.nan, step=9.0, where=(Place("logs/train.log", 61),))
    calm = Reading("lr-very-small", State.ABSENT, "the learning rate reaches 0.1", value=0.1)
    first = hypothesis(
        LR,
        0.7084,
        title="The learning rate is too large",
        summary="Each step moves the weights too far.",
        contributions={"update-too-large": 2.5, "lr-above-benchmark": 1.25},
        reasons=(
            Reason(
                diverges,
                2.31,
                (LR, "update-too-large", "loss-diverges"),
                ("a step is proportional to it", "each step climbs"),
            ),
            Reason(noisy, 0.9, (LR, "lr-above-benchmark"), ("the benchmark trains with a smaller one",)),
        ),
        against=(Reason(calm, -0.4, (LR, "lr-very-small"), ("it would have to be small",)),),
        remedies=(
            Remedy(
                "Divide the learning rate by 10 (`lr`)", 10.0, 0.8, {"learning_rate": "/10"}, "the loss falls"
            ),
            Remedy("Clip the gradient norm", 90.0, 0.2, {"max_grad_norm": "=1.0"}),
        ),
        generalises=(GENERAL,),
    )
    return replace(
        healthy(),
        benchmark=RunInfo("runs/gpu", ("csv",), "pytorch", 480.0, series=("train/loss",), notes=("resumed",)),
        hypotheses=(first, hypothesis(GENERAL, 0.62), hypothesis(CLIP, 0.12), hypothesis("data.x", 0.01)),
        findings=tuple(sorted((*healthy().findings, diverges, noisy, masked, calm), key=lambda r: r.symptom)),
        checklist=(
            CheckedItem("1", "Constant results", Result.NOT_CHECKED, "not read", (), "Train it twice"),
            CheckedItem("4", "Loss scaling", Result.PASSED, "fp32 needs none", ("fp16-in-use",), ""),
            CheckedItem("10", "Hyperparameters", Result.FAILED, "0.1 against 0.001", (LR,), ""),
        ),
        next_checks=(
            NextCheck(
                "lower-lr-cures", "A lower rate cures it", "Rerun 200 steps", 10.0, 0.4, "so", "not so"
            ),
        ),
        unexplained={"loss-masked-nan": 0.93, "loss-diverges": 0.02},
        conflict=4.2,
        titles={
            LR: "The learning rate is too large",
            "update-too-large": "Updates are too large",
            "loss-diverges": "The loss rises for good",
            "lr-above-benchmark": "The learning rate is above the benchmark's",
            "loss-masked-nan": "NaN is written as zero",
            GENERAL: "A hyperparameter differs",
        },
        not_evaluated=(("activations-dead", "probe error: KeyError: 'x'"),),
        run=replace(
            healthy().run,
            notes=("train.log: restarted at step 100",),
            not_read=(("x.bin", "not recognised"),),
        ),
    )


def hostile(text: str) -> Diagnosis:
    """The sick diagnosis with one text in every place that a run, a script or a rule can fill."""
    bad = reading(why=text, where=(Place(text, 3, 8.0),), series=("train/loss",), value=text)
    base = sick()
    first = base.hypotheses[0]
    path = first.reasons[0].path
    remedy = Remedy(text, 5.0, 0.5, {"learning_rate": text}, text)
    told = replace(
        first,
        title=text,
        summary=text,
        reasons=(Reason(bad, 2.0, path, (text, text)),),
        against=(Reason(bad, -2.0, path, (text, text)),),
        remedies=(remedy,),
        unexplained_earliest="loss-diverges",
    )
    info = replace(
        base.run,
        path=text,
        formats=(text,),
        framework=text,
        files_read=(text,),
        not_read=((text, text),),
        notes=(text,),
        series=("train/loss", f"train/{text}"),
    )
    return replace(
        base,
        run=info,
        benchmark=info,
        hypotheses=(told, *base.hypotheses[1:]),
        findings=(
            bad,
            replace(bad, symptom="u", state=State.UNKNOWN),
            replace(bad, symptom="a", state=State.ABSENT),
        ),
        checklist=tuple(replace(i, title=text, why=text, check=text) for i in base.checklist),
        next_checks=(NextCheck("loss-diverges", text, text, 5.0, 0.2, text, text),),
        unexplained={"loss-diverges": 0.9},
        not_evaluated=((text, text),),
        titles=dict.fromkeys(base.titles, text),
    )


def extras(text: str = "lr", file: str = "config.yaml") -> Extras:
    """Curves with a gap, and one setting."""
    values = [2.0, 1.5, 1.3, math.nan, math.inf, 150.0, 185000.0]
    return Extras(
        {
            "train/loss": (
                Curve("train/loss", "run", [float(i) for i in range(7)], values, (Mark(5.0, text),)),
                Curve("train/loss", "benchmark", [0.0, 3.0, 6.0], [2.0, 1.0, 0.5]),
            )
        },
        {"learning_rate": Current("learning_rate", 0.1, text, file, 3)},
        frozenset({"lr-above-benchmark"}),
    )
