"""Kinds of edits of rules/porting/edits.yaml: their patterns, and whether an edit matches one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from importlib.resources import files

from ...script_diff.edit import Edit

Pattern = Mapping[str, object]


@dataclass(frozen=True)
class Topic:
    """A kind of edit: its name, the patterns of which one has to match, and which data it has to deal with.

    `sides`: "eval" or "train": only edits of that data; "both": not of one of them alone.
    None is told of lines that were written anew: equal ways to write them look different.
    `unless_numbers`: not told of programs whose loss is on numbers, not on the scores of classes.
    """

    name: str
    patterns: tuple[Pattern, ...]
    sides: str = ""
    unless_numbers: bool = False


@lru_cache(maxsize=1)
def topics() -> tuple[Topic, ...]:
    """The kinds of edits of rules/porting/edits.yaml, the most specific first."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "edits.yaml").read_text(encoding="utf-8")
    loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tuple(
        Topic(
            name,
            tuple(row["patterns"]),
            row.get("sides", ""),
            bool(row.get("unless_numbers")),
        )
        for name, row in loaded["edits"].items()
    )


def matching(edit: Edit, patterns: Iterable[Pattern]) -> bool:
    """Whether one of the patterns matches an edit."""
    return any(matches(edit, p) for p in patterns)


def matches(edit: Edit, pattern: Pattern) -> bool:
    """Whether an edit has all that a pattern asks for.

    kind, gone, new, role, nearest (of the roles), within, key, setting, split, code and code2 (names and
    numbers of the whole lines): one of these, with wildcards;
    `words`, `words2`: gone or new; `all_new`, `all_gone`: every one; `first`: the innermost of within;
    `above`, `below`: the ratio mine/theirs; `not`: fields of which none may match.
    """
    for name, asked in pattern.items():
        if name == "not":
            if isinstance(asked, Mapping) and any(matches(edit, {k: v}) for k, v in asked.items()):
                return False
            continue
        if name in ("above", "below"):
            limit = float(str(asked))
            if edit.ratio is None or (edit.ratio <= limit if name == "above" else edit.ratio >= limit):
                return False
            continue
        wanted = [str(w) for w in asked] if isinstance(asked, (list, tuple)) else [str(asked)]
        if name in ("all_new", "all_gone"):
            words = edit.new if name == "all_new" else edit.gone
            if not all(one_of(words, w) for w in wanted):
                return False
            continue
        held = _HELD[name](edit)
        if not any(one_of(held, w) for w in wanted):
            return False
    return True


@lru_cache(maxsize=1000)
def _identifiers(code: str) -> frozenset[str]:
    return frozenset(re.findall(r"-?\b\w+\b", code))


_HELD: dict[str, Callable[[Edit], Iterable[str]]] = {
    "kind": lambda edit: (edit.kind,),
    "gone": lambda edit: edit.gone,
    "new": lambda edit: edit.new,
    **dict.fromkeys(("words", "words2"), lambda edit: edit.gone | edit.new),
    "role": lambda edit: edit.roles,
    "nearest": lambda edit: edit.roles[:1],
    "within": lambda edit: edit.within,
    "first": lambda edit: edit.within[:1],
    "key": lambda edit: (edit.key,),
    "setting": lambda edit: (edit.setting,),
    "split": lambda edit: (edit.split,),
    **dict.fromkeys(("code", "code2"), lambda edit: _identifiers(edit.mine_code + " " + edit.theirs_code)),
}


@lru_cache(maxsize=100_000)
def _like(word: str, pattern: str) -> bool:
    if pattern in _OPERATORS:  # no wildcards
        return word == pattern
    if word.startswith("$:") and not pattern.startswith("$:"):  # what made a variable is no name of one
        return False
    wild = _wild(pattern)
    return word == pattern if wild is None else wild(word) is not None


@cache  # the rules hold more patterns than fnmatch remembers
def _wild(pattern: str) -> Callable[[str], object] | None:
    return re.compile(translate(pattern)).match if _WILD.search(pattern) else None


_WILD = re.compile(r"[*?\[]")
_OPERATORS = ("*", "**")


def one_of(words: Iterable[str], pattern: str) -> bool:
    """Whether a word is like the pattern."""
    return any(_like(w, pattern) for w in words)
