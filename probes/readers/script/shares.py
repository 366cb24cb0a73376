"""How strongly the calls of scripts regularise: shares of values that are dropped, decay of weights."""

from __future__ import annotations

import ast
import re

from ...settings import NO_LAYER_IS_MEANT
from .calls import keyword

STRONG = 0.65  # a share of dropout that few mean; that of one layer is no setting of the model below it
# shares that models drop, by the words of their configurations: resid_pdrop, seq_classif_dropout
_DROPS = re.compile(r"(?:\w+_)?(?:p?drop|dropout)(?:_prob|_rate|_p)?")
_WHOLE = ("dropout", "dropout_rate", "dropout_prob", "drop_rate", "p_dropout")  # of a model of any library


def largest_share(call: ast.Call, least: float) -> ast.expr | None:
    """The largest of the shares above `least` that a configuration drops: `seq_classif_dropout=0.8`."""
    parts = [k.value for k in call.keywords if _DROPS.fullmatch(k.arg or "")]
    return _largest(parts, least)


def nearly_all(call: ast.Call) -> ast.expr | None:
    """A share of next to all that a model of any library is told to drop: `TabModel(dropout=0.95)`."""
    return _largest([k for w in _WHOLE if (k := keyword(call, w)) is not None], NO_LAYER_IS_MEANT)


def heavy_decay(call: ast.Call) -> ast.expr | None:
    """A decay of one and more that anything is told: `TrainConfig(lr=1e-3, weight_decay=1.0)`."""
    told = keyword(call, "weight_decay")
    if not isinstance(told, ast.Constant) or not isinstance(told.value, (int, float)):
        return None
    return told if not isinstance(told.value, bool) and told.value >= 1 else None


def _largest(parts: list[ast.expr], least: float) -> ast.expr | None:
    shares = [(p.value, p) for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, float)]
    return max((s for s in shares if s[0] > least), key=lambda s: s[0], default=(0.0, None))[1]
