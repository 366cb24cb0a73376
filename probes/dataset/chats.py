"""Conversations, answers and pairs of answers: turns without words, roles that no template knows.

Forms: `messages` of role and content (OpenAI, TRL), `conversations` of from and value (ShareGPT), instruction
and output (Alpaca), prompt and completion, prompt with chosen and rejected (preferences), a query with
positive and negative (retrieval).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...engine.model import Place
from .model import Chats

MOST = 50_000  # conversations that are looked at
_LISTS = ("messages", "conversations", "conversation", "dialogue", "dialog", "chat", "turns")
_PAIRS = (("chosen", "rejected"), ("positive", "negative"), ("pos", "neg"))
_ASKED = ("instruction", "prompt", "question")
_ANSWERS = ("output", "response", "completion", "answer")
_ROLES = {
    "user": "user human prompter customer",
    "assistant": "assistant gpt chatgpt bot bing bard model ai chatbot",
    "system": "system developer",
    "tool": "tool function function_call function_response observation ipython tool_call tool_response",
}
_KNOWN = {word: role for role, words in _ROLES.items() for word in words.split()}
_SAYS = frozenset({"content", "value", "text"})
_ENOUGH = 50
_MOSTLY = 0.8
_MANY = 5
_WORDS = 4  # of a question: shorter ones may be answered so
_BEGUN = 0.1  # share of answers that begin with their question; single ones repeat it to answer it
_BAKED = 0.02  # share of conversations with marks of a template; single ones speak of them
# What a template writes around turns: Hugging Face's chat templates of ChatML, Llama 2 and 3, Gemma, Zephyr.
_MARKS = re.compile(
    r"<\|im_(?:start|end)\|>|<\|(?:start|end)_header_id\|>|<\|eot_id\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
    r"|<\|(?:user|assistant|system)\|>"
)
_ENDED = frozenset(".!?…:;\"'`)]}>*|。！？」”’")
_CUT, _LEAST_CUT = 0.05, 20  # share and number of answers that have the length of the longest


def of(names: Sequence[str]) -> ChatGather | None:
    """Return what looks at conversations or pairs of answers; None where no field is called so."""
    plain = {n.strip().lower(): n for n in names}
    lists = next((plain[n] for n in _LISTS if n in plain), None)
    pairs = next(((plain[a], plain[b]) for a, b in _PAIRS if a in plain and b in plain), None)
    asked = next((plain[n] for n in _ASKED if n in plain), None)
    answer = next((plain[n] for n in _ANSWERS if n in plain), None) if asked is not None else None
    if lists is None and pairs is None and answer is None:
        return None
    prompt = asked if answer else plain.get("prompt") or plain.get("question") or plain.get("query")
    return ChatGather(lists, pairs, prompt, answer)


class ChatGather:
    """What is wrong, counted by reason."""

    def __init__(
        self,
        lists: str | None,
        pairs: tuple[str, str] | None,
        prompt: str | None,
        answer: str | None = None,
    ) -> None:
        self.answer = answer
        self.lists = lists
        self.pairs = pairs
        self.prompt = prompt
        self.looked = 0
        self.wrong: Counter[str] = Counter()
        self.first: dict[str, tuple[Place, str]] = {}
        self.roles: Counter[str] = Counter()
        self.role_at: dict[str, Place] = {}
        self.keys: Counter[tuple[str, ...]] = Counter()
        self.key_at: dict[tuple[str, ...], Place] = {}
        self.begin: Counter[str] = Counter()
        self.end: Counter[str] = Counter()
        self.end_at: dict[str, Place] = {}
        self.begin_at: dict[str, Place] = {}
        self.seen: dict[int, Place] = {}
        self.several = 0  # conversations with two questions and no answer between them
        self.several_at: Place | None = None
        self.echoes = 0  # answers that are their question again
        self.echo_at: Place | None = None
        self.begun = 0  # answers that begin with their question
        self.begun_at: Place | None = None
        self.baked = 0  # conversations with marks of a template in their words
        self.baked_at: tuple[Place, str] | None = None
        self.lengths: Counter[tuple[int, bool]] = Counter()  # of answers: characters, whether they end
        self.longest: dict[int, Place] = {}

    def add(self, rows: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> None:
        """Take rows as they were read, before they became cells."""
        for row, place in zip(rows, places, strict=True):
            if self.looked >= MOST:
                return
            if self.lists is not None:
                turns = row.get(self.lists)
                if isinstance(turns, list) and all(isinstance(t, dict) for t in turns):
                    self.looked += 1
                    self._turns(turns, place)
            elif self.pairs is not None:
                self._pair(row, place)
            elif self.answer is not None and self.prompt is not None:
                self.looked += 1
                asked, said = row.get(self.prompt), row.get(self.answer)
                if isinstance(said, str):
                    self._long(said, place)
                if isinstance(asked, str) and isinstance(said, str) and len(asked.split()) >= _WORDS:
                    if asked == said:
                        self.echoes += 1
                        self.echo_at = self.echo_at or place
                    elif said.startswith(asked):
                        self.begun += 1
                        self.begun_at = self.begun_at or place

    def _long(self, said: str, place: Place) -> None:
        """Count an answer by its length; where one is cut its last letter may have been a space."""
        plain = said.strip()
        if plain:
            self.lengths[len(plain), plain[-1] in _ENDED] += 1
            self.longest.setdefault(len(plain), place)

    def _note(self, why: str, place: Place, example: str) -> None:
        self.wrong[why] += 1
        self.first.setdefault(why, (place, example))

    def _turns(self, turns: Sequence[Mapping[str, Any]], place: Place) -> None:
        if not turns:
            self._note("without a turn", place, "[]")
            return
        keys: tuple[str, ...] = ()
        found = []
        said = (t.get(k) for t in turns for k in _SAYS)
        mark = next((m[0] for s in said if isinstance(s, str) and (m := _MARKS.search(s))), None)
        if mark is not None:
            self.baked += 1
            self.baked_at = self.baked_at or (place, mark)
        for turn in turns:
            role_key = next((k for k in ("role", "from", "speaker", "author") if k in turn), "")
            text_key = next((k for k in ("content", "value", "text") if k in turn), "")
            keys = keys or (role_key, text_key)
            name = turn.get(role_key)
            role = name.strip() if isinstance(name, str) else ""
            self.roles[role] += 1
            self.role_at.setdefault(role, place)
            found.append(role)
            kind = _KNOWN.get(role.lower())
            if kind == "assistant" and _silent(turn):
                self._note("with an answer that is empty", place, json.dumps(role))
            elif kind == "user" and _silent(turn):
                self._note("with a question that is empty", place, json.dumps(role))
            elif kind == "assistant" and isinstance(turn.get(text_key), str):
                self._long(turn[text_key], place)
        self.keys[keys] += 1
        self.key_at.setdefault(keys, place)
        kinds = [_KNOWN.get(r.lower(), r) for r in found]
        spoken = [k for k in kinds if k != "system"]
        self.several += any(a == b == "user" for a, b in pairwise(spoken))
        if any(a == b == "user" for a, b in pairwise(spoken)):
            self.several_at = self.several_at or place
        self.begin[spoken[0] if spoken else "system"] += 1
        self.begin_at.setdefault(spoken[0] if spoken else "system", place)
        self.end[kinds[-1]] += 1
        self.end_at.setdefault(kinds[-1], place)

    def _pair(self, row: Mapping[str, Any], place: Place) -> None:
        if self.pairs is None:
            return
        one, other = (row.get(name) for name in self.pairs)
        if self.pairs[0] != "chosen" and isinstance(one, list) and isinstance(other, list):
            self.looked += 1  # several passages on each side
            both = [t for t in one if isinstance(t, str) and t.strip() and t in other]
            if both:
                self._note("with one text that is positive and negative", place, both[0][:60])
            return
        chosen, rejected = _plain(one), _plain(other)
        if chosen is None or rejected is None:
            return
        self.looked += 1
        if self.pairs[0].lower() != "chosen":
            if chosen == rejected and chosen.strip():
                self._note("with one text that is positive and negative", place, chosen[:60])
            return
        if not chosen.strip() or not rejected.strip():
            self._note("with an answer that is empty", place, "chosen" if not chosen.strip() else "rejected")
            return
        if chosen == rejected:
            self._note("with one and the same answer chosen and rejected", place, chosen[:60])
            return
        prompt = _plain(row.get(self.prompt)) if self.prompt is not None else ""
        self.seen.setdefault(hash((prompt, chosen, rejected)), place)
        if hash((prompt, rejected, chosen)) in self.seen:
            self._note("with a pair that stands there the other way round too", place, chosen[:60])

    def found(self) -> Chats | None:
        """Return what was found; what most conversations share is their form, and not wrong."""
        if not self.looked:
            return None
        wrong, first = dict(self.wrong), dict(self.first)

        def note(why: str, count: int, place: Place, example: str) -> None:
            wrong[why] = wrong.get(why, 0) + count
            first.setdefault(why, (place, example))

        turns = self.roles.total()
        strange = {r: n for r, n in self.roles.items() if r.lower() not in _KNOWN}
        if strange and turns and sum(strange.values()) <= (1 - _MOSTLY) * turns:
            for role, count in strange.items():
                note("of a role that no other has", count, self.role_at[role], json.dumps(role))
        if len(self.keys) > 1 and self.looked >= _ENOUGH:
            most, count = self.keys.most_common(1)[0]
            for keys, few in self.keys.items():
                if keys != most and count >= _MOSTLY * self.looked:
                    other = f"{'/'.join(keys)} instead of {'/'.join(most)}"
                    note("with other keys than most", few, self.key_at[keys], other)
        if self.several_at is not None and _MANY <= self.several <= (1 - _MOSTLY) * self.looked:
            why = "with two questions and no answer between them"
            note(why, self.several, self.several_at, "the answer is lost")
        if self.echo_at is not None and self.echoes >= max(_MANY, 0.02 * self.looked):
            note("with an answer that is its question again", self.echoes, self.echo_at, self.answer or "")
        if self.begun_at is not None and self.begun >= max(_MANY, _BEGUN * self.looked):
            why = "with an answer that begins with its question, which is learnt too then"
            note(why, self.begun, self.begun_at, self.answer or "")
        if self.baked_at is not None and self.baked >= max(_MANY, _BAKED * self.looked):
            place, mark = self.baked_at
            note("with marks of a template in their words, which it adds once more", self.baked, place, mark)
        for place, length, count in self._cut():
            note("with an answer that breaks off where the longest do", count, place, f"{length} characters")
        if self.looked >= _ENOUGH:
            if self.end["assistant"] >= 0.5 * self.looked and self.end["user"] and self.pairs is None:
                note("that end with a question", self.end["user"], self.end_at["user"], "no answer to learn")
            if self.begin["user"] >= 0.5 * self.looked and self.begin["assistant"] >= 0.01 * self.looked:
                at = self.begin_at["assistant"]
                note(
                    "that begin with an answer",
                    self.begin["assistant"],
                    at,
                    "roles exchanged, or a turn lost",
                )
        return Chats(self.looked, wrong, first)

    def _cut(self) -> list[tuple[Place, int, int]]:
        """Where answers were cut off: many are as long as the longest, and these do not end as the others."""
        top = max((n for n, _ in self.lengths), default=0)
        there = {n: c for n, c in self.lengths.items() if n[0] >= top - 1}
        broken = sum(c for (_, ended), c in there.items() if not ended)
        rest = self.lengths.total() - sum(there.values())
        ended = sum(c for (n, good), c in self.lengths.items() if good and n < top - 1)
        if broken < max(_LEAST_CUT, _CUT * self.lengths.total()) or broken < _MOSTLY * sum(there.values()):
            return []
        # Texts of one length are made so; of texts that end in all lengths only those at the limit do not.
        if ended < 0.6 * rest or len({n for n, _ in self.lengths}) < _ENOUGH // 2:
            return []
        return [(self.longest[top], top, broken)]


def _silent(turn: Mapping[str, Any]) -> bool:
    """Whether a turn says nothing, and does nothing else (a call of a tool, a picture)."""
    if not _SAYS & turn.keys():
        return False
    if "weight" in turn and not turn["weight"]:
        return False
    rest = [v for k, v in turn.items() if k not in ("role", "from", "name", "weight", "id", "loss", "train")]
    return not any(_words(v) for v in rest)


def _words(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, Mapping):
        return bool(value)
    if isinstance(value, list):
        return any(_words(v) for v in value)
    return value is not None


def _plain(value: Any) -> str | None:
    """An answer as text: itself, or the turns of a list."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(v, dict) for v in value):
        said = [str(v.get("content") or v.get("value") or "") for v in value]
        return "\n".join(said) if said and said[-1].strip() else ""
    return None
