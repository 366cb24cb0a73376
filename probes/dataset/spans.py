"""Answers that are told by where they stand in a text (SQuAD): whether they stand there.

Form: `context` and `answers` of `text` and `answer_start`, lists of one length (Hugging Face's squad).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.model import Place
from .model import Chats

MOST = 50_000


def is_spans(names: Sequence[str]) -> bool:
    """Whether rows hold a text and answers in it."""
    there = {n.partition(".")[0] for n in names}
    nested = "answers.answer_start" in names or "answers" in names
    return "context" in there and nested


class Gather:
    """Rows as they were read."""

    def __init__(self) -> None:
        self.looked = 0
        self.wrong = 0
        self.at: tuple[Place, str] | None = None

    def add(self, rows: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> None:
        """Take the next rows."""
        for row, place in zip(rows, places, strict=True):
            answers = row.get("answers")
            nested = answers if isinstance(answers, Mapping) else {}
            texts = nested.get("text", row.get("answers.text"))
            starts = nested.get("answer_start", row.get("answers.answer_start"))
            context = row.get("context")
            if not (isinstance(context, str) and isinstance(texts, list) and isinstance(starts, list)):
                continue
            if self.looked >= MOST:
                return
            for text, start in zip(texts, starts, strict=False):
                if isinstance(text, str) and text and isinstance(start, int):
                    self.looked += 1
                    if context[start : start + len(text)] != text or start < 0:
                        self.wrong += 1
                        self.at = self.at or (
                            place,
                            f"{text[:40]} at {start}: {context[max(0, start) :][:40]}",
                        )

    def found(self) -> Chats | None:
        """Return what was found."""
        if not self.looked:
            return None
        why = "with an answer that does not stand where it is told to"
        return Chats(self.looked, {why: self.wrong}, {why: self.at}) if self.at else Chats(self.looked)
