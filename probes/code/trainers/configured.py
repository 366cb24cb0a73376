"""Settings of the Trainer of transformers that a file holds, where the script reads all of them from it."""

from __future__ import annotations

import re

from ....engine.model import Place
from ...readers.script import last_name
from ...registry import Finding, View, present
from ...run import Setting
from ...scripts.syntax import Script
from .hooks import hugging_face

_READS = ("parse_json_file", "parse_yaml_file", "parse_args_into_dataclasses", "parse_dict")
_LOWER = re.compile(r"(?i)(?:^|_)(?:loss|wer|cer|mae|mse|rmse|mape|ppl|perplexity|error|eer)$")
_HIGHER = re.compile(r"(?i)(?:^|_)(?:acc|accuracy|f1|auc|auroc|bleu|rouge\w*|map|iou)(?:_macro|_micro)?$")
_MOST = 0.5  # of training: no recipe warms up for longer than half of it


def _told(view: View, source: Script) -> dict[str, Setting]:
    """What files of settings say, by the last part of each key: the most trusted word, none of two alike."""
    if not hugging_face(source) or not any(last_name(c.func) in _READS for c in source.calls):
        return {}
    found: dict[str, Setting] = {}
    torn: set[tuple[str, int]] = set()
    for setting in view.run.raw_settings:
        key = setting.key.rpartition(".")[2]
        if setting.file.endswith(".py") or (key in found and found[key].trust > setting.trust):
            continue
        if key in found and found[key].trust == setting.trust and found[key].value != setting.value:
            torn.add((key, setting.trust))
        found[key] = setting
    return {k: s for k, s in found.items() if (k, s.trust) not in torn}


def best_in_configuration(view: View, source: Script) -> Finding | None:
    """`metric_for_best_model: eval_loss` and `greater_is_better: true`: the worst is kept for the best."""
    told = _told(view, source)
    metric, greater = told.get("metric_for_best_model"), told.get("greater_is_better")
    if metric is None or greater is None or not isinstance(metric.value, str):
        return None
    lower, higher = _LOWER.search(metric.value), _HIGHER.search(metric.value)
    if (lower and greater.value is True) or (higher and greater.value is False):
        way = "lower" if lower else "higher"
        why = f"{metric.value} is better when it is {way}, and the other way is asked for"
        return present(why, value=str(greater.value), where=(Place(greater.file, greater.line),))
    return None


def warmup_in_configuration(view: View, source: Script) -> Finding | None:
    """`warmup_ratio: 0.9`: the rate rises for most of the training."""
    ratio = _told(view, source).get("warmup_ratio")
    if ratio is None or not isinstance(ratio.value, (int, float)) or isinstance(ratio.value, bool):
        return None
    if _MOST < ratio.value <= 1:
        why = f"the warm-up takes {ratio.value:.0%} of the training"
        return present(why, value=float(ratio.value), where=(Place(ratio.file, ratio.line),))
    return None
