"""A strip over operators in the order of execution: where it begins, and what comes after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ..engine.model import ComparedOperator
from .svg import ESCAPES
from .text import count, plain

# The worst of a cell's operators is what the cell shows; from harmless to the one to look at.
ORDER = ("same", "agrees", "unknown", "inherited", "unmatched", "also", "first")
MARKS = {
    "same": ".",
    "agrees": ".",
    "unknown": "?",
    "inherited": "x",
    "unmatched": "+",
    "also": "!",
    "first": "#",
}
STYLES = {"inherited": "yellow", "unmatched": "magenta", "also": "red", "first": "bold red", "unknown": "dim"}
WORDS = {
    ".": "agrees",
    "#": "begins here",
    "!": "another beginning",
    "x": "inherited",
    "+": "on one side alone",
    "?": "cannot be told",
}
MOST_CELLS = 240
WIDTH, HEIGHT = 720, 122
LEFT, TOP, BAND = 16, 40, 26
KEYS = TOP + BAND + 26  # the line of the legend
# Okabe-Ito again; "begins here" is taller as well, so that it is seen without colour.
COLOURS = {
    "same": "#009e73",
    "agrees": "#56b4e9",
    "unknown": "#b0b7bf",
    "inherited": "#e69f00",
    "unmatched": "#cc79a7",
    "also": "#d55e00",
    "first": "#b3261e",
}


def cells(operators: Sequence[ComparedOperator], most: int) -> list[list[ComparedOperator]]:
    """Share operators out over at most `most` cells, in order."""
    if not operators:
        return []
    number = min(most, len(operators))
    edges = [len(operators) * n // number for n in range(number + 1)]
    return [list(operators[a:b]) for a, b in pairwise(edges)]


def worst(cell: Sequence[ComparedOperator]) -> str:
    """The state that a cell shows."""
    return max((o.state for o in cell), key=ORDER.index)


def row(operators: Sequence[ComparedOperator], width: int) -> list[tuple[str, str]]:
    """The strip as pieces of text with a style each: one character per cell."""
    return [(MARKS[state], STYLES.get(state, "green")) for state in map(worst, cells(operators, width))]


def legend(operators: Sequence[ComparedOperator], words: Mapping[str, str] = WORDS) -> str:
    """What the characters mean, of those that occur."""
    seen = {MARKS[o.state] for o in operators}
    return "  ".join(f"{mark} {word}" for mark, word in words.items() if mark in seen)


def svg(
    title: str,
    operators: Sequence[ComparedOperator],
    words: Mapping[str, str] = WORDS,
    unit: str = "operator",
) -> str:
    """The strip as SVG with its legend, the same text for the same operators."""
    found = cells(operators, MOST_CELLS)
    step = (WIDTH - 2 * LEFT) / max(1, len(found))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{_xml(title)}</title>",
        "<style>text{font:12px system-ui,sans-serif;fill:#30363d}.bg{fill:#fff}"
        "@media (prefers-color-scheme:dark){.bg{fill:#0d1117}text{fill:#e6edf3}}</style>",
        f'<rect class="bg" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text x="{LEFT}" y="24">{_xml(title)}</text>',
    ]
    for n, cell in enumerate(found):
        state = worst(cell)
        rise = 6 if state == "first" else 0
        names = cell[0].name if len(cell) == 1 else f"{cell[0].name} to {cell[-1].name}"
        parts.append(
            f'<rect x="{LEFT + n * step:.2f}" y="{TOP - rise}" width="{max(step, 0.6):.2f}" '
            f'height="{BAND + 2 * rise}" fill="{COLOURS[state]}"><title>{_xml(names)}: {state}</title></rect>'
        )
    parts += _keys(operators, words)
    said = f"{count(len(operators), unit)} in {'the order of execution' if unit == 'operator' else 'order'}"
    parts += [f'<text x="{LEFT}" y="{HEIGHT - 8}">{_xml(said)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"


def _keys(operators: Sequence[ComparedOperator], words: Mapping[str, str]) -> list[str]:
    """A square of each colour that occurs, with what it means; one word may stand for two shades."""
    parts: list[str] = []
    at = float(LEFT)
    for state in (s for s in ORDER if any(o.state == s for o in operators)):
        word = words.get(MARKS[state], "")
        if state == "same" and word == WORDS["."]:
            word = "bit for bit"
        parts += [
            f'<rect x="{at:.0f}" y="{KEYS - 9}" width="10" height="10" fill="{COLOURS[state]}"/>',
            f'<text x="{at + 15:.0f}" y="{KEYS}">{_xml(word)}</text>',
        ]
        at += 15 + 7 * len(word) + 18
    return parts


def _xml(text: str) -> str:
    return plain(text).translate(ESCAPES)
