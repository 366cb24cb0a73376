"""How much there is to train on and how long, as logs say it in passing: samples, classes, epochs.

"train 5212, val 1179, test 1109 bottles"        "Train on 60000 samples, validate on 10000 samples"
"classes: {'negative': 1150, 'positive': 1999}"   "Epoch 3/10"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....engine.model import Scalar

_N = r"(\d{1,3}(?:,\d{3})+|\d{1,12})"
_TRAIN = r"(?:train(?:ing)?|trn)"
_HELD = r"(?:val(?:id(?:at(?:e|ing|ion))?)?|eval(?:uation)?|dev(?:elopment)?|test(?:ing)?|held[- ]out)"
_SET = r"(?:[ _-]?(?:set|data(?:set)?|split|subset))?(?:[ _-]?(?:size|length|len))?"
# What is counted and is no sample.
_OTHER = re.compile(
    r"\b(?:batch(?:es)?|steps?|iter(?:ation)?s?|epochs?|updates?|tokens?|words|shards?|files?|folders?|minutes?"
    r"|seconds?|hours?|classes|class|layers?|gpus?|workers?|rows? per|bytes?|[kmgt]i?b|features?|loss"
    r"|acc\w*|lr|rate|score|error|every|interval|tasks?|times?)\b|%",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:samples|examples|images|sentences|utterances|instances|records|windows|sequences|clips|rows|items)"
)
_AFTER = re.compile(
    rf"(?<![\w.,/]){_N}\s+(?:{_TRAIN}|({_HELD}))\b", re.IGNORECASE
)  # "96 train / 36 val images"
_BEFORE = re.compile(  # "train: 1000 | valid: 200", "Training set size = 50000"
    rf"\b(?:{_TRAIN}|({_HELD})){_SET}(?:\s+{_NOUN})?\s*(?:[:=]|is|on|has|contains)?\s*{_N}(?![\w./]|,\d|\s*/)",
    re.IGNORECASE,
)
_NAMED = re.compile(  # one count alone needs a noun: "training samples: 5000", "5000 training images"
    rf"\b{_TRAIN}[ _-]{_NOUN}\s*(?:[:=]|is|are)?\s*{_N}(?![\w./]|,\d)"
    rf"|(?<![\w.,/]){_N}\s+{_TRAIN}[ _-]{_NOUN}\b",
    re.IGNORECASE,
)
_CLASSES = re.compile(
    r"(?:各?类别?(?:样本)?(?:数量?|分布|计数)|\b(?:class(?:es)?|labels?|categor(?:y|ies)))"
    r"(?:[ _-](?:counts?|distribution|balance|histogram|frequenc\w+|sizes?))?"
    r"(?: in (?:the )?train\w*(?: set| data)?)?\s*[:=]?\s*"
    r"(?:Counter\()?(\{[^{}]{5,2000}\})",
    re.IGNORECASE,
)
_IN_TURN = re.compile(
    r"\b(?:class|label|category)[ _-](?:counts?|distribution|histogram|frequenc\w+)\s*[:=]?\s*"
    r"(?:tensor\(|array\()?\[((?:\s*\d{1,9}\s*,){1,999}\s*\d{1,9}\s*)\]",
    re.IGNORECASE,
)
# "train: ok 48210, scratch 412, dent 127": names that count nothing else, a number behind each
_LISTED = re.compile(
    rf"\b{_TRAIN}{_SET}\s{{0,3}}[:=]\s{{0,3}}"
    rf"((?:[A-Za-z][\w-]{{0,40}}[ :=]{{1,3}}\d{{1,9}}(?![\w./%]),\s{{0,3}}){{1,200}}"
    r"[A-Za-z][\w-]{0,40}[ :=]{1,3}\d{1,9}(?![\w./%]))",
    re.IGNORECASE,
)
# LightGBM's "Number of positive: 121, number of negative: 14879", and scripts that count the same way
_SIDES = re.compile(
    r"\b(?:number of |num[_ ]|n[_ ]|# ?)?pos(?:itives?|itive (?:samples|examples))?\s{0,3}[:=]\s{0,3}"
    r"(\d[\d,]*)(?![\d.%])[,;|]?\s{1,4}(?:number of |num[_ ]|n[_ ]|# ?)?"
    r"neg(?:atives?|ative (?:samples|examples))?\s{0,3}[:=]"
    r"\s{0,3}(\d[\d,]*)(?![\d.%])",
    re.IGNORECASE,
)
_OF_DATA = re.compile(
    rf"\b(?:data ?(?:set)?|class\w*|labels?|categor\w*|per|distribution|{_NOUN})\b", re.IGNORECASE
)
_COUNTED = re.compile(
    rf"(?:{_NOUN}|{_TRAIN}|{_HELD}|total|num\w*|size|n|seed|max\w*|min\w*|len\w*)$", re.IGNORECASE
)
_LOADED = re.compile(
    r"\b(?:re)?(?:load(?:ed|ing)?|stor(?:ed|ing))\b.{0,40}?\b(?:checkpoint|ckpt|weights?|model|param\w*)\b"
    r"[^/\w]{0,4}(?:file |path )?(?:from|:|=)?[^/\w.]{0,4}"
    r"([\w.\-/]*\d[\w.\-]*\.(?:ckpt|pth?|safetensors|bin))\b",
    re.IGNORECASE,
)
_EPOCHS = re.compile(
    r"(?<![\w-])epochs?\s*[:#]?\s*\[?\s*(\d{1,5})\s*(?:/|of)\s*(\d{1,5})(?![\d.])", re.IGNORECASE
)
_DOCUMENTS = re.compile(r"(?i)\bnumber of documents\s*[:=]\s*(\d{2,12})\s*$")
# "len(tokenizer) = 128256", "tokenizer vocab size: 151665", "loaded tokenizer with 32000 tokens"
_TOKENS = re.compile(
    rf"(?i)\blen\(\w*tokenizer\)\s*[:=]*\s*{_N}(?![\w./])"
    rf"|\btokeni[sz]er(?:'s)?[ _.](?:vocab(?:ulary)?|size)(?:[ _]?size)?"
    rf"\s*(?:[:=]|is|of)\s*{_N}(?![\w./])"
    rf"|\btokeni[sz]er\b[^\d\n]{{0,40}}?\b(?:with|has|of)\s+{_N}\s+(?:tokens|entries|words|pieces)\b"
)
# "resize_token_embeddings: 32000 -> 32016", "Resizing token embeddings to 32016"
_RESIZED = re.compile(rf"(?i)\bresiz.{{0,60}}?embed.{{0,60}}?(?:->|\bto|=|:)\s*{_N}(?!\d|\s*(?:->|to\b))")
_LONG = 2500
LEAST = 5  # fewer are rather folds or stages than samples


def look(text: str, facts: dict[str, Scalar]) -> None:
    """Add what a line that holds no metrics says: `samples_train`, `samples_eval`."""
    if len(text) > 400 or not any(c.isdigit() for c in text) or _OTHER.search(text):
        return
    train, held = _after(text) or _before(text)
    if train is None and (alone := _NAMED.search(text)) is not None:
        train = _number(alone.group(1) or alone.group(2))
    if train is not None and train >= LEAST:
        facts["samples_train"] = max(train, _known(facts, "samples_train"))
        if held:
            facts["samples_eval"] = max(held, _known(facts, "samples_eval"))


def epochs(text: str, facts: dict[str, Scalar]) -> None:
    """Add the number of epochs that are planned, `epochs_planned`: "Epoch 3/10"."""
    found = _EPOCHS.search(text[:300])
    if found is not None and int(found.group(1)) <= int(found.group(2)) and int(found.group(2)) > 0:
        facts.setdefault("epochs_planned", int(found.group(2)))


def classes(text: str) -> Iterator[tuple[str, int]]:
    """Yield (class, samples) of a line that counts the samples of each class."""
    if len(text) >= _LONG:
        return
    if (listed := _LISTED.search(text)) is not None and _OF_DATA.search(text[: listed.start(1)]):
        yield from _listed(listed.group(1))
        return
    if (sides := _SIDES.search(text)) is not None and not re.search(rf"\b{_HELD}\b", text, re.IGNORECASE):
        yield "positive", int(sides.group(1).replace(",", ""))
        yield "negative", int(sides.group(2).replace(",", ""))
        return
    if (counted := _IN_TURN.search(text)) is not None and not re.search(rf"\b{_HELD}\b", text, re.IGNORECASE):
        yield from ((f"class_{n}", int(v)) for n, v in enumerate(counted.group(1).split(",")))
        return
    found = _CLASSES.search(text)
    if found is None or re.search(rf"\b{_HELD}\b", text[: found.end(1)], re.IGNORECASE):
        return
    try:
        loaded = ast.literal_eval(found.group(1))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return
    if not isinstance(loaded, dict) or len(loaded) < 2:
        return
    values = list(loaded.values())
    if all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in values):
        if sorted(values) != list(range(min(values), min(values) + len(values))):  # else: numbers of classes
            yield from ((str(key), value) for key, value in loaded.items())


def checkpoint(text: str) -> str | None:
    """The file of weights that a line says was loaded: "load checkpoint from ./ckpt/net-3_390.ckpt"."""
    found = _LOADED.search(text) if len(text) < 600 else None
    return found.group(1) if found is not None else None


def tokens(text: str) -> int | None:
    """How many tokens the tokenizer has, as a line says it."""
    found = _TOKENS.search(text) if "okeni" in text and len(text) < _LONG else None
    return None if found is None else _number(found[1] or found[2] or found[3])


def resized(text: str) -> int | None:
    """How many rows the embedding is given once the model is built."""
    found = _RESIZED.search(text) if "mbed" in text and len(text) < 600 else None
    return None if found is None else _number(found[1])


def documents(text: str) -> str | None:
    """How many documents an indexed data set holds, as Megatron prints it: its size tells which it is."""
    found = _DOCUMENTS.search(text) if len(text) < 200 else None
    return f"{found.group(1)} documents" if found is not None else None


def _listed(text: str) -> Iterator[tuple[str, int]]:
    """The classes of a bare list; nothing where one of its names is that of something else."""
    pairs = re.findall(r"([A-Za-z][\w-]*)[ :=]{1,3}(\d+)", text)
    names = {name for name, _ in pairs}
    if len(names) == len(pairs) and not any(_OTHER.search(n) or _COUNTED.match(n) for n in names):
        yield from ((name, int(number)) for name, number in pairs)


def _after(text: str) -> tuple[int | None, int | None] | None:
    """Numbers that stand before what they count; both sides must be there."""
    return _sides((m.group(1), m.group(2)) for m in _AFTER.finditer(text))


def _before(text: str) -> tuple[int | None, int | None]:
    """Numbers that stand behind what they count; both sides must be there."""
    return _sides((m.group(2), m.group(1)) for m in _BEFORE.finditer(text)) or (None, None)


def _sides(found: Iterator[tuple[str, str | None]]) -> tuple[int | None, int | None] | None:
    train = held = None
    for number, side in found:
        if side is None:
            train = _number(number) if train is None else train
        elif held is None:
            held = _number(number)
    return None if train is None or held is None else (train, held)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _known(facts: dict[str, Scalar], name: str) -> int:
    value = facts.get(name)
    return value if isinstance(value, int) else 0
