"""Metrics that are handed the answers where they take the truth, told by what both are made of.

Which is which is told by what the items come from: what a network says (`argmax`, `generate`, a call of it)
against what comes with the data. Silent where both or neither are made of a network's output.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.origins import origins

# metric -> (place and keywords of the truth, place and keywords of the answers)
_Side = tuple[int, tuple[str, ...]]
_TRUTH_FIRST: tuple[_Side, _Side] = (
    (0, ("references", "reference", "truth", "y_true", "list_of_references", "ground_truth", "target")),
    (1, ("predictions", "hypothesis", "hypotheses", "y_pred", "y_score", "preds")),
)
_ANSWERS_FIRST: tuple[_Side, _Side] = (
    (0, ("predictions", "hypotheses", "hypothesis", "preds", "input")),
    (1, ("references", "reference", "target", "targets")),
)
_ORDERS: dict[tuple[str, str], tuple[_Side, _Side]] = {
    **{
        ("jiwer", n): _TRUTH_FIRST
        for n in ("wer", "cer", "mer", "wil", "wip", "compute_measures", "process_words")
    },
    **{
        ("nltk", n): _TRUTH_FIRST
        for n in ("corpus_bleu", "sentence_bleu", "meteor_score", "single_meteor_score")
    },
    **{
        ("sacrebleu", n): _ANSWERS_FIRST
        for n in ("corpus_bleu", "corpus_chrf", "corpus_ter", "raw_corpus_bleu")
    },
    **{("sacrebleu", n): _ANSWERS_FIRST for n in ("sentence_bleu", "sentence_chrf", "corpus_score")},
    **{
        ("seqeval", n): _TRUTH_FIRST
        for n in ("f1_score", "precision_score", "recall_score", "classification_report")
    },
    **{
        ("sklearn", n): _TRUTH_FIRST
        for n in (
            *("precision_score", "recall_score", "roc_auc_score", "average_precision_score", "log_loss"),
            *("classification_report", "roc_curve", "precision_recall_curve", "balanced_accuracy_score"),
            *("r2_score", "ndcg_score", "precision_recall_fscore_support", "top_k_accuracy_score"),
        )
    },
    **{
        ("torchmetrics", n): _ANSWERS_FIRST
        for n in ("word_error_rate", "char_error_rate", "bleu_score", "sacre_bleu_score")
    },
}
_BY_KEYWORD = ("compute", "add_batch", "update", "compute_metrics")
_SAYS = re.compile(
    r"(?i)^(?:arg_?max|generate|greedy\w*|beam\w*|predict\w*|infer\w*|transcribe|translate|sigmoid|softmax"
    r"|log_softmax|predict_proba|decision_function|viterbi\w*|topk|ctc_decode|decode_(?:greedy|beam))$"
)
_OUTPUTS = ("predictions", "logits", "sequences", "start_logits", "end_logits")


def answers_for_truth(source: Script) -> Finding | None:
    """`jiwer.wer(hyps, refs)`, `compute(predictions=gold, references=said)`: handed the wrong way round."""
    seen: ast.AST | None = None
    for call, truth, answers in _handed(source):
        seen = seen or call
        if _said(source, truth) and not _said(source, answers):
            return at(source, call, "the answers are handed as the truth, and the truth as the answers")
    return (
        ok(source, seen, "the metric is handed truth and answers in its order") if seen is not None else None
    )


def _handed(source: Script) -> list[tuple[ast.Call, ast.expr, ast.expr]]:
    found = []
    for call in source.calls:
        name = last_name(call.func)
        if name in _BY_KEYWORD:
            truth, answers = keyword(call, "references"), keyword(call, "predictions")
            if truth is not None and answers is not None:
                found.append((call, truth, answers))
            continue
        sides = next((s for (lib, n), s in _ORDERS.items() if n == name and _is_of(source, call, lib)), None)
        if sides is None:
            continue
        given = [_given(call, *side) for side in sides]
        if given[0] is not None and given[1] is not None:
            pair = (given[0], given[1]) if sides is _TRUTH_FIRST else (given[1], given[0])
            found.append((call, *pair))
    return found


def _given(call: ast.Call, place: int, words: tuple[str, ...]) -> ast.expr | None:
    for word in words:
        if (found := keyword(call, word)) is not None:
            return found
    if len(call.args) > place and not any(isinstance(a, ast.Starred) for a in call.args):
        return call.args[place]
    return None


def _is_of(source: Script, call: ast.Call, library: str) -> bool:
    """A function of this library: imported from it, or asked for by its name."""
    name = last_name(call.func)
    if name in flow(source).functions:
        return False
    if isinstance(call.func, ast.Name):
        return any(
            (n.module or "").split(".")[0] == library and any((a.asname or a.name) == name for a in n.names)
            for n in source.of(ast.ImportFrom)
        )
    if name == "corpus_score":  # `BLEU().corpus_score(said, [truth])`
        return library in source.code
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in _names_of(source, library)


def _names_of(source: Script, library: str) -> set[str]:
    """Names under which a library or a part of it is imported."""
    plain = [a for n in source.of(ast.Import) for a in n.names if a.name.split(".")[0] == library]
    parts = [
        a for n in source.of(ast.ImportFrom) if (n.module or "").split(".")[0] == library for a in n.names
    ]
    return {(a.asname or a.name).split(".")[0] for a in plain} | {a.asname or a.name for a in parts}


def _said(source: Script, node: ast.expr) -> bool:
    """Something of the value is what a network says."""
    for one in origins(source, node):
        if isinstance(one, ast.Attribute) and one.attr in _OUTPUTS:
            return True
        if isinstance(one, ast.Name) and one.id == "logits":
            return True
        if isinstance(one, ast.Call) and (_SAYS.match(last_name(one.func)) or asks_network(source, one)):
            return True
    return False


def asks_network(source: Script, call: ast.Call) -> bool:
    """A network of the program is called, or one that a library built."""
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return False
    made = flow(source).made(call.func)
    if made is not None:
        return any(f in made.body for f in source.forwards)
    return any(
        isinstance(v, ast.Call) and re.match(r"AutoModel\w*|\w+For\w+", _built(v)) is not None
        for v in flow(source).values(call.func, 4)
    )


def _built(call: ast.Call) -> str:
    """`AutoModelForX` of `AutoModelForX.from_pretrained(name)`."""
    if last_name(call.func) == "from_pretrained" and isinstance(call.func, ast.Attribute):
        return last_name(call.func.value)
    return ""


def told_the_truth(source: Script) -> Finding | None:
    """Texts that are scored come from a network that is handed the truth, word for word.

    `model(src, tgt[:, :-1])` goes on behind the truth; text has to be written by the network alone.
    """
    for call, truth, answers in _handed(source):
        name = last_name(call.func)
        if not re.search(r"(?i)bleu|wer|cer|chrf|rouge|meteor|ter$", name):
            continue
        rows = {id(n) for one in origins(source, truth) for n in _rows(one)}
        for one in origins(source, answers):
            if not isinstance(one, ast.Call) or not asks_network(source, one) or len(one.args) < 2:
                continue
            handed = one.args[1]
            cut = handed if isinstance(handed, ast.Subscript) else None
            if cut is None or not isinstance(cut.value, ast.Name) or "-1" not in ast.unparse(cut.slice):
                continue
            if rows & {id(n) for n in _rows(cut.value)} or _same_name(source, truth, cut.value):
                return at(
                    source, one, "the text that is scored is told by the network with the truth before it"
                )
    return None


def _rows(node: ast.expr) -> list[ast.AST]:
    return list(of(node, ast.Name)) if isinstance(node, ast.Name) else []


def _same_name(source: Script, truth: ast.expr, handed: ast.Name) -> bool:
    return any(isinstance(o, ast.Name) and o.id == handed.id for o in origins(source, truth))
