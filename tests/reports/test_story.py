"""What is told: verdicts, order, remedies with the exact setting, curves."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from traindoctor.engine.model import (
    Hypothesis,
    Place,
    Reading,
    Reason,
    Remedy,
    RunInfo,
    Scalar,
    State,
    Subject,
)
from traindoctor.reports import html, markdown, story, terminal
from traindoctor.reports.model import Current

from ._fixture import CLIP, GENERAL, LR, healthy, hypothesis, reading, sick


def with_probabilities(*probabilities: float) -> story.Verdict:
    causes = tuple(hypothesis(f"c.{i}", p) for i, p in enumerate(probabilities))
    return story.verdict(replace(healthy(), hypotheses=causes))


def test_a_cause_from_one_half_on_is_the_answer() -> None:
    """The leading cause with its probability in two digits; what else passes one half is named."""
    said = with_probabilities(0.708, 0.51, 0.49)

    assert (said.kind, said.head) == (
        "cause",
        "Most likely: Title of c.0 (71 %). Also likely: title of c.1 (51 %).",
    )


def test_without_a_curve_what_is_sound_is_the_answer() -> None:
    """A directory of tables alone: what was looked at is told; not so beside a curve."""
    calm = Reading("x", State.ABSENT, "none of 21 operators fails its test")
    bare = replace(healthy(), run=RunInfo("x"), findings=(calm,))

    assert story.sound(bare) == ["none of 21 operators fails its test"]
    assert "none of 21 operators fails its test" in terminal.render(bare).lower()
    assert story.sound(healthy()) == []


def test_a_line_of_a_script_is_among_the_first_reasons() -> None:
    """The reader can go to it; one that adds nothing takes no room, nor where a line is shown already."""
    seen = [replace(reading(), symptom=f"s{i}", why=f"why {i}") for i in range(4)]
    at_line = replace(seen[3], where=(Place("train.py", 9),))
    reasons = [Reason(r, 2.0 - i, (), ()) for i, r in enumerate(seen[:3])]

    def first(*rest: Reason) -> list[str]:
        return [r.reading.symptom for r in story.first_of([*reasons, *rest], 2)]

    assert first(Reason(at_line, 0.5, (), ())) == ["s0", "s3"]
    assert first(Reason(at_line, 0.05, (), ())) == ["s0", "s1"]
    assert first(Reason(replace(at_line, state=State.ABSENT), 0.5, (), ())) == ["s0", "s1"]
    assert first(Reason(replace(at_line, where=(Place("train.log", 9),)), 0.5, (), ())) == ["s0", "s1"]
    reasons[0] = Reason(replace(at_line, symptom="s0"), 2.0, (), ())
    assert first(Reason(at_line, 0.5, (), ())) == ["s0", "s1"]


def test_the_answer_names_the_operator() -> None:
    """The operator, rank and step that speak for it; its step is the dump's, whatever the log counts in."""
    seen = replace(reading(), step=2.0, subject=Subject("Torch.div.0.forward", 2.0, 1))
    cause = replace(hypothesis("c.0", 0.9), reasons=(Reason(seen, 1.0, (), ()),))

    said = story.verdict(replace(healthy(), hypotheses=(cause,)))

    assert said.head == "Very likely: Title of c.0 (90 %), at Torch.div.0.forward, rank 1, step 2."
    assert story.seen_at(seen, "epoch")[-1] == "step 2"


def test_a_special_case_below_one_half_is_no_answer() -> None:
    """It stands before its general cause, and the general one is the answer."""
    said = with_probabilities(0.44, 0.73)

    assert said.head == "Most likely: Title of c.1 (73 %), perhaps title of c.0 (44 %)."


def test_below_one_half_nothing_is_claimed() -> None:
    """Symptoms without a leading cause are said to be that."""
    said = with_probabilities(0.49, 0.2)

    assert said.kind == "unclear"
    assert said.head.startswith("No cause reaches 50 %. Most likely so far: title of c.0 (49 %)")


def test_many_small_rises_are_no_health() -> None:
    """A symptom that raises a dozen causes a little is not called healthy."""
    assert with_probabilities(*[0.09] * 12).kind == "unclear"


def test_healthy_needs_checks_and_a_curve() -> None:
    """Health is claimed only where enough was looked at; else it is said that this cannot be judged."""
    blind = replace(healthy(), findings=healthy().findings[:3] + healthy().findings[-5:])
    bare = replace(healthy(), run=RunInfo("x", series=("learning_rate",)))

    assert story.verdict(healthy()).kind == "healthy"
    assert story.verdict(blind).kind == "insufficient"
    assert story.verdict(bare).head == "Not enough to judge: there is no loss or metric curve here."


def test_the_verdict_says_what_it_rests_on() -> None:
    """How many checks, which curves, how long."""
    rests = story.verdict(healthy()).rests

    assert rests.startswith("20 of 25 checks could be made, on train/loss, eval/loss and learning_rate")
    assert rests.endswith("over 500 steps; 0 found something.")


def test_special_and_general_cause_are_one_entry() -> None:
    """The general cause is told with its special case and not again."""
    assert [h.cause for h in story.shown(sick())] == [LR, CLIP, "data.x"]
    assert GENERAL in sick().hypotheses[0].generalises


@pytest.mark.parametrize(
    ("patch", "value", "said"),
    [
        ("/10", 0.1, "lr: 0.1 → 0.01 (c.yaml:3)"),
        ("*2", 64, "lr: 64 → 128 (c.yaml:3)"),
        ("=1.0", 5.0, "lr: 5 → 1.0 (c.yaml:3)"),
        (True, False, "lr: false → true (c.yaml:3)"),
        (0.1, 0.1, "lr: 0.1 already (c.yaml:3)"),
        ("/10", "auto", "lr: divide by 10 (now auto) (c.yaml:3)"),
        ("/0", 0.1, "lr: divide by 0 (now 0.1) (c.yaml:3)"),
        ("/x", 0.1, "lr: divide by x (now 0.1) (c.yaml:3)"),
        ("*2", True, "lr: multiply by 2 (now true) (c.yaml:3)"),
        ("/2", (0.1, 0.2), "lr: divide by 2 (now [0.1, 0.2]) (c.yaml:3)"),
    ],
)
def test_a_remedy_names_the_exact_change(patch: Scalar, value: Scalar, said: str) -> None:
    """The setting as written in the file, from what to what, and where."""
    current = {"learning_rate": Current("learning_rate", value, "lr", "c.yaml", 3)}

    assert [said] == [str(c) for c in story.changes({"learning_rate": patch}, current)]


def test_a_remedy_without_a_recorded_setting() -> None:
    """What is not recorded is said by its canonical name."""
    found = story.changes({"learning_rate": "/10", "precision": "=bf16"}, {})

    assert [str(c) for c in found] == ["learning_rate: divide by 10", "precision: bf16"]


def _with_remedies(*patches: dict[str, Scalar]) -> Hypothesis:
    made = tuple(Remedy(f"way {i}", 5.0, 0.5, p) for i, p in enumerate(patches))
    return replace(sick().hypotheses[0], remedies=made)


def test_a_remedy_that_changes_nothing_is_not_offered() -> None:
    """Switching off what is off is no advice; what touches one setting more still is."""
    now = {"label_smoothing": Current("label_smoothing", 0, "ls", "c.yaml", 3)}
    one = _with_remedies(
        {"label_smoothing": 0.0}, {"label_smoothing": "/10"}, {"label_smoothing": 0.0, "lr": "/2"}
    )

    assert [r.do for r in story.remedies(one, now)] == ["way 2"]
    assert [r.do for r in story.remedies(one, {})] == ["way 0", "way 1", "way 2"]


def test_all_remedies_stay_where_none_would_be_left() -> None:
    """An answer without any advice helps nobody."""
    now = {"label_smoothing": Current("label_smoothing", 0, "ls", "c.yaml", 3)}

    assert [r.do for r in story.remedies(_with_remedies({"label_smoothing": 0.0}), now)] == ["way 0"]


@pytest.mark.parametrize(("first", "second", "shown"), [(0.99, 0.1, 1), (0.99, 0.6, 3), (0.9, 0.1, 3)])
def test_a_settled_answer_asks_for_one_look_at_most(first: float, second: float, shown: int) -> None:
    """Further checks are for those whose answer is still open."""
    one = sick()
    leading = (replace(one.hypotheses[0], probability=first), replace(one.hypotheses[1], probability=second))
    near = f"speaks for “{leading[0].title}”"
    open_checks = tuple(replace(one.next_checks[0], symptom=f"s{i}", if_present=near) for i in range(5))

    assert len(story.next_checks(replace(one, hypotheses=leading, next_checks=open_checks), 3)) == shown


def test_the_mark_is_where_the_leading_cause_shows() -> None:
    """The step that the strongest reason names is marked on its curve, and none on others."""
    (mark,) = story.first_bad(sick(), "train/loss")

    assert (mark.step, mark.label) == (8.0, "step 8: the loss rises for good")
    assert story.first_bad(sick(), "grad_norm") == ()


def test_a_reading_without_a_finite_step_is_no_mark() -> None:
    """A step that is NaN cannot be drawn."""
    one = replace(healthy(), findings=(reading(step=math.nan),))

    assert story.first_bad(one, "train/loss") == ()


def test_usual_symptoms_need_no_explanation() -> None:
    """What is often there by itself is not listed as unexplained."""
    assert story.not_explained(sick()) == [("loss-masked-nan", 0.93)]
    assert story.not_explained(sick(), {"loss-masked-nan"}) == []


def test_what_speaks_for_a_likely_cause_is_not_called_unexplained() -> None:
    """It stands under that cause already; beside an unlikely one it stays in the list."""
    one = sick()
    first = one.hypotheses[0]
    spoken = replace(first.reasons[0], reading=reading("loss-masked-nan"), weight=0.4)
    for probability, wanted in ((0.4, []), (0.1, [("loss-masked-nan", 0.93)])):
        told = replace(first, probability=probability, reasons=(spoken,))
        assert story.not_explained(one, told=[told]) == wanted
    against = replace(first, probability=0.9, reasons=(replace(spoken, weight=-0.4),))
    assert story.not_explained(one, told=[against]) == [("loss-masked-nan", 0.93)]


def test_what_was_seen_at_the_lines_of_a_likely_cause_is_not_called_unexplained() -> None:
    """One setting that differs is told once; a place without a line, or another line, is no such thing."""
    one = sick()
    first = one.hypotheses[0]
    at = Place("args.json", 2), Place("args.json", 2, side="benchmark")
    told = replace(
        first, probability=0.9, reasons=(replace(first.reasons[0], reading=reading("x", where=at)),)
    )
    for where, wanted in (
        (at, []),
        (at[:1], []),
        ((*at, Place("args.json", 3)), ["loss-masked-nan"]),
        ((*at, Place("train.log")), ["loss-masked-nan"]),
        ((), ["loss-masked-nan"]),
    ):
        seen = replace(one, findings=(reading("loss-masked-nan", where=where),))
        assert [s for s, _ in story.not_explained(seen, told=[told])] == wanted


def test_doubt_is_said_where_no_cause_is_named() -> None:
    """Readings that do not fit together are a caveat, unless a cause is named that explains them."""
    vague = replace(sick(), conflict=5.5, hypotheses=(hypothesis(LR, 0.4),))
    named = replace(vague, hypotheses=(hypothesis(LR, 0.6),))

    assert len(story.caveats(vague)) == 1
    assert story.caveats(replace(vague, conflict=4.2)) == []
    assert story.caveats(named) == []
    assert len(story.caveats(replace(named, converged=False))) == 1


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("The loss", "the loss"),
        ("NaN loss", "NaN loss"),
        ("FP16 range", "FP16 range"),
        ("A NaN", "a NaN"),
        ("", ""),
    ],
)
def test_titles_inside_sentences(title: str, said: str) -> None:
    """Names keep their capitals."""
    assert story.lower_first(title) == said


def test_the_mark_is_the_earliest_weighty_sign() -> None:
    """A weak early sign does not move the mark, a weighty one does."""

    def marked(weight: float) -> float:
        early = reading("early", step=2.0)
        reasons = (
            Reason(reading(), 0.9, (LR, "loss-diverges"), ("x",)),
            Reason(early, weight, (LR, "early"), ("x",)),
        )
        return story.first_bad(
            replace(sick(), hypotheses=(hypothesis(LR, 0.9, reasons=reasons),)), "train/loss"
        )[0].step

    assert (marked(0.1), marked(0.5)) == (8.0, 2.0)


def test_a_grave_symptom_is_no_health(tmp_path: Path) -> None:
    """A loss that rises for good is never called healthy, though no cause explains it."""
    from traindoctor.engine.diagnose import diagnose
    from traindoctor.engine.load import load_rules
    from traindoctor.probes.assembly.assemble import open_run
    from traindoctor.probes.readings import readings

    losses = (15.5, 13.0, 3.8, 2.39, 1.43, 5.82, 7.05, 10.03)
    log = tmp_path / "train.log"
    log.write_text("".join(f"step={55 * i}  loss={loss}\n" for i, loss in enumerate(losses)))
    run, rules = open_run(tmp_path), load_rules()
    found = diagnose(rules, readings(run, None, rules.symptoms.values()), run=run.info)

    assert found.grave == ("loss-diverges",)
    assert story.verdict(found).kind == "unclear"
    assert "loss rises for good" in story.verdict(found).head or found.hypotheses[0].probability > 0.1


def test_a_healthy_run_whose_metric_is_low_is_called_so_with_that_word(tmp_path: Path) -> None:
    """Whether an accuracy of 0.4 is little only the task can tell; that it was seen is said."""
    from traindoctor.engine.diagnose import diagnose
    from traindoctor.engine.load import load_rules
    from traindoctor.probes.assembly.assemble import open_run
    from traindoctor.probes.readings import readings

    falls = [0.85**i for i in range(40)]
    rows = [
        f"epoch={i} loss={2.3 * f + 0.8:.4f} val_loss={2.3 * f + 0.9:.4f} val_acc={0.42 - 0.3 * f:.4f}"
        for i, f in enumerate(falls)
    ]
    (tmp_path / "train.log").write_text("\n".join(rows) + "\n")
    run, rules = open_run(tmp_path), load_rules()
    found = diagnose(rules, readings(run, None, rules.symptoms.values()), run=run.info)

    assert found.caveats == ("eval-metric-low",)
    said = story.verdict(found)
    assert (said.kind, said.head) == (
        "healthy",
        "No fault found: the run looks healthy, though the evaluation metric stays low.",
    )


def test_a_settled_answer_asks_for_no_look_at_another_cause() -> None:
    """What tells nothing of the answer is not asked beside it."""
    one = sick()
    leading = replace(one.hypotheses[0], probability=0.99)
    away = replace(one.next_checks[0], if_present="speaks for “Something else”", if_absent="changes little")
    near = replace(away, symptom="near", if_absent=f"speaks against “{leading.title}” (99 % → 70 %)")
    settled = replace(one, hypotheses=(leading,), next_checks=(away, near))

    assert [c.symptom for c in story.next_checks(settled, 3)] == ["near"]
    assert story.next_checks(replace(settled, next_checks=(away,)), 3) == ()


@pytest.mark.parametrize(
    ("steps", "unit", "kind"),
    [
        (2.0, "iteration", "insufficient"),
        (9.0, "step", "insufficient"),
        (500.0, "step", "healthy"),
        (2.0, "epoch", "healthy"),
        (None, "step", "healthy"),
    ],
)
def test_a_run_that_has_hardly_begun_is_not_called_healthy(steps: float | None, unit: str, kind: str) -> None:
    """A few steps say nothing of how training goes; a few epochs may."""
    one = healthy()
    begun = replace(one, run=replace(one.run, steps=steps, step_unit=unit))

    assert story.verdict(begun).kind == kind
    if kind == "insufficient":
        assert story.verdict(begun).head == f"Not enough to judge: the log ends after {steps:g} {unit}s."


@pytest.mark.parametrize(("points", "kind"), [(2, "insufficient"), (3, "healthy"), (None, "healthy")])
def test_two_points_are_no_curve(points: int | None, kind: str) -> None:
    """Two epochs have no course that could be called healthy."""
    one = healthy()
    begun = replace(one, run=replace(one.run, points=points))

    assert story.verdict(begun).kind == kind
    if kind == "insufficient":
        assert story.verdict(begun).head == "Not enough to judge: 2 points on the longest curve."


def test_a_place_without_a_file_is_none() -> None:
    """What a log says in passing stands in no place of a file."""
    assert story.seen_at(reading(step=None, where=(Place(""),)), "epoch") == []


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (Place("train.py", 7), [("train.py:7", "opt = AdamW(model.parameters())")]),
        (Place("train.py"), []),
        (Place("log.txt", 7), []),
    ],
)
def test_the_corrected_code_is_given_for_the_line_that_shows_the_cause(
    place: Place, found: list[tuple[str, str]]
) -> None:
    """Where the reason is a line of a script, what belongs there comes first."""
    seen = reading(symptom="script-frozen", where=(place,))
    cause = replace(sick().hypotheses[0], reasons=(Reason(seen, 1.0, (), ()),))
    one = replace(sick(), instead={"script-frozen": "opt = AdamW(model.parameters())\n"})

    assert story.corrections(one, cause) == found
    assert story.corrections(sick(), cause) == []


def test_reports_have_no_empty_heading_where_nothing_is_left_to_ask() -> None:
    """A settled answer without a look of its own has no section for one."""
    one = sick()
    away = replace(one.next_checks[0], if_present="speaks for “Something else”", if_absent="changes little")
    leading = replace(one.hypotheses[0], probability=0.99)
    settled = replace(one, hypotheses=(leading,), next_checks=(away,))

    for report in (markdown.render(settled).text, html.render(settled), terminal.render(settled)):
        assert "Next check" not in report and "Check next" not in report
