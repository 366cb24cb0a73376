"""Words, and escapes that make strangers' text harmless in each language of a report."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from traindoctor.engine.model import Place
from traindoctor.reports import text

from ._fixture import HOSTILE

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
anything = st.one_of(
    st.text(max_size=60), st.sampled_from(HOSTILE), st.text("`|*_[]<>&#@:\\~$-1. \n", max_size=40)
)


def tokens(source: str) -> list[str]:
    """The kinds of all tokens of a markdown text, inline ones too."""
    found = PARSER.parse(source)
    return [t.type for t in found] + [c.type for t in found for c in t.children or ()]


@given(anything)
def test_plain_text_has_nothing_invisible(raw: str) -> None:
    """No control, bidi, private or lone surrogate character survives, and no line end."""
    kinds = {unicodedata.category(c) for c in text.plain(raw)}

    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


@pytest.mark.parametrize(
    "raw", ["\x1b]0;title\x07shown", "\x1b[31mshown\x1b[0m", "\x9b31mshown", "\x1bPq\x1b\\shown"]
)
def test_terminal_sequences_go_whole(raw: str) -> None:
    """A sequence leaves nothing of itself behind."""
    assert text.plain(raw) == "shown"


def test_long_text_is_cut() -> None:
    """One foreign sentence cannot fill a report."""
    assert len(text.plain("x" * 10_000_000)) == text.LONGEST


@given(anything)
def test_markdown_is_only_text(raw: str) -> None:
    """Escaped text is one paragraph of text (and entities) that shows what `plain` shows."""
    source = "- " + text.markdown(raw)
    kinds = set(tokens(source))

    assert kinds <= {
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
        "inline",
        "text",
        "text_special",
        "paragraph_close",
        "list_item_close",
        "bullet_list_close",
    }


@given(anything)
def test_escaped_markdown_shows_the_same_text(raw: str) -> None:
    """What is rendered is what was to be said."""
    inline = [t for t in PARSER.parse("x " + text.markdown(raw)) if t.type == "inline"]
    shown = "".join(c.content for t in inline for c in t.children or ())

    assert ("x " + text.plain(raw)).strip() == shown.strip()


@given(anything)
def test_code_spans_hold_their_text(raw: str) -> None:
    """A code span is one span, whatever backticks it holds."""
    shown = text.plain(raw)
    inline = [c for t in PARSER.parse("x " + text.code(raw)) for c in t.children or ()]

    assert not shown or [c.content for c in inline if c.type == "code_inline"] == [shown]


@given(anything, anything)
def test_table_cells_keep_to_their_columns(first: str, second: str) -> None:
    """Neither text nor code can open another column or leave the table."""
    row = f"| {text.rule_text(first, cell=True)} | {text.code(second, cell=True)} |"
    kinds = tokens(f"| a | b |\n|---|---|\n{row}\n")

    assert kinds.count("td_open") == 2
    assert kinds.count("tr_open") == 2


@given(anything)
def test_rule_text_is_text_and_code(raw: str) -> None:
    """Backticks of a rule's author make code and nothing else."""
    kinds = set(tokens("x " + text.rule_text(raw)))

    assert kinds <= {"paragraph_open", "inline", "text", "text_special", "code_inline", "paragraph_close"}


def test_code_between_backticks_stays_code() -> None:
    """A setting that a remedy names is shown as code, underscores and all."""
    assert text.rule_text("set `a_b*` to *x*") == "set `a_b*` to \\*x\\*"


@given(anything)
def test_mermaid_labels_hold_nothing_with_a_meaning(raw: str) -> None:
    """Quotes, brackets, backticks, percent signs and semicolons become entity codes."""
    label = text.mermaid(raw)

    assert not set('"`[]{}<>%&|\n') & set(label)
    assert re.fullmatch(r"(?:[^#;]|#\d+;)*", label)


@pytest.mark.parametrize("raw", ["::error::x", "  ::warning file=a::x", "a\n::debug::x", "\x1b[2m::error::x"])
def test_ci_commands_are_broken(raw: str) -> None:
    """No line of a report is a command to a CI log."""
    assert not re.search(r"^(\s|\x1b\[[0-9;]*m)*::", text.disarm(raw), re.MULTILINE)
    assert "##[" not in text.disarm("x ##[command]y")


def test_double_colons_inside_a_line_stay() -> None:
    """C++ names read as they are."""
    assert text.disarm("  what: std::bad_alloc\n") == "  what: std::bad_alloc\n"


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.708, "71 %"),
        (0.5, "50 %"),
        (0.004, "below 1 %"),
        (0.999, "above 99 %"),
        (0.05, "5 %"),
        (0.4999, "49 %"),  # no claim
    ],
)
def test_probabilities_have_two_digits(p: float, said: str) -> None:
    """No probability claims more digits than it has, and none claims certainty."""
    assert text.percent(p) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "infinity"),
        (float("-inf"), "-infinity"),
        (0.0, "0"),
        (1e-5, "1e-05"),
        (185000.0, "185000"),
        (0.123456, "0.1235"),
        (2.5e12, "2.5e+12"),
    ],
)
def test_numbers(value: float, said: str) -> None:
    """Four significant digits; what is no finite number is said by name."""
    assert text.number(value) == said


def test_places_name_file_line_rank_and_side() -> None:
    """A place says which side and rank it is of; repeats are said once and the rest counted."""
    places = [
        Place("a.log", 3),
        Place("a.log", 3),
        Place("b.log", 4, rank=2, side="benchmark"),
        Place("c"),
        Place("d"),
    ]

    assert text.locations(places) == ["a.log:3", "benchmark b.log:4 (rank 2)", "and 2 more"]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("the loss rises", "The loss rises."),
        ("train/loss rises", "train/loss rises."),
        ("lr_x = 3", "lr_x = 3."),
        ("it ends!", "It ends!"),
        ("", ""),
    ],
)
def test_sentences(raw: str, said: str) -> None:
    """A sentence begins with a capital, a name stays as it is, and a full stop ends it."""
    assert text.sentence(raw) == said
