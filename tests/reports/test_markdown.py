"""The markdown report: what stands in it, that it is valid, and that strangers' text stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from traindoctor.engine.model import Diagnosis, Hypothesis, Reason
from traindoctor.reports import markdown

from ._fixture import HOSTILE, LR, extras, healthy, hostile, hypothesis, reading, sick

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
DETAILS = re.compile(r"(<details><summary>[\w ,]+</summary>|</details>)\n?")


def tokens(source: str) -> list[Token]:
    found = PARSER.parse(source)
    return [*found, *(c for t in found for c in t.children or ())]


def page(diagnosis: Diagnosis) -> str:
    return markdown.render(diagnosis, extras(), stem="report").text


def sections(source: str) -> list[str]:
    return [line for line in source.splitlines() if line.startswith("## ")]


def test_the_first_lines_say_what_to_do() -> None:
    """A tired engineer reads the top and knows the cause, the reason, the change and the next check."""
    top = "\n".join(page(sick()).splitlines()[:20])

    assert "**Most likely: The learning rate is too large (71 %).**" in top
    assert "(`logs/train.log:60`, step 8)" in top
    assert "`lr: 0.1 → 0.01 (config.yaml:3)`" in top
    assert "A lower rate cures it? Rerun 200 steps." in top


def test_a_hypothesis_is_told_in_full() -> None:
    """Probability, evidence for and against, remedies with the setting, chain as list and graph."""
    said = page(sick())

    assert "## 1. The learning rate is too large (71 %)" in said
    assert "a special case of `porting.hyperparameters-differ` (a hyperparameter differs, 62 %)" in said
    assert "*strong, +2.3*" in said
    assert "Not seen: lr-very-small: the learning rate reaches 0.1. *slight, -0.4*" in said
    assert "   - set `lr: 0.1 → 0.01 (config.yaml:3)`" in said
    assert "   - set `max_grad_norm: 1.0`" in said
    assert "The learning rate is too large → Updates are too large → The loss rises for good" in said
    assert '  n0(["The learning rate is too large"])' in said


def test_the_order_of_sections() -> None:
    """Causes, then what to check, then curves, then the lists."""
    assert sections(page(sick())) == [
        "## 1. The learning rate is too large (71 %)",
        "## 2. Title of hyperparameter.gradient-clipping-missing (12 %)",
        "## Next checks",
        "## Curves",
        "## Not explained",
        "## Checklist",
        "## Findings",
        "## Not evaluated",
        "## Files",
    ]


def test_general_causes_stand_with_their_special_case() -> None:
    """A cause and the general one that it is a case of are one chain, not two rivals."""
    assert "## 2. Title of porting" not in page(sick())


def test_a_healthy_run_is_said_to_be_healthy() -> None:
    """No cause is discussed; the verdict says on what it rests."""
    said = page(healthy())

    assert "**No fault found: the run looks healthy.**" in said
    assert "20 of 25 checks could be made, on train/loss, eval/loss and learning_rate" in said
    assert sections(said) == ["## Curves", "## Findings", "## Files"]


def test_curves_stand_beside_the_report() -> None:
    """Every picture that the text shows is a file, below a folder called like the report."""
    document = markdown.render(sick(), extras(), stem="my report")
    shown = [t.attrs["src"] for t in tokens(document.text) if t.type == "image"]

    assert shown == ["my%20report_files/train-loss.svg"]
    assert list(document.files) == ["my report_files/train-loss.svg"]
    assert document.files["my report_files/train-loss.svg"].startswith("<svg ")


def test_without_a_file_there_are_no_pictures() -> None:
    """On stdout there is no place for files."""
    document = markdown.render(sick(), extras())

    assert document.files == {}
    assert "![" not in document.text


def test_checklist_table() -> None:
    """Every item with result and reason, in the order of the checklist."""
    said = markdown.render_checklist(sick())

    assert "1 Passed, 1 Failed, 1 Not checked." in said
    assert "| 1 | Constant results | **Not checked** | Not read. To check: Train it twice. |" in said
    assert "| 4 | Loss scaling | Passed | fp32 needs none. |" in said


@pytest.mark.parametrize("text", HOSTILE)
def test_strangers_text_adds_nothing_but_text(text: str) -> None:
    """No HTML, link, picture, heading, list or emphasis comes from data, wherever it stands."""
    harmless = tokens(page(hostile("harmless words")))
    found = tokens(page(hostile(text)))
    blocks = ("heading_open", "ordered_list_open", "table_open", "tr_open", "td_open", "hr", "fence", "image")

    assert [t.content for t in found if t.type == "html_block" and not DETAILS.fullmatch(t.content)] == []
    assert not {t.type for t in found} & {"html_inline", "link_open", "s_open", "code_block"}
    for kind in blocks:
        assert sum(t.type == kind for t in found) == sum(t.type == kind for t in harmless), kind


@pytest.mark.parametrize("text", HOSTILE)
def test_no_line_is_a_ci_command(text: str) -> None:
    """Printed into a CI log, no line starts a command."""
    for line in page(hostile(text)).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_graphs_stay_small() -> None:
    """A hypothesis with a hundred reasons has a graph of at most 40 nodes, each arrow between known nodes."""
    reasons = tuple(
        Reason(reading(f"s{i}"), 1.0, (LR, f"m{i}", f"s{i}"), ("because", "because")) for i in range(100)
    )
    lines = markdown.graph(sick(), hypothesis(LR, 0.9, reasons=reasons)).splitlines()
    nodes = {line.split("[")[0].split("(")[0].strip() for line in lines[2:-1] if "-->" not in line}
    ends = {n for line in lines if "-->" in line for n in line.strip().split(" --> ")}

    assert 30 < len(nodes) <= markdown.MOST_NODES
    assert ends == nodes


def test_nothing_raised_is_said_without_causes() -> None:
    """Where symptoms exist and no cause stands out, no cause is told in full."""
    causes: tuple[Hypothesis, ...] = tuple(hypothesis(f"c.{i}", 0.09) for i in range(10))
    said = page(replace(sick(), hypotheses=causes))

    assert "**Something is wrong, but no cause stands out.**" in said
    assert "Possible causes: title of c.0 (9 %), " in said
    assert "## Next checks" in said
