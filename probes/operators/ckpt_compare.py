"""What msprobe's comparison of two Megatron checkpoints says: JSON, one key for each weight.

`{"decoder.layers.0.mlp.linear_fc1.weight": {"l2": 61.2, "cos": 0.0003, "numel": 4194304, "shape": [..]}}`.
Weights that were drawn for themselves have a cosine of about nothing (1 / sqrt(numel)); weights of one start
never come near it, however long they train. (`msprobe config_check -c dirA dirB`)
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache

from ...engine.model import Place
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.names import is_checkpoint_comparison
from ..weights import printed

MAX_JSON = 64 * 1024**2
LEAST_VALUES = 1024  # elements from which chance gives no cosine
SAME = 0.99
CHANCE = 6.0  # standard deviations of the cosine of two unrelated weights
LEAST = 2  # weights of each kind
FAR = 0.05  # of the larger: figures of two weights that have nothing to do with one another
# Drawn anew on either side by design: adapters, and heads that no checkpoint holds.
_NEW = re.compile(
    r"(?i)lora|adapter|projector|connector|resampler|q_?former|mm_proj\w*|pooler"
    r"|(?:^|[._])(?:v_head|value_head|score|classifier|cls_head|reward\w*)(?:[._]|$)"
)


@lru_cache(maxsize=2)
def _cosines(run: Run) -> tuple[str, dict[str, tuple[float, int]]] | None:
    """The file, and of every matrix in it the cosine and the number of elements."""
    for file in run.dump_files:
        try:
            if not is_checkpoint_comparison(file) or file.size > MAX_JSON:
                continue
            content = json.loads(file.read_text())
        except (OSError, ValueError, RecursionError):
            continue
        found = {}
        for name, row in content.items() if isinstance(content, dict) else ():
            cosine, count, shape = (
                (row.get(k) for k in ("cos", "numel", "shape")) if isinstance(row, dict) else [0] * 3
            )
            if (
                not isinstance(cosine, (int, float))
                or not isinstance(count, int)
                or not isinstance(shape, list)
            ):
                continue
            if (
                not _NEW.search(str(name))
                and count >= LEAST_VALUES
                and len(shape) > 1
                and math.isfinite(cosine)
            ):
                found[str(name)] = float(cosine), count
        if found:
            return file.path, found
    return None


@probe()
def some_unrelated(view: View) -> Finding:
    """Of two checkpoints some weights are the same and others have nothing to do with one another."""
    told = _cosines(view.run)
    if told is None:
        return _printed_unrelated(view)
    path, cosines = told
    strangers = [n for n, (c, count) in cosines.items() if abs(c) <= CHANCE / math.sqrt(count)]
    same = [n for n, (c, _) in cosines.items() if c >= SAME]
    text = f"{len(strangers)} of {len(cosines)} weights have nothing to do with the other checkpoint's"
    if len(strangers) >= LEAST and len(same) >= LEAST:
        return present(
            f"{text} ({strangers[0]}: cosine {cosines[strangers[0]][0]:.2g}), and {len(same)} are the same",
            value=len(strangers),
            where=(Place(path),),
        )
    if not strangers:
        return absent(text, value=0)
    return unknown(f"{text}: both may have started from weights of their own")


def _printed_unrelated(view: View) -> Finding:
    """The same of the figures of the first weights that both logs print.

    Scales and offsets of normalisation layers, and biases, are equal wherever they start.
    """
    theirs = {} if view.benchmark is None else printed.figures(view.benchmark)
    both: dict[str, list[float]] = {}
    for name, _, a, b in printed.pairs(printed.figures(view.run), theirs):
        if (a.value or b.value) and not printed.STARTS_EQUAL.search(name):
            both.setdefault(name, []).append(printed.off(a, b))
    if not both:
        return unknown("no comparison of two checkpoints, and no figures of the first weights on both sides")
    same = [n for n, apart in both.items() if max(apart) <= printed.SAME]
    other = [n for n, apart in both.items() if min(apart) > FAR]
    text = f"the printed figures of {len(other)} of {len(both)} first weights are far from the benchmark's"
    if same and len(other) >= LEAST:
        return present(f"{text}, and those of {len(same)} are the same ({same[0]})", value=len(other))
    if len(same) == len(both):
        return absent(text, value=0)
    return unknown(f"{text}: both may have started from weights of their own")
