"""The values of settings in one form: "1e-5" is a number, "adamw_torch" is adamw, "O2" is fp16."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ...engine.model import Scalar
from .names import Spec, parts_of

Value = Scalar | tuple[Scalar, ...]
# a share that no layer is meant to drop: GoogLeNet drops 0.7 beside its main way, others 0.8 before a head
NO_LAYER_IS_MEANT = 0.85
_NONE_WORDS = frozenset({"none", "null", "nil", "~", ""})
_TRUE = frozenset({"true", "yes", "on", "1", "t", "y", "enable", "enabled"})
_FALSE = frozenset({"false", "no", "off", "0", "f", "n", "disable", "disabled", "none", "null"})


class Unusable(Exception):
    """The value does not fit the setting; it is as if it had not been written."""


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
            raise Unusable
        return integral(max(numbers))
    if value is False:
        return None
    found = number(value)
    if found is None:
        raise Unusable
    return integral(found)


def integral(value: float) -> float | int:
    """Return a whole number as int where a float holds it exactly."""
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
    raise Unusable


def _text(value: Value) -> Value:
    if isinstance(value, (tuple, bool)) or value is None:
        raise Unusable
    return str(value).strip()


def _word(value: Value) -> str:
    """A class or function name as one lower-case word: "torch.optim.AdamW" -> adamw."""
    if not isinstance(value, str):
        raise Unusable
    text = re.split(r"[.:/]", value.strip().strip("'\"<>() "))[-1].lower()
    text = re.sub(r"\(.*$", "", text)
    if not text or text in ("auto", "default"):
        raise Unusable
    return text


def _lower(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    return _word(value)


def _name(value: Value) -> Value:
    if isinstance(value, tuple):
        if not value or not all(isinstance(v, str) for v in value):
            raise Unusable
        return ",".join(sorted(str(_name(v)) for v in value))
    if not isinstance(value, str):
        raise Unusable
    text = value.strip().rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].lower()
    if not text or text in _NONE_WORDS:
        raise Unusable
    return text


_OPTIMIZER_FORMS = (
    (r".*adamweightdecay.*", "adamweightdecay"),
    (r".*adam_?w.*", "adamw"),
    (
        r"(?:(?:deepspeedcpu|cpu|fused|distributed|onebit|torch|apex|megatron|hybrid|npu)_?)*_?adam"
        r"(?:\d+bit|_.*|optimizer)?",
        "adam",
    ),
    (r"(?:torch_)?(?:sgd|momentum|gd|sgd_?nesterov|nesterov|sgdm|mom)(?:_.*|optimizer)?", "sgd"),
    (r"(?:fused)?lamb.*", "lamb"),
    (r"rmsprop.*", "rmsprop"),
    (r"adafactor.*", "adafactor"),
    (r"lion.*", "lion"),
)


def _optimizer(value: Value) -> Value:
    text = _word(value).replace("-", "_")
    if text in _NONE_WORDS:
        raise Unusable
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
            raise Unusable
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
        raise Unusable
    text = re.sub(
        r"^(?:torch|jnp|mstype|ms|tf|np|mindspore|paddle|jax\.numpy)\.", "", str(value).strip().lower()
    )
    for pattern, name in _PRECISIONS:
        if re.fullmatch(pattern, text):
            return name
    raise Unusable


def precision_word(text: str) -> str:
    """Return the number format that a log's word means ("16bit", "float16" -> "fp16"); "" for none."""
    try:
        return str(_precision(text.strip().lower().removesuffix("bit")))
    except Unusable:
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
        raise Unusable
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


def _adapter(value: Value) -> Value:
    """What is trained beside a frozen model; training the whole model is no adapter."""
    text = _text(value)
    if isinstance(text, str) and text.strip().lower() in (*_FALSE, "full"):
        raise Unusable
    return text


def _list(value: Value) -> Value:
    if isinstance(value, str):
        pieces = [p for p in re.split(r"[,\s]+", value.strip("()[] ")) if p]
        value = tuple(n if (n := number(p)) is not None else p for p in pieces)
    elif not isinstance(value, tuple):
        value = (value,)
    if not value:
        raise Unusable
    return tuple(integral(n) if (n := number(v)) is not None else v for v in value)


def _any(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(integral(n) if (n := number(v)) is not None else v for v in value)
    found = number(value)
    if found is not None:
        return integral(found)
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
    "adapter": _adapter,
    "list": _list,
    "any": _any,
}


def normal(spec: Spec, raw: str, value: Value, negated: bool) -> Value:
    """Bring a value to the form of its setting. Raises Unusable."""
    if isinstance(value, str) and (value.strip().lower() == "auto" and spec.kind not in ("pretrained",)):
        raise Unusable
    if isinstance(value, str) and ("${" in value or value.strip() in ("???", "***")):
        raise Unusable
    if negated:
        flag = _bool(value)
        return not flag
    if value is None or (isinstance(value, str) and value.strip().lower() in _NONE_WORDS):
        if spec.none:
            return False if spec.kind == "pretrained" else "none" if spec.kind == "norm" else None
        raise Unusable
    if spec.kind == "norm" and value is True:
        value = parts_of(raw)[-1]
    found = _FORMS[spec.kind](value)
    if found is None and not spec.none:
        raise Unusable
    return found


def same(left: Value, right: Value) -> bool:
    """Compare two normalised values; numbers with a relative tolerance of 1e-6."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    a, b = number(left), number(right)
    if a is not None and b is not None:
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    return left == right and isinstance(left, bool) == isinstance(right, bool)
