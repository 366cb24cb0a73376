"""Messages of protocol buffers in text form: `train_config { batch_size: 8 optimizer { ... } }`.

TensorFlow's Object Detection API keeps its pipeline so, and its map of labels; Caffe its solver and its net.
"""

from __future__ import annotations

import re
from collections import Counter

from ...engine.model import Scalar
from ._config_tree import MAX_DEPTH, MAX_LEAVES, Leaf, plain

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*|\n|[{}<>\[\],;:]|[^\s{}<>\[\],;:"\'#]+'
)
_BLOCK = re.compile(r"^[ \t]*[a-z_]\w*[ \t]*:?[ \t]*\{[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"^[ \t]*[a-z_]\w*[ \t]*:[ \t]*\S", re.MULTILINE)
_OPTIMIZER = re.compile(r"^(\w+)_optimizer$")
_SCHEDULE = re.compile(r"^(\w+?)(?:_decay)?_learning_rate$")


def looks_so(text: str) -> bool:
    """Whether a text is made of named blocks with fields in them."""
    head = text[:20_000]
    return (
        bool(_BLOCK.search(head))
        and bool(_FIELD.search(head))
        and not re.search(r"^[ \t]*\}[;,]", head, re.M)
    )


def leaves(text: str) -> list[Leaf]:
    """The fields with their dotted paths; of blocks that come again each has a number."""
    found: list[Leaf] = []
    path: list[str] = []
    seen: list[Counter[str]] = [Counter()]
    name, line, value_next = "", 1, False
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word == "\n":
            line += 1
        elif word.startswith("#") or word in ",;[]":
            continue
        elif word == ":":
            value_next = True
        elif word in "{<":
            at = seen[-1][name]
            seen[-1][name] += 1
            path.append(f"{name}.{at}" if at else name)
            seen.append(Counter())
            found += _meant_by(name, ".".join(path), line)
            name, value_next = "", False
        elif word in "}>":
            if path:
                path.pop()
                seen.pop()
            name, value_next = "", False
        elif value_next:
            found.append((".".join([*path, name]), _value(word), line))
            value_next = False
        else:
            name = word
        if len(found) >= MAX_LEAVES or len(path) > MAX_DEPTH:
            break
    return found


def _meant_by(name: str, path: str, line: int) -> list[Leaf]:
    """What a block says by being there: `momentum_optimizer {`, `cosine_decay_learning_rate {`."""
    if (found := _OPTIMIZER.match(name)) is not None:
        return [(f"{path}.optimizer", found[1], line)]
    if (found := _SCHEDULE.match(name)) is not None:
        return [(f"{path}.lr_scheduler", found[1], line)]
    return []


def _value(word: str) -> Scalar:
    if word[0] in "\"'":
        return word[1:-1]
    value, _ = plain(word)
    if isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?", value):
        return float(value)
    return value
