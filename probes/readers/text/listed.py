"""Several settings in one line of words: `lr=0.1, batch size 32, optimizer: Adam`, as scripts greet with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...settings import canonical_key, table
from . import arguments

MAX_LINE = 400
_NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_OPTIMIZERS = r"(?:Adam\w*|SGD|RMSprop|Adagrad|Lion|LAMB|NAdam|RAdam)"
_NAME = r"(?<![\w.])[\"']?(?P<name>[A-Za-z][\w\-]*(?: [A-Za-z][\w\-]*){0,2})[\"']?"
# After a sign any word is a value, after a blank a number or an optimizer.
_PAIR = re.compile(
    rf"{_NAME}(?:\s*(?:=>|->|[=:])\s*[\"']?(?P<told>{_NUMBER}(?![\w%])|[A-Za-z_][\w./\-]*)"
    rf"|\s+(?P<bare>{_NUMBER}|{_OPTIMIZERS})(?![\w%]|\.\d))"
)
# What is measured, counted, looked up or explained; a line of source text.
_OTHER = re.compile(
    r"\b(?:acc(?:uracy)?|step|iter(?:ation)?|it|f1|auc|bleu|ppl|perplexity|eta|epoch|ep|best|improve(?:d|ment)"
    r"|resum\w*|restor\w*|defaults?|usage|search|sweep|trials?|warning|error|reduc\w*|chang\w*|decay(?:ed|ing)"
    r"|from|expected|instead|recommended|benchmark|baseline|previous\w*|paper)\b"
    r"|(?:val|valid|train|test|eval)[_ /]?loss\b|\bloss\s*[:=]?\s*[\d.]|\b(?:inf|nan)\b"
    r"|\b(?:self|torch|np|args|cfg|nn|tf|ms|keras)\.|\bdef |\breturn\b|\w ?== ?\w|[(\[]\s*$|\w,\s*$"
    r"|^\s*\([\w.]+\): |\b\w*(?:norm|conv|linear|pool|attention|layer)\w*(?:\(| [\w/]+:)",  # print(model)
    re.IGNORECASE,
)
_RUNNING = re.compile(r"\b(?:time|elapsed)[:=] ?\d[\d.]*s\b")  # "time:10s total_steps:100 epochs:0.25" counts
_LEAD = re.compile(
    r"\b(?:config\w*|settings?|options?|arg\w*|hyper-?param\w*|param\w*|using|optimi[sz]er)\b", re.IGNORECASE
)


def listed(line: str) -> list[tuple[str, arguments.Value]]:
    """The settings that a line lists, raw name and value: two at least, or one that a word announces.

    Only what is set for training and may change its result. A name that comes twice with two values (groups
    of parameters) is left out.
    """
    if len(line) > MAX_LINE or "--" in line or _OTHER.search(line) or _RUNNING.search(line):
        return []
    found: dict[str, tuple[str, arguments.Value]] = {}
    twice = set()
    for key, name, value in _pairs(line):
        if found.setdefault(key, (name, value))[1] != value:
            twice.add(key)
    kept = [pair for key, pair in found.items() if key not in twice]
    numbers = sum(not isinstance(value, str) for _, value in kept)
    return kept if len(found) > 1 or (numbers and _LEAD.search(line)) else []


def _pairs(line: str) -> Iterator[tuple[str, str, arguments.Value]]:
    """Canonical name, raw name and value of each pair whose name is that of a setting of training."""
    at, specs = 0, table().specs
    while (match := _PAIR.search(line, at)) is not None:
        at = match.start("told") if match.group("told") else match.end()  # "config: lr 0.1": a name again
        words, text = match.group("name").split(), match.group("told") or match.group("bare")
        value = arguments.scalar(text.rstrip("."))
        for first in range(len(words)):
            name = "_".join(words[first:])
            key = canonical_key(name)
            if key is None or key[2] or not specs[key[0]].hyper:
                continue
            if (specs[key[0]].kind == "number") != isinstance(value, str):
                at = match.end()
                yield key[0], name, value
                break
