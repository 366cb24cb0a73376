"""One difference between two programs, and a line that is none by itself."""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.model import Place


@dataclass(frozen=True)
class Edit:
    """One difference: theirs -> mine.

    `gone` and `new`: the calls, operators, arguments, attributes and constants that only one side has there;
    `within`: "call.argument" around it, innermost first; `roles`: what it belongs to or feeds, nearest first;
    `key`: the setting that a constant gives; `ratio`: mine / theirs of a number; `split`: "train", "eval"
    or ""; `rewritten`: it stands among lines that were written anew, so that what differs is not understood.
    """

    kind: str
    roles: tuple[str, ...]
    gone: frozenset[str]
    new: frozenset[str]
    within: tuple[str, ...]
    key: str
    setting: str
    ratio: float | None
    split: str
    mine: Place | None
    theirs: Place | None
    mine_code: str
    theirs_code: str
    rewritten: bool = False

    @property
    def text(self) -> str:
        """The edit in one line of code: before, after, or both."""
        if self.mine_code and self.theirs_code and self.mine_code != self.theirs_code:
            return f"`{self.theirs_code}` -> `{self.mine_code}`"
        if self.kind in ("moved", "into-loop", "out-of-loop"):
            return f"`{self.mine_code}` stands elsewhere"
        if self.mine_code:
            return f"`{self.mine_code}` is in this script only"
        return f"`{self.theirs_code}` is missing"


@dataclass(frozen=True)
class LeftOut:
    """A line of one side that is no edit by itself: what it does, and the layers of its program."""

    mine: bool
    words: frozenset[str]
    layers: frozenset[str]
