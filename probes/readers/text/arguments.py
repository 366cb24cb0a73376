"""Settings that a log holds: argument dumps, banners, command lines."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator

from ....engine.model import Scalar
from ...run import Setting
from ...settings import canonical_key
from .._secrets import redact, secret_key
from .._values import is_clock

Value = Scalar | tuple[Scalar, ...]
MAX_SETTINGS = 3000
DUMP, BANNER, COMMAND = 90, 80, 70
_LONG = 8192
_DOTTED = re.compile(
    r"^\s*(?:\[?(?:rank)?\d*\]?:?\s*)?([A-Za-z_][\w.\-/]{0,70}?) \.{3,}\s?(\S.*?)\s*(?:updated)?$"
)
_BANNER = re.compile(
    r"^[\s*|>+-]*(?:Overriding: )?[\"']?([A-Za-z_][\w.\-]{0,40}(?: [A-Za-z]\w{0,20}){0,3})[\"']?"
    r"\s*(?:\([^()]{1,60}\))?\s*(?::|=|=>|->)\s*(\S.{0,119}?)[\s,|]*$"
)
_COMMAND = re.compile(
    r"(?:^|[\s\[;&+'\"=:])((?:[\w./~-]*/)?(?:python[\d.]*|torchrun|deepspeed|accelerate|horovodrun|mpirun|srun|bash|sh|nohup|msrun"
    r"|composer|llamafactory-cli|swift|axolotl|fairseq-train|fairseq-hydra-train|tune|yolo)\s(?:.{0,4000}?\s)?(?:--?[A-Za-z]|[\w.]+=).*)$"
)
# a program of another kind, by its first word and several options with values behind it
_PROGRAM = re.compile(r"^((?:[\w./~-]*/)?[A-Za-z][\w.-]*(?: +--?[A-Za-z][\w.-]+[= ]+(?!-)\S+){4,}.*)$")
_MANY = 8  # pairs in a line that is a list of settings
_SPACED_MANY = 4  # of those that nothing but blanks parts
_SPACED = re.compile(r"[A-Za-z_][\w.]*=(?:[^\s=()]+|\w+\([^\s()]*\))")
_LISTED = re.compile(r"([A-Za-z_][\w.]*)=(\[[^\]=]*\]|(?!\[)[^,=]*)(?:, |$)")
_LISTING = re.compile(rf"(?:[\w./\[\] ]{{1,40}}: )?(?:{_LISTED.pattern})+\s*")
_INTERPRETER = frozenset({"u", "m", "c", "X", "W", "O", "B", "E"})
_REPR = re.compile(r"\b(Namespace|\w*(?:Config|Args|Arguments|Options|Params|Settings))\((?=\w+=)")
_REPR_START = re.compile(
    r"\b(?:Namespace|\w*(?:Config|Args|Arguments|Options|Params|Settings))\((?=\w+=|\s*$)"
)
_DICT_START = re.compile(r"(?:^|[\s:=])(\{)(?:\s*$|['\"]\w[\w.\- ]{0,60}['\"]\s*:)")
_OBJECT = re.compile(r"<[^<>]{0,200}>")
_TRAINING = {
    "num examples": "num_train_examples",
    "num epochs": "num_train_epochs",
    "instantaneous batch size per device": "per_device_train_batch_size",
    "total train batch size (w. parallel, distributed & accumulation)": "total_train_batch_size",
    "total train batch size": "total_train_batch_size",
    "gradient accumulation steps": "gradient_accumulation_steps",
    "total optimization steps": "max_steps",
}


_TABLE_ROW = re.compile(
    r"^\s*[|│]\s*([A-Za-z_][\w./\- ]{0,60}?)\s*[|│]\s*([^|│]{1,80}?)\s*[|│]\s*$"
)  # | lr | 0.01 |


def dotted(line: str) -> tuple[str, str] | None:
    """`  adam_beta1 ...................... 0.9` of Megatron's argument dump."""
    match = _DOTTED.match(line) if "..." in line and len(line) < _LONG else None
    return (match.group(1).strip(), match.group(2)) if match else None


_OF_MARIAN = re.compile(r"^\[config\] ([a-z][\w-]{1,60}): (\S.{0,200})$")


def of_marian(message: str) -> tuple[str, str] | None:
    """`[config] lr-warmup: 16000` of Marian's dump of its options; its lists stand on lines of their own."""
    match = _OF_MARIAN.match(message)
    return (match.group(1), match.group(2)) if match else None


def banner(line: str) -> tuple[str, str] | None:
    """`learning_rate: 0.001` on a line of its own, if the name is a setting's."""
    match = _BANNER.match(line) or _TABLE_ROW.match(line)
    if match is None:
        return None
    key = match.group(1).strip()
    known = _TRAINING.get(key.lower())
    if known:
        return known, match.group(2)
    words = key.split()
    if not words or len(words) > 4 or len(match.group(2).split()) > 6:
        return None
    value = match.group(2)
    if re.search(r"[({]\s*$|\w\(|\)$|;$|[{}]", value):
        return None  # a line of source text
    key = key.replace(" ", "_")
    canonical = canonical_key(key)
    if canonical and canonical[0].endswith("_samples") and _THOUSANDS.fullmatch(value.strip()):
        value = value.replace(",", "")  # "12,800,000" samples are no list
    return (key, value) if canonical else None


_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+")


def listing(line: str) -> list[tuple[str, Value]]:
    """`engine/trainer: task=detect, epochs=3, time=None, lr0=0.01, amp=True, ...`: all settings in one line.

    Many pairs and nothing else, words among their values and no loss: a row of a curve has numbers.
    """
    if len(line) >= _LONG or line.count("=") < _SPACED_MANY:
        return []
    if spaced := _spaced(line):
        return spaced
    if line.count("=") < _MANY or not _LISTING.fullmatch(line):
        return []
    found = [(k, scalar(v)) for k, v in _LISTED.findall(line)]
    words = sum(v is None or isinstance(v, (bool, str)) for _, v in found)
    return found if words >= 3 and not any(re.search(r"(?i)loss|acc|ppl", k) for k, _ in found) else []


def _spaced(line: str) -> list[tuple[str, Value]]:
    """`device=npu:0 amp=O1 seed=3407 lr=0.01 epochs=30 optimizer=sgd`: pairs with blanks between them alone.

    Two names of settings at least, a word among the values, and no name of what a curve holds.
    """
    words = line.split()
    if not all(_SPACED.fullmatch(w) for w in words):
        return []
    found = [(k, scalar(v)) for k, _, v in (w.partition("=") for w in words)]
    if any(
        re.search(r"(?i)loss|acc|ppl|step|iter|grad|norm|time|(?:^|_)ep(?:och)?$|round|idx", k)
        for k, _ in found
    ):
        return []
    named = sum(canonical_key(k) is not None for k, _ in found)
    return found if named >= 2 and any(isinstance(v, (bool, str)) for _, v in found) else []


def scalar(text: str) -> Value:
    """Read a printed value: numbers, True/False/None, quoted and plain words, short lists."""
    text = text.strip().rstrip(",")
    try:
        loaded = ast.literal_eval(text) if len(text) < 2000 else text
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return _word(text)
    return _plain(loaded, text)


def _plain(loaded: object, text: str) -> Value:
    if loaded is None or isinstance(loaded, (bool, int, float, str)):
        return loaded
    if isinstance(loaded, (list, tuple)) and len(loaded) <= 64:
        return tuple(
            v if v is None or isinstance(v, (bool, int, float, str)) else str(v)[:80] for v in loaded
        )
    return text[:200]


def _word(text: str) -> Value:
    low = text.lower()
    if low in ("true", "false"):
        return low == "true"
    if low in ("none", "null"):
        return None
    try:
        return float(text)
    except ValueError:
        return text[:200]


def commands(line: str) -> Iterator[tuple[str, Value]]:
    """The options of a printed command line: `python train.py --lr 0.1 --fp16 model.depth=4`."""
    match = _COMMAND.search(line) or _PROGRAM.match(line) if len(line) < _LONG else None
    if match is None:
        return
    try:
        words = shlex.split(match.group(1), comments=False)
    except ValueError:
        words = match.group(1).split()
    script = next((i for i, w in enumerate(words) if w.endswith((".py", ".sh"))), 0)
    at = script + 1
    while at < len(words):
        word = words[at].strip(",'\"[]")
        at += 1
        if word.startswith("--") or (word.startswith("-") and word[1:2].isalpha()):
            key, sign, value = word.lstrip("-").partition("=")
            if key in _INTERPRETER and not word.startswith("--"):
                continue
            if sign:
                yield key, scalar(value)
                continue
            values = []
            while at < len(words) and not re.match(r"-{1,2}[A-Za-z]", words[at]):
                values.append(words[at].strip(",'\"[]"))
                at += 1
            yield (
                key,
                True
                if not values
                else scalar(values[0])
                if len(values) == 1
                else tuple(map(str, values[:16])),
            )
        elif re.match(r"^[A-Za-z_][\w.@/+-]*=", word):
            key, _, value = word.partition("=")
            yield key.lstrip("+~"), scalar(value)


# `num_samples(train)=50000` names a part, which stands for the set itself only where it is that of training
_ASSIGNED = re.compile(r"([A-Za-z_][\w.\-]{1,60})(?:[(\[](train(?:ing)?)[)\]])?=([^\s=,;]{1,200})[,;]?")
_OF_JSON: dict[str, Value] = {"true": True, "false": False, "null": None}


def dumps(line: str) -> Iterator[tuple[str, Value]]:
    """The settings of a printed `Namespace(...)`, `SomeConfig(...)` or dict, with dotted keys."""
    match = _REPR.search(line)
    if match is not None:
        text = _balanced(line, match.start())
    else:
        at = line.find("{'")
        at = at if at >= 0 else line.find('{"')
        if at < 0 or line.count(": ", at) + line.count(":", at) < 5:
            return
        text = _balanced(line, at)
    if not text or len(text) > 60_000:
        return
    try:
        tree = ast.parse(_OBJECT.sub("'object'", text), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    found = list(walk(tree.body, "", 0))
    if not (any(is_clock(k) for k, _ in found) and all(_is_figure(v) for _, v in found)):
        yield from found


def _is_figure(value: Value) -> bool:
    """A number, also as a text: Trainer's last line, `{'train_runtime': '12.5', 'train_loss': '0.3'}`."""
    return isinstance(scalar(value) if isinstance(value, str) else value, (int, float))


def assigned(line: str) -> Iterator[tuple[str, Value]]:
    """The settings of a line that is nothing but `name=value name=value ...`, two at least."""
    found = [_ASSIGNED.fullmatch(word) for word in line.split()] if line.count("=") > 1 else []
    if all(found):
        yield from ((m.group(1), scalar(m.group(3))) for m in found if m is not None)


def opens(text: str) -> bool:
    """Whether a printed `Config(` or dict begins in this line and goes on in the next."""
    match = _REPR_START.search(text)
    at = match.end() - 1 if match is not None else -1
    if at < 0:
        brace = _DICT_START.search(text)
        at = brace.start(1) if brace is not None else -1
    return at >= 0 and len(text) < _LONG and not _balanced(text, at)


def expression(text: str) -> Iterator[tuple[str, Value, int]]:
    """The settings of a dict or `Config(...)` printed over several lines: dotted key, value, line from 1."""
    try:
        tree = ast.parse(_OBJECT.sub("'object'", text.strip()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from located(tree.body, "")


def _balanced(line: str, start: int) -> str:
    depth = 0
    quote = ""
    for at in range(start, min(len(line), start + 60_000)):
        char = line[at]
        if quote:
            quote = "" if char == quote and line[at - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return line[start : at + 1]
    return ""


def walk(node: ast.expr, path: str, depth: int) -> Iterator[tuple[str, Value]]:
    """Flatten an expression of literals, dicts and calls with keywords to dotted keys and values."""
    for key, value, _ in located(node, path, depth):
        yield key, value


def located(node: ast.expr, path: str, depth: int = 0) -> Iterator[tuple[str, Value, int]]:
    """As `walk`, with the line (from 1) of each value. Lists of dicts are numbered."""
    if depth > 8:
        return
    prefix = f"{path}." if path else ""
    if isinstance(node, ast.Call) and (node.keywords or last_part(node.func) == "dict"):
        for keyword in node.keywords:
            if keyword.arg:
                yield from located(keyword.value, prefix + keyword.arg, depth + 1)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, (str, int)):
                yield from located(value, f"{prefix}{key.value}", depth + 1)
    elif isinstance(node, (ast.List, ast.Tuple)) and any(
        isinstance(e, (ast.Dict, ast.Call)) for e in node.elts
    ):
        for at, element in enumerate(node.elts[:64]):
            yield from located(element, f"{prefix}{at}", depth + 1)
    elif path and isinstance(node, ast.Name) and node.id in _OF_JSON:
        yield path, _OF_JSON[node.id], node.lineno
    elif path:
        try:
            loaded = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return
        if not isinstance(loaded, (dict, set, bytes)):
            yield path, _plain(loaded, str(loaded)), node.lineno


def last_part(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def setting(key: str, value: Value, file: str, line: int | None, trust: int) -> Setting:
    """Make a setting; secrets are replaced."""
    if secret_key(key):
        value = "***"
    elif isinstance(value, str):
        value = redact(key, value)
    return Setting(key.lstrip("-"), value, file, line, trust)
