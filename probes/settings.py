"""Canonical settings: "--lr", "optimizer.params.lr" and "SOLVER.BASE_LR" are all `learning_rate`.

The names stand in rules/porting/settings.yaml. `resolve` gives the values in force: of several sources the
one with the highest trust wins, values are brought to one form ("1e-5" is a number, "adamw_torch" is adamw),
and settings that follow from others are added (precision from fp16/bf16/amp flags, the global batch, ...).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ..engine.model import Scalar
from .run import Configured, Event, Setting

Value = Scalar | tuple[Scalar, ...]
_NONE_WORDS = frozenset({"none", "null", "nil", "~", ""})
_TRUE = frozenset({"true", "yes", "on", "1", "t", "y", "enable", "enabled"})
_FALSE = frozenset({"false", "no", "off", "0", "f", "n", "disable", "disabled", "none", "null"})
_SWITCH = re.compile(r"^(?:no|disable|without|not)_(.+)$")


class _Unusable(Exception):
    """The value does not fit the setting; it is as if it had not been written."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One canonical setting."""

    key: str
    kind: str
    hyper: bool
    family: bool
    none: bool
    harmless: bool


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The parsed names of settings."""

    specs: Mapping[str, Spec]
    words: Mapping[str, tuple[str, int]]  # raw name -> canonical name, position in its list
    elsewhere: frozenset[str]
    harmless: frozenset[str]
    hyperparameters: tuple[str, ...] = ()
    defaults: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the table of rules/porting/settings.yaml, read once."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "settings.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return make_table(loaded)


def make_table(loaded: Mapping[str, Any]) -> Table:
    """Make a table of the parsed YAML."""
    specs = {
        key: Spec(key, row["kind"], *(bool(row.get(f)) for f in ("hyper", "family", "none", "harmless")))
        for key, row in loaded["settings"].items()
    }
    words = {w: (key, at) for key, row in loaded["settings"].items() for at, w in enumerate(row["words"])}
    return Table(
        specs,
        words,
        frozenset(loaded["elsewhere"]),
        frozenset(loaded["harmless"]),
        tuple(loaded.get("hyperparameters", ())),
        loaded.get("defaults", {}),
    )


# ------------------------------------------------------------------------------------------------ names


def parts_of(raw: str) -> list[str]:
    """Split a raw key into its parts: "optimizer.params.weightDecay" -> optimizer, params, weight_decay."""
    found = [p for p in re.split(r"[./\[\]]+", raw.strip().lstrip("-")) if p]
    return [_snake(p) for p in found if not p.isdigit()]


def _snake(part: str) -> str:
    part = part.replace("-", "_").replace(" ", "_")
    if part.lower() != part and part.upper() != part:
        part = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", part)
    return part.lower()


@lru_cache(maxsize=4096)
def canonical_key(raw: str) -> tuple[str, int, bool] | None:
    """Return (canonical name, position in its list of words, negated) of a raw key, or None."""
    names = table()
    parts = parts_of(raw)
    for start in range(max(0, len(parts) - 4), len(parts)):
        suffix = ".".join(parts[start:])
        found = names.words.get(suffix)
        if found and not names.elsewhere.intersection(parts[:start]):
            return (*found, False)
    switch = _SWITCH.match(parts[-1]) if parts else None
    if switch and switch.group(1) in names.words and not names.elsewhere.intersection(parts[:-1]):
        key, at = names.words[switch.group(1)]
        if names.specs[key].kind in ("bool", "norm", "pretrained", "any"):
            return key, at, True
    return None


def is_harmless(raw: str) -> bool:
    """Say whether a key (paths, names, logging) cannot change the result of training."""
    names = table()
    found = canonical_key(raw)
    if found:
        return names.specs[found[0]].harmless
    parts = parts_of(raw)
    if not parts or names.elsewhere.intersection(parts) - {"val", "test", "eval"}:
        return True
    last = parts[-1]
    return last in names.harmless or bool(
        re.search(
            r"(?:^|_)(?:dir|path|file|folder|url|name|names|port|host|user|log|logs|wandb|interval|freq|"
            r"every|verbose|id|time|date|device|version|prefix|tag|tags)$",
            last,
        )
    )


def is_family(key: str) -> bool:
    """Say whether a canonical setting only feeds others (betas, fp16, ...)."""
    spec = table().specs.get(key)
    return spec is not None and spec.family


# ----------------------------------------------------------------------------------------------- values


def number(value: object) -> float | None:
    """Read a number as a person means it: 1e-5, "1e-5", "1_000", " 3 "; None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and re.fullmatch(
        r"\s*[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", value
    ):
        return float(value.replace("_", ""))
    return None


def _number(value: Value) -> Value:
    if isinstance(value, tuple):
        numbers = [n for n in map(number, value) if n is not None]
        if not numbers or len(numbers) != len(value):
            raise _Unusable
        return _integral(max(numbers))
    if value is False:
        return None
    found = number(value)
    if found is None:
        raise _Unusable
    return _integral(found)


def _integral(value: float) -> float | int:
    return int(value) if value == value and abs(value) < 2**53 and value == int(value) else value


def _bool(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value != 0
    text = str(value).strip().lower()
    if isinstance(value, str) and text in _TRUE:
        return True
    if isinstance(value, str) and text in _FALSE:
        return False
    raise _Unusable


def _text(value: Value) -> Value:
    if isinstance(value, (tuple, bool)) or value is None:
        raise _Unusable
    return str(value).strip()


def _word(value: Value) -> str:
    """A class or function name as one lower-case word: "torch.optim.AdamW" -> adamw."""
    if not isinstance(value, str):
        raise _Unusable
    text = re.split(r"[.:/]", value.strip().strip("'\"<>() "))[-1].lower()
    text = re.sub(r"\(.*$", "", text)
    if not text or text in ("auto", "default"):
        raise _Unusable
    return text


def _lower(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    return _word(value)


def _name(value: Value) -> Value:
    if isinstance(value, tuple):
        if not value or not all(isinstance(v, str) for v in value):
            raise _Unusable
        return ",".join(sorted(str(_name(v)) for v in value))
    if not isinstance(value, str):
        raise _Unusable
    text = value.strip().rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].lower()
    if not text or text in _NONE_WORDS:
        raise _Unusable
    return text


_OPTIMIZER_FORMS = (
    (r".*adamweightdecay.*", "adamweightdecay"),
    (r".*adam_?w.*", "adamw"),
    (r"(?:deepspeedcpu|cpu|fused|distributed|onebit|torch|apex)?_?adam(?:_.*|optimizer)?", "adam"),
    (r"(?:torch_)?(?:sgd|momentum|gd|sgd_?nesterov|nesterov|sgdm|mom)(?:_.*|optimizer)?", "sgd"),
    (r"(?:fused)?lamb.*", "lamb"),
    (r"rmsprop.*", "rmsprop"),
    (r"adafactor.*", "adafactor"),
    (r"lion.*", "lion"),
)


def _optimizer(value: Value) -> Value:
    text = _word(value).replace("-", "_")
    if text in _NONE_WORDS:
        raise _Unusable
    for pattern, name in _OPTIMIZER_FORMS:
        if re.fullmatch(pattern, text):
            return name
    return text


_SCHEDULER_FORMS = (
    ("restart", "cosine-restarts"),
    ("cyclic", "cyclic"),
    ("onecycle|one_cycle|1cycle", "onecycle"),
    ("cosine|^cos$|^cos_", "cosine"),
    ("plateau", "plateau"),
    ("multi_?step|piecewise", "multistep"),
    ("step", "step"),
    ("expon|^exp", "exponential"),
    ("poly", "polynomial"),
    ("inverse|inv_sqrt|rsqrt|noam", "inverse-sqrt"),
    ("wsd|trapez|stable", "wsd"),
    ("constant|fixed|^const|^none$|^identity", "constant"),
    ("linear|warmupdecay|warmup_decay", "linear"),
)


def _scheduler(value: Value) -> Value:
    if isinstance(value, bool):
        if value:
            raise _Unusable
        return None
    text = _word(value).replace("-", "_")
    for pattern, name in _SCHEDULER_FORMS:
        if re.search(pattern, text):
            return name
    return text


_PRECISIONS = (
    (
        r"(?:bf_?16|bfloat16)(?:[-_]mixed|[-_]true|[-_]pure|_full)?|16[-_]?bf|amp_bf_?16|pure_bf16|mixed_bfloat16",
        "bf16",
    ),
    (r"(?:fp_?16|float16|half|16)(?:[-_]mixed|[-_]true)?|amp_fp_?16|amp|mixed_float16|native_amp", "fp16"),
    (r"(?:fp_?32|float32|float|full|32|single|no|off|none|tf32)(?:[-_]true)?|o0", "fp32"),
    (r"(?:fp_?64|float64|double|64)(?:[-_]true)?", "fp64"),
    (r"(?:fp_?8|float8).*", "fp8"),
    (r"o[123]", "fp16"),
)


def _precision(value: Value) -> Value:
    if value is False:
        return "fp32"
    if isinstance(value, (bool, tuple)) or value is None:
        raise _Unusable
    text = re.sub(
        r"^(?:torch|jnp|mstype|ms|tf|np|mindspore|paddle|jax\.numpy)\.", "", str(value).strip().lower()
    )
    for pattern, name in _PRECISIONS:
        if re.fullmatch(pattern, text):
            return name
    raise _Unusable


def precision_word(text: str) -> str:
    """Return the number format that a log's word means ("16bit", "float16" -> "fp16"); "" for none."""
    try:
        return str(_precision(text.strip().lower().removesuffix("bit")))
    except _Unusable:
        return ""


def _scale(value: Value) -> Value:
    if isinstance(value, str) and value.strip().lower() in ("dynamic", "auto_dynamic"):
        return "dynamic"
    if value is False:
        return None
    found = _number(value)
    return "dynamic" if found == 0 else found


_ACTIVATIONS = {
    "swish": "silu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu_tanh": "gelu-tanh",
    "gelu_fast": "gelu-tanh",
    "leakyrelu": "leaky_relu",
}


def _activation(value: Value) -> Value:
    text = _word(value)
    return _ACTIVATIONS.get(text, text)


_NORMS = (
    ("sync", "syncbatchnorm"),
    ("batch|(?:^|_)bn$", "batchnorm"),
    ("rms", "rmsnorm"),
    ("layer|(?:^|_)ln$", "layernorm"),
    ("group|^gn", "groupnorm"),
    ("instance|^in$", "instancenorm"),
)


def _norm(value: Value) -> Value:
    if value is False:
        return "none"
    text = _word(value)
    for pattern, name in _NORMS:
        if re.search(pattern, text):
            return name
    return "none" if text in _FALSE | _NONE_WORDS else text


def _pretrained(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value != 0
    if not isinstance(value, str):
        raise _Unusable
    text = value.strip().lower()
    if (
        text in _FALSE
        or text in _NONE_WORDS
        or text in ("scratch", "random", "from_scratch", "random_init", "never")
    ):
        return False
    if text in _TRUE or text == "auto":
        return True
    return value.strip()


def _list(value: Value) -> Value:
    if isinstance(value, str):
        pieces = [p for p in re.split(r"[,\s]+", value.strip("()[] ")) if p]
        value = tuple(n if (n := number(p)) is not None else p for p in pieces)
    elif not isinstance(value, tuple):
        value = (value,)
    if not value:
        raise _Unusable
    return tuple(_integral(n) if (n := number(v)) is not None else v for v in value)


def _any(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(_integral(n) if (n := number(v)) is not None else v for v in value)
    found = number(value)
    if found is not None:
        return _integral(found)
    if isinstance(value, str):
        text = value.strip().lower()
        return True if text in ("true", "yes", "on") else False if text in ("false", "no", "off") else text
    return value


_FORMS: Mapping[str, Callable[[Value], Value]] = {
    "number": _number,
    "bool": _bool,
    "text": _text,
    "lower": _lower,
    "name": _name,
    "optimizer": _optimizer,
    "scheduler": _scheduler,
    "precision": _precision,
    "scale": _scale,
    "activation": _activation,
    "norm": _norm,
    "pretrained": _pretrained,
    "list": _list,
    "any": _any,
}


def _normal(spec: Spec, raw: str, value: Value, negated: bool) -> Value:
    """Bring a value to the form of its setting. Raises _Unusable."""
    if isinstance(value, str) and (value.strip().lower() == "auto" and spec.kind not in ("pretrained",)):
        raise _Unusable
    if isinstance(value, str) and ("${" in value or value.strip() in ("???", "***")):
        raise _Unusable
    if negated:
        flag = _bool(value)
        return not flag
    if value is None or (isinstance(value, str) and value.strip().lower() in _NONE_WORDS):
        if spec.none:
            return False if spec.kind == "pretrained" else "none" if spec.kind == "norm" else None
        raise _Unusable
    if spec.kind == "norm" and value is True:
        value = parts_of(raw)[-1]
    found = _FORMS[spec.kind](value)
    if found is None and not spec.none:
        raise _Unusable
    return found


# ---------------------------------------------------------------------------------------------- resolve


def candidates(settings: Iterable[Setting]) -> dict[str, list[Configured]]:
    """Return all that was said of each canonical setting, in force first."""
    settings = tuple(settings)
    inactive = _inactive(settings)
    deepspeed = {
        s.file for s in settings if s.key.startswith(("zero_optimization", "train_micro_batch_size_per_gpu"))
    }
    found: dict[str, list[tuple[tuple[float, ...], Configured]]] = defaultdict(list)
    for order, setting in enumerate(settings):
        match = canonical_key(setting.key)
        if match is None or (setting.file, setting.key) in inactive:
            continue
        key, at, negated = match
        if setting.key == "train_batch_size" and setting.file in deepspeed:
            key = "global_batch_size"  # DeepSpeed means the product of micro batch, accumulation and ranks
        key = _size_of_what(key, setting)
        try:
            value = _normal(table().specs[key], setting.key, _summed(key, setting.value), negated)
        except (_Unusable, OverflowError, ValueError):
            continue
        rank = (-setting.trust, setting.file.count("/"), len(parts_of(setting.key)), at, -order)
        configured = Configured(key, value, setting.key, setting.file, setting.line, setting.trust)
        found[key].append((rank, configured))
    return {key: [c for _, c in sorted(rows, key=lambda r: r[0])] for key, rows in found.items()}


def _summed(key: str, value: Value) -> Value:
    """Of a list of sample counts (`num_train: [1500, 710]`, one per class, site or file) the sum."""
    if key not in ("train_samples", "eval_samples") or not isinstance(value, tuple):
        return value
    counts = [number(v) for v in value]
    return sum(c for c in counts if c is not None) if None not in counts and counts else value


def _size_of_what(key: str, setting: Setting) -> str:
    """`train_size: 0.8` is a share of the data, `train_size: [640, 640]` an image; else it counts samples."""
    if key != "train_samples" or parts_of(setting.key)[-1] != "train_size":
        return key
    if isinstance(setting.value, tuple):
        return "image_size"
    found = number(setting.value)
    return "train_split" if found is not None and found <= 1 else key


def _inactive(settings: tuple[Setting, ...]) -> set[tuple[str, str]]:
    """Keys below a block that is switched off: `fp16: {enabled: false, loss_scale: 128}`."""
    off = {
        (s.file, s.key[: -len("enabled")])
        for s in settings
        if s.key.endswith(".enabled") and (s.value is False or str(s.value).lower() == "false")
    }
    if not off:
        return set()
    return {
        (s.file, s.key)
        for s in settings
        if not s.key.endswith(".enabled") and any(s.file == f and s.key.startswith(p) for f, p in off)
    }


def resolve(
    settings: Iterable[Setting], events: Iterable[Event] = (), facts: Mapping[str, Scalar] | None = None
) -> dict[str, Configured]:
    """Return the value in force of every canonical setting that was written, and of those that follow.

    `facts["world_size"]` (from the logs) stands in where no file says how many processes train.
    """
    settings = tuple(settings)
    found = {key: rows[0] for key, rows in candidates(settings).items()}
    _derive_yolo(found, settings)
    _derive_betas(found)
    _derive_dropout(found)
    _derive_clipping(found)
    _derive_counts(found, settings)
    _derive_told(found, facts or {})
    _derive_precision(found)
    _derive_scale(found)
    _derive_resume(found, events)
    _derive_world(found, facts or {})
    _derive_batch(found)
    return dict(sorted(found.items()))


def conflicts(settings: Iterable[Setting]) -> dict[str, tuple[Configured, Configured]]:
    """Return settings to which two equally direct sources give different values: (in force, other)."""
    found = {}
    for key, rows in candidates(settings).items():
        first = rows[0]
        for other in rows[1:]:
            if other.value != first.value and not same(first.value, other.value):
                found[key] = (first, other)
                break
    return found


def same(left: Value, right: Value) -> bool:
    """Compare two normalised values; numbers with a relative tolerance of 1e-6."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    a, b = number(left), number(right)
    if a is not None and b is not None:
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _as(source: Configured, key: str, value: Value) -> Configured:
    return replace(source, key=key, value=value)


def _derive_yolo(found: dict[str, Configured], settings: tuple[Setting, ...]) -> None:
    """Ultralytics: `optimizer: auto` ignores lr0 and momentum; cos_lr is its schedule."""
    for setting in settings:
        if (
            setting.key in ("cos_lr", "cos-lr")
            and isinstance(setting.value, bool)
            and "lr_scheduler" not in found
        ):
            word = "cosine" if setting.value else "linear"
            found["lr_scheduler"] = Configured(
                "lr_scheduler", word, setting.key, setting.file, setting.line, setting.trust
            )
    if any(s.key == "optimizer" and s.value == "auto" for s in settings):
        for key in ("learning_rate", "momentum"):
            if key in found and found[key].raw in ("lr0", "momentum"):
                del found[key]


def _derive_betas(found: dict[str, Configured]) -> None:
    betas = found.get("adam_betas")
    if betas is None or not isinstance(betas.value, tuple):
        return
    for at, key in enumerate(("adam_beta1", "adam_beta2")):
        if key not in found and len(betas.value) > at and number(betas.value[at]) is not None:
            found[key] = _as(betas, key, betas.value[at])


def _derive_dropout(found: dict[str, Configured]) -> None:
    keep = found.get("keep_prob")
    kept = number(keep.value) if keep and not isinstance(keep.value, tuple) else None
    if keep and kept is not None and "dropout" not in found and 0 <= kept <= 1:
        found["dropout"] = _as(keep, "dropout", round(1 - kept, 9))


def _derive_clipping(found: dict[str, Configured]) -> None:
    switch = found.get("use_clip_grad")
    if switch and switch.value is False:
        found["max_grad_norm"] = _as(switch, "max_grad_norm", None)


_COUNTS = re.compile(
    r"(?:train_)?(?:num_)?(?:class|label)_(?:counts?|distribution|histogram)"
    r"|(?:num_)?(?:samples|counts?)_per_(?:class|label)|per_class_counts?"
)


def class_counts(settings: Iterable[Setting]) -> tuple[tuple[float, ...], Setting] | None:
    """Return the recorded number of samples per class, and the setting where it stands first."""
    settings = tuple(settings)
    groups: dict[tuple[str, str], list[tuple[float, Setting]]] = defaultdict(list)
    for setting in settings:
        raw = setting.key.split(".")
        at = next((i for i, p in enumerate(raw) if _COUNTS.fullmatch(_snake(p))), None)
        if at is None or {"val", "eval", "test", "valid", "validation"} & {p.lower() for p in raw}:
            continue
        values = setting.value if isinstance(setting.value, tuple) else (setting.value,)
        numbers = [n for n in map(number, values) if n is not None and n >= 0]
        groups[(setting.file, ".".join(raw[: at + 1]))].extend((n, setting) for n in numbers)
    for rows in groups.values():
        if len(rows) >= 2:
            return tuple(n for n, _ in rows), rows[0][1]
    return _counts_in_turn(settings)


def _class_names(settings: Iterable[Setting]) -> Setting | None:
    """The list of the names of the classes, where one is set."""
    for setting in settings:
        if setting.key.rpartition(".")[2].lower() in ("class_names", "classes", "label_names", "categories"):
            value = setting.value
            if isinstance(value, tuple) and len(value) >= 2 and len(set(value)) == len(value):
                if all(isinstance(v, str) for v in value):
                    return setting
    return None


def _counts_in_turn(settings: tuple[Setting, ...]) -> tuple[tuple[float, ...], Setting] | None:
    """Counts of training samples in a list as long as that of the classes: one for each of them."""
    named = _class_names(settings)
    if named is None or not isinstance(named.value, tuple):
        return None
    for setting in settings:
        match = canonical_key(setting.key)
        if match is None or match[0] != "train_samples" or not isinstance(setting.value, tuple):
            continue
        numbers = [n for n in map(number, setting.value) if n is not None and n >= 0]
        if len(numbers) == len(setting.value) == len(named.value):
            return tuple(numbers), setting
    return None


def _derive_counts(found: dict[str, Configured], settings: tuple[Setting, ...]) -> None:
    counts = class_counts(settings)
    if counts:
        numbers, at = counts
        source = Configured("", None, at.key, at.file, at.line, at.trust)
        found.setdefault("data_num_classes", _as(source, "data_num_classes", len(numbers)))
        if sum(numbers) > 1.5:  # shares add up to one
            found.setdefault("train_samples", _as(source, "train_samples", _integral(sum(numbers))))
    listed = _class_names(settings)
    if listed is not None and isinstance(listed.value, tuple) and "num_classes" not in found:
        count = len(listed.value)
        found["num_classes"] = Configured(
            "num_classes", count, listed.key, listed.file, listed.line, listed.trust
        )
    labels = [s for s in settings if re.search(r"(?:^|\.)id2label\.[^.]+$", s.key)]
    if labels and "num_classes" not in found:
        at = labels[0]
        count = len({s.key for s in labels if s.file == at.file})
        found["num_classes"] = Configured("num_classes", count, "id2label", at.file, at.line, at.trust)


_TOLD = {"epochs": "epochs_planned", "train_samples": "samples_train", "eval_samples": "samples_eval"}


def _derive_told(found: dict[str, Configured], facts: Mapping[str, Scalar]) -> None:
    """What a log says in passing stands in where no setting says it."""
    for key, name in _TOLD.items():
        told = number(facts.get(name))
        if told is not None and key not in found:
            found[key] = Configured(key, _integral(told), name, "", None, 40)
    counted = found.get("data_num_classes")
    if counted is not None and "num_classes" not in found and "vocab_size" not in found:
        found["num_classes"] = _as(counted, "num_classes", counted.value)


def _flag(found: Mapping[str, Configured], key: str) -> bool | None:
    setting = found.get(key)
    return setting.value if setting is not None and isinstance(setting.value, bool) else None


def _derive_precision(found: dict[str, Configured]) -> None:
    """One word for the number format of the forward and backward pass."""
    if "precision" in found:
        return
    level = found.get("amp_level")
    for key, word in (("fp8", "fp8"), ("bf16", "bf16"), ("fp16", "fp16")):
        if _flag(found, key):
            found["precision"] = _as(found[key], "precision", word)
            return
    mixed = found.get("mixed_precision")
    if mixed is not None:
        found["precision"] = _as(mixed, "precision", mixed.value)
    elif level is not None and re.fullmatch(r"(?i)o[0-3]|auto", str(level.value)):
        word = "fp32" if str(level.value).lower() == "o0" else "fp16"
        found["precision"] = _as(level, "precision", word)
    elif _flag(found, "amp"):
        dtype = found.get("amp_dtype") or found.get("dtype")
        half = dtype is not None and dtype.value in ("fp16", "bf16", "fp8")
        device = found.get("device")
        if half and dtype is not None:
            found["precision"] = _as(dtype, "precision", dtype.value)
        elif device is None or "cpu" not in str(device.value):
            # torch.autocast on accelerators, mindspore O2/O3 and YOLO all mean fp16 when nothing else is said
            found["precision"] = _as(found["amp"], "precision", "fp16")
    elif "amp_dtype" in found and _flag(found, "amp") is None:
        found["precision"] = _as(found["amp_dtype"], "precision", found["amp_dtype"].value)
    elif "dtype" in found and not any(k in found for k in ("fp16", "bf16", "amp")):
        # torch_dtype is how a checkpoint is stored, not how it was trained
        if parts_of(found["dtype"].raw)[-1] != "torch_dtype":
            found["precision"] = _as(found["dtype"], "precision", found["dtype"].value)
    else:
        for key in ("fp16", "bf16", "amp"):
            if _flag(found, key) is False:
                found["precision"] = _as(found[key], "precision", "fp32")
                return


def _derive_scale(found: dict[str, Configured]) -> None:
    power = found.get("initial_scale_power")
    exponent = number(power.value) if power and not isinstance(power.value, tuple) else None
    if power and exponent is not None and 0 <= exponent <= 64:
        found.setdefault("initial_loss_scale", _as(power, "initial_loss_scale", _integral(2.0**exponent)))
    kind = found.get("loss_scale_type")
    scale = found.get("loss_scale")
    if kind and "dynamic" in str(kind.value).lower():
        if scale is not None and number(scale.value) is not None:
            found.setdefault("initial_loss_scale", _as(scale, "initial_loss_scale", scale.value))
        found["loss_scale"] = _as(kind, "loss_scale", "dynamic")
    elif scale is None and _flag(found, "dynamic_loss_scale"):
        found["loss_scale"] = _as(found["dynamic_loss_scale"], "loss_scale", "dynamic")


def _derive_resume(found: dict[str, Configured], events: Iterable[Event]) -> None:
    for event in events:
        if event.kind == "resume" and "resume_from" not in found:
            found["resume_from"] = Configured("resume_from", True, "resume", event.file, event.line, 40)


def _count(setting: Configured | None) -> int | None:
    if setting is None:
        return None
    value = setting.value
    if isinstance(value, tuple):
        return len(value)
    found = number(value)
    if found is not None and not (isinstance(value, str) and "," in value):
        return int(found) if found >= 1 else None
    if isinstance(value, str) and re.fullmatch(r"\d+(?:,\d+)+,?", value.replace(" ", "")):
        return len([p for p in value.split(",") if p.strip()])
    return None


def device_count(settings: Mapping[str, Configured]) -> tuple[int, Configured] | None:
    """Return how many processes or devices the configuration asks for, and the setting that says so."""
    size, per_node = settings.get("world_size"), settings.get("processes_per_node")
    counted = _count(size)
    if size is not None and counted:
        return counted, size
    counted = _count(per_node)
    if per_node is not None and counted:
        return counted * (_count(settings.get("nodes")) or 1), per_node
    listed = settings.get("devices")
    if listed is not None and (isinstance(listed.value, tuple) or "," in str(listed.value)):
        counted = _count(listed)
        if counted:
            return counted, listed
    return None


def _derive_world(found: dict[str, Configured], facts: Mapping[str, Scalar]) -> None:
    if "world_size" in found:
        return
    per_node = found.get("processes_per_node")
    counted = _count(per_node)
    if per_node is not None and counted:
        size = counted * (_count(found.get("nodes")) or 1)
        found["world_size"] = _as(per_node, "world_size", size)
        return
    seen = number(facts.get("world_size"))
    if seen is not None and seen >= 1:
        found["world_size"] = Configured("world_size", int(seen), "world_size", "", None, 40)


def _derive_batch(found: dict[str, Configured]) -> None:
    """Batch per device x accumulation x processes; `raw` names the factors that are known."""
    if "global_batch_size" in found or "batch_size" not in found:
        return
    factors = [found[k] for k in ("batch_size", "gradient_accumulation_steps", "world_size") if k in found]
    numbers = [number(f.value) if not isinstance(f.value, tuple) else None for f in factors]
    product = 1.0
    for value in numbers:
        if value is None or value <= 0:
            return
        product *= value
    raw = " x ".join(f.key for f in factors)
    found["global_batch_size"] = replace(
        factors[0], key="global_batch_size", value=_integral(product), raw=raw
    )
