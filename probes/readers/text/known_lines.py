"""Lines of programs that many people train with, whose names and numbers no general reading tells apart.

Each row says how such a line is known, and how its numbers are written out with the names that they have.
Lines stay lines, and no pattern goes back over more than some hundred characters. The layouts are facts of
the programs' own printing; what prints each is named beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

AGAIN = 3  # such lines in the log's head; one or two may be anything
_N = rb"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"


class _Known(NamedTuple):
    """A layout: what its lines hold, its pattern (by lines), and what to write for it."""

    hint: bytes
    pattern: re.Pattern[bytes]
    written: bytes | Callable[[re.Match[bytes]], bytes]
    again: int = AGAIN


def _known(
    hint: bytes,
    pattern: bytes,
    written: bytes | Callable[[re.Match[bytes]], bytes],
    again: int = AGAIN,
) -> _Known:
    return _Known(hint, re.compile(pattern, re.MULTILINE | re.IGNORECASE), written, again)


def _terms(match: re.Match[bytes]) -> bytes:
    """`D_A: 0.1 G_A: 0.6`: all of them are losses."""
    return match.group(1) + re.sub(rb"(?<![\w.])([A-Za-z]\w*): ", rb"loss_\1: ", match.group(2))


def _sums(match: re.Match[bytes]) -> bytes:
    """DeepXDE's lists of terms, whose sum is the loss."""
    train, test = (
        b"%.6g" % sum(float(v) for v in group.split(b",")) for group in (match.group(2), match.group(3))
    )
    return b"step %s train loss: %s eval loss: %s" % (match.group(1), train, test)


_RESULTS = (
    *("box_loss", "obj_loss", "cls_loss", "loss", "", ""),
    *("precision", "recall", "mAP_0.5", "mAP50_95", "val_box_loss", "val_obj_loss", "val_cls_loss"),
)


def _results(match: re.Match[bytes]) -> bytes:
    pairs = zip(_RESULTS, match.group(2).split(), strict=True)
    return b"epoch: %s " % match.group(1) + b" ".join(b"%s: %s" % (n.encode(), v) for n, v in pairs if n)


def _dice_of_classes(match: re.Match[bytes]) -> bytes:
    """nnU-Net's list of scores, one for each class but the background, which has no name there."""
    scores = [
        float(v)
        for v in re.findall(rb"(?<![\w.])(?:nan|\d+\.?\d*(?:[eE][-+]?\d+)?)(?![\w.])", match.group(1))
    ]
    known = [v for v in scores if not math.isnan(v)]
    if not known:
        return b"eval dice: nan"
    each = b" ".join(
        b"eval_dice_class_%d: %.6g" % (i, v) for i, v in enumerate(scores, 1) if not math.isnan(v)
    )
    return b"eval dice: %.6g " % (sum(known) / len(known)) + (each if len(scores) > 1 else b"")


def _overlaps_of_classes(match: re.Match[bytes]) -> bytes:
    """torchvision's list of overlaps in percent, the background's first; their mean has its own line."""
    scores = [float(v) for v in re.findall(rb"[\d.]+", match.group(1))]
    return b" ".join(b"eval_iou_class_%d: %.6g" % (i, v / 100) for i, v in enumerate(scores))


_TENSOR = rb"Tensor\(shape=\[\], dtype=%s, value= {0,2}([^(),\s]{1,24})\)"
_LIST = rb"\[(" + _N + rb"(?:,[ \t]*" + _N + rb")*)\]"
_KNOWN = (
    # TensorFlow on Ascend, as its precision guide prints the scale: ">>> Current Loss Scale >>>  [1024.0]"
    _known(
        b"Current Loss Scale",
        rb">>> Current Loss Scale >>>\s{1,4}\[?(" + _N + rb")\]?",
        lambda m: b"loss_scale: %s" % m.group(1),
    ),
    # The callback of precision_tool for TensorFlow 2: it tells what did not overflow
    _known(
        b"not_overflow_status",
        rb"PrecisionTool: Train steps (\d+), loss_scale=(" + _N + rb") / not_overflow_status=(True|False)",
        lambda m: (
            b"step %s loss_scale: %s overflow: %s"
            % (*m.group(1, 2), b"False" if m.group(3).lower() == b"true" else b"True")
        ),
    ),
    # MindSpore's callbacks of BERT and its kin print what the step returns: loss, overflow and loss scale
    _known(
        b"outputs are (Tensor",
        rb"^.{0,80}?\bepoch: (\d+), (?:current epoch percent: [\d.]+, )?step: (\d+), outputs are \("
        + rb", ".join(_TENSOR % name for name in (b"Float32", b"Bool", b"Float32"))
        + rb"\)",
        rb"epoch: \1 step: \2 loss: \3 overflow: \4 loss_scale: \5",
    ),
    # "valid tokens 1210 / 4096": how many count in the loss, not a figure of the validation
    _known(
        b" tokens",
        rb"\b(?:valid|effective|supervised|unmasked|label|target|loss) tokens?(?=[ :=]{1,9}\d)"
        rb"(?:([ :=]{1,9}\d+) ?/ ?\d+)?",
        lambda m: b"label_tokens" + (m.group(1) or b""),
    ),
    # CycleGAN and pix2pix in PyTorch, and what is built on them (util/visualizer.py)
    _known(b"(epoch: ", rb"^(\(epoch: \d+, iters: \d+, time: [\d.]+(?:, data: [\d.]+)?\))(.*)$", _terms),
    # Marian NMT. Its validation sums the cross-entropy over sentences, training means it over words.
    _known(
        b": Up. ",
        rb"\bEp\. (\d+) : Up\. (\d+) : (?:Sen\. [\d,]+ : )?(?:(Cost )("
        + _N
        + rb")(?: \* [\d,]+(?: @ [\d,]+)?"
        rb"(?: after [\d,]+)?)?|(?:cross-entropy : [\d.]+ : .*))?",
        lambda m: b"epoch %s step %s " % m.group(1, 2) + (b"loss: " + m.group(4) if m.group(3) else b""),
    ),
    # Kaldi's nnet3, once in a file: the objective is a log-likelihood, more of it is better
    _known(
        b"PrintTotalStats():",
        rb"^LOG \(nnet3[\w.\[\]~-]{1,60}:PrintTotalStats\(\):nnet-[\w.:-]{1,40}\) Overall "
        rb"(?:average objective function|log-likelihood|log-prob) for 'output' is (?:.{1,60} = )?("
        + _N
        + rb") .*$",
        lambda m: b"loss: %.6g" % -float(m.group(1)),
        again=1,
    ),
    _known(
        b"Overall accuracy for 'output' is",
        rb"^LOG \(nnet3.{1,100}\) Overall accuracy for 'output' is (" + _N + rb") per frame.*$",
        rb"accuracy: \1",
        again=1,
    ),
    # Tesseract: of its three counters the second is of training steps; its errors are in percent
    _known(
        b"At iteration ",
        rb"\bAt iteration \d+/(\d+)/\d+, mean rms=("
        + _N
        + rb")%, +delta=[\d.]+%, (?:B?CER|char) train=("
        + _N
        + rb")%, .*$",
        rb"step \1 train rms: \2, train cer: \3",
    ),
    # open_clip: the speed before the rate ends in a unit that looks like a name
    _known(b"/s/gpu LR: ", rb"(?<=/s/gpu) LR: ", rb", LR: "),
    _known(b"zeroshot-val-top1: ", rb"\b[\w-]+-zeroshot-val-top(1|5): ", rb"eval acc_top\1: "),
    # TensorFlow's Object Detection API tells the step on a line of its own, and all twice
    _known(b"per-step time", rb"^.{0,120}?\bStep (\d+) per-step time [\d.]+s.*$", rb"Step \1"),
    _known(
        b"INFO:tensorflow:{'loss/",
        rb"^INFO:tensorflow:(\{'Loss/[^{}]{1,900}\})\nI\d{4} [^\n]{1,80}\] \1$",
        lambda m: m.group(1) + b"\n" * (m.group(0).count(b"\n") - m.group(1).count(b"\n")),
    ),
    _known(b"{'loss/", rb"^.{0,120}?\{('Loss/[\w/]{1,60}': [^,\n]{1,30},)$", rb" \1"),
    # mmengine where iterations count: what stands in brackets is that of the training
    _known(
        b"Iter(train) [", rb"\bIter\(train\)([ \t]{1,4}\[)[ \t]{0,12}(?=\d+/\d+\])", rb"Iter(train)\1iter "
    ),
    # GluonTS calls both losses a metric of evaluation
    _known(
        b"Evaluation metric '",
        rb"\bEvaluation metric '(validation_)?epoch_loss'=",
        lambda m: b"valid loss: " if m.group(1) else b"train loss: ",
    ),
    _known(b" : L.r. ", rb" : L\.r\. (?=\d)", rb" : lr: "),
    _known(b"pseudo dice", rb"\bPseudo dice:? \[([^\]\n]{1,2000})\]", _dice_of_classes),
    # torchvision's references of segmentation
    _known(b"iou: ['", rb"^[ \t]*IoU: \[((?:'[\d.]{1,8}'(?:, )?){2,400})\]", _overlaps_of_classes),
    # PaddleSeg prints the array below its name
    _known(
        b"[EVAL] Class IoU:",
        rb"\[EVAL\] Class IoU:[ \t]*\n\[([\d. \t]{3,2000})\]",
        lambda m: (
            b"\n" + b" ".join(b"eval_iou_class_%d: %s" % (i, v) for i, v in enumerate(m.group(1).split()))
        ),
    ),
    # AutoGluon scores each model that it fits; errors have a minus before their name
    _known(
        b" = validation score",
        rb"^[ \t]*(" + _N + rb")[ \t]+= Validation score[ \t]+\((\w+)\)",
        lambda m: b"eval %s: %s" % (m.group(2), m.group(1)),
    ),
    # WeNet: "Batch 3/100" is epoch and batch; CV is the held-out part
    _known(
        b" Batch ",
        rb"\b(TRAIN|CV) Batch (\d+)/(\d+) loss (" + _N + rb")",
        lambda m: (
            b"%s epoch %s batch %s loss %s"
            % (b"train" if m.group(1).lower() == b"train" else b"valid", *m.group(2, 3, 4))
        ),
    ),
    _known(b"CV info cv_loss", rb"\bEpoch (\d+) CV info cv_loss", rb"Epoch \1 valid loss"),
    # Tacotron 2 and others: the step stands between name and value
    _known(
        b" loss ",
        rb"^(train|training|validation|valid|test)( loss) (\d+):? +("
        + _N
        + rb")(?: Grad Norm ("
        + _N
        + rb"))?\b",
        lambda m: (
            b"step %s %s%s: %s" % (m.group(3), m.group(1), m.group(2), m.group(4))
            + (b" grad_norm: %s" % m.group(5) if m.group(5) else b"")
        ),
    ),
    # YOLOv5's results.txt before its tables had names: losses, counts, P, R, mAP and the losses of validation
    _known(
        b"G ",
        rb"^[ \t]*(\d+)/\d+[ \t]+[\d.]+G((?:[ \t]+(?:" + _N + rb")){13})[ \t]*$",
        _results,
    ),
    # Variational autoencoders: the two terms of their bound, without the word loss
    _known(
        b"kl",
        rb"\b(recon(?:struction|s)?)([ :=|]{1,4}(?:"
        + _N
        + rb")[^\n]{1,40}?)\b(kld?|kl_div)(?=[ :=]{1,4}(?:"
        + _N
        + rb"))",
        rb"\1_loss\2\3_loss",
    ),
    # LightGBM
    _known(
        b"'s ",
        rb"\b(?:(training|train)|(test)|(?:val(?:id(?:ation)?)?|eval|dev|hold_?out)(?:_(?:\d+|set|data))?)'s "
        rb"([\w@]+): ",
        lambda m: (b"train " if m.group(1) else b"test " if m.group(2) else b"valid ") + m.group(3) + b": ",
    ),
    # Composer's console, and Lightning's monitor where it is printed: the rate is called after its optimizer
    _known(b"lr-", rb"\blr-(?-i:[A-Z])\w*(?:[-/](?:pg|group)?\d+)?(?=[:=] ?[\d.])", rb"learning_rate"),
    # epoch and batch behind the name: "Loss [3, 100](epoch, minibatch): 2.1"
    _known(
        b"loss [",
        rb"^(train |val |valid |test )?loss ?\[(\d+), *(\d+)\](?:\([^()\n]*\))? *: *(" + _N + rb")",
        lambda m: b"[%s, %s] %sloss: %s" % (m.group(2), m.group(3), m.group(1) or b"", m.group(4)),
    ),
    # PyTorch's tutorial on classification, told once in each epoch
    _known(
        b"accuracy o",
        rb"^(?:(?:train|test) )?accuracy (?:of the \w+ )?on (?:the )?[\d,]+ (train|test|val\w*)(?:ing)? "
        rb"\w+ *: *(" + _N + rb" ?%?)",
        rb"\1 accuracy: \2",
    ),
    # PyTorch's tutorial on translation with sequences
    _known(b" (- ", rb"^\d+m \d+s \(- -?\d+m \d+s\) \((\d+) \d+%\) (" + _N + rb")$", rb"step \1 loss: \2"),
    # DeepXDE
    _known(b"]", rb"^(\d+)[ \t]+" + _LIST + rb"[ \t]+" + _LIST + rb"[ \t]+\[.*\][ \t]*$", _sums),
    # BasicSR and what is built on it; a comma stands in its iterations and behind them
    _known(
        b"[epoch:",
        rb"^(.{0,200}?\[epoch: {0,9}\d+, iter: {0,9})([\d,]+)(, lr:\([^()\n]{1,99}\)\] "
        rb"\[[^\[\]\n]{0,200}\] )(.*)$",
        lambda m: (
            m.group(1)
            + m.group(2).replace(b",", b"")
            + m.group(3)
            + re.sub(rb"\bl_(\w+): ", rb"loss_\1: ", m.group(4))
        ),
    ),
    _known(
        b"# psnr: ", rb"^[ \t]*# (psnr|ssim|lpips|niqe): (" + _N + rb")[ \t]+Best: .*$", rb"\teval \1: \2"
    ),
    # the tutorial on image captions by sgrvinod, and its descendants
    _known(
        b"* LOSS - ",
        rb"^[ \t]*\* LOSS - (" + _N + rb"), (TOP-\d) ACCURACY - (" + _N + rb")",
        rb"eval loss: \1, eval \2 accuracy: \3",
    ),
    # Informer and the Time-Series-Library
    _known(b"learning rate to ", rb"^updating learning rate to (" + _N + rb")", rb"learning rate: \1"),
    # a number within a name: "top 1 acc: 0.35", "Top-5 Accuracy = 61.2"
    _known(b"top", rb"\b(top)[ @-](\d{1,3}) (acc\w*|err\w*)(?= ?[:=])", rb"\1\2_\3"),
    # reinforcement learning: the score of an episode is its reward
    _known(
        b"score",
        rb"^(.{0,80}?\bepisodes?\b.{0,120}?\b(?:av(?:era)?ge? |mean |total )?)scores?(?= ?[:=])(.*)$",
        lambda m: m.group(1) + b"reward" + re.sub(rb"(?i)\bscores?(?= ?[:=])", b"reward", m.group(2)),
    ),
    # MindOCR
    _known(
        b"performance: {",
        rb"\bPerformance: (\{[^{}\n]{1,400}\})",
        lambda m: b"eval performance: " + re.sub(rb"(?<=')([\w-]+)(?=': )", rb"eval_\1", m.group(1)),
    ),
    # FunASR: the same loss as the mean of its rank and of its part of the data
    _known(
        b"_avg_",
        rb"\b(loss|acc|ppl|lr|\w+_loss|loss_\w+?)_avg_(?:rank|slice|batch|epoch|step|world)\b",
        rb"\1",
    ),
    # A bar's or a line's count glued to its word: "Epoch1/300|Iter0(1/916)|"
    _known(
        b"|iter",
        rb"(?<=\|)(iter|iteration|step)(\d+)(?:\(\d+/\d+\))?(?=\|.{0,200}\bloss)",
        rb" \1: \2 ",
    ),
    _known(
        b"_metrics",
        rb"\b(val|valid|validation|eval|test)_(?:metrics?|results?|scores?)(?=[ :=]{1,4}\{)",
        rb"\1 metrics",
    ),
    # what a printed record is of: {"_type": "val_epoch", ...} of SlowFast and pycls
    _known(
        b"_epoch",
        rb"([\"'](?:_?type|mode|phase|split|stage)[\"']: [\"'](?:train|val|valid|test|eval))"
        rb"_(?=(?:epoch|iter|step)[\"'])",
        rb"\1 ",
    ),
    # bounds of overlaps within the name: "mAP@0.50:0.95: 0.37", "mAP@.5 = 0.51"
    _known(
        b"map@",
        rb"\bmAP@\[?0?\.50?(:0?\.95)?\]?(?= ?[:=] ?[\d.])",
        lambda m: b"mAP50_95" if m.group(1) else b"mAP50",
    ),
    # CenterNet: behind the time of the training the same names again are those of the validation
    _known(
        b"|loss ",
        rb"^(.{0,80}\|loss " + _N + rb" \|.{1,300}\| time " + _N + rb" \|)( loss " + _N + rb" \|.*)$",
        lambda m: m.group(1) + re.sub(rb"(\w+ " + _N + rb") \|", rb"val \1 |", m.group(2)),
        again=1,
    ),
    # Vowpal Wabbit's columns have names of two lines; the first is the mean of the losses before learning
    _known(
        b"average  since",
        rb"^(" + _N + rb")[ \t]+" + _N + rb"[ \t]+(\d+)[ \t]+\d+\.\d[ \t]+\S+[ \t]+\S+[ \t]+\d+[ \t]*$",
        rb"step \2 train loss: \1",
    ),
    # NGCF, LightGCN and what is built on them: a sum of terms, and scores of an evaluation of their own time
    _known(
        b"train==[",
        rb"\btrain==\[(" + _N + rb")=[^\]\n]{1,200}\](, (?=(?:recall|ndcg|precision|hit)=))?",
        lambda m: b"train loss: " + m.group(1) + (b", eval " if m.group(2) else b""),
    ),
    _known(
        b"recall",
        rb"(\(eval\).{0,40}\btrain loss(?: =|:) ?"
        + _N
        + rb"\b.{0,100}?, )(?=(?:recall|ndcg|precision|hit) ?=)",
        rb"\1eval ",
    ),
    # "loss in epoch 1 iteration 0: 1.38"
    _known(
        b"loss ",
        rb"\bloss (?:in|at|of|for) epoch (\d+),? (iteration|iter|step|batch) (\d+) ?[:=] ?(?=[-+\d.])",
        rb"epoch \1 \2 \3 loss: ",
    ),
    # rsyslog, and Amazon SageMaker with it, writes a tab in octal digits
    _known(b"#011", rb"#011", b"\t"),
    # Deeplearning4j's ScoreIterationListener: its score is the loss
    _known(
        b"score at iteration ",
        rb"\bScore at iteration (\d+) is (" + _N + rb")",
        rb"iteration \1 loss: \2",
    ),
    # FuxiCTR and others evaluate at the end of an epoch
    _known(b"[metrics] ", rb"(?<=\s)\[Metrics\] (?=(?:\[\w+\] )?\w+: )", rb"eval metrics: ", again=2),
    # LightGCN in PyTorch: the loss glued to its word, the scores below as arrays of one number for each k
    _known(
        b"] loss",
        rb"^EPOCH\[(\d+)/(\d+)\] loss(" + _N + rb")-\|?",
        rb"epoch \1/\2 loss: \3 |",
    ),
    # cito in R: "Loss at epoch 7: training: 4.2, validation: 4.6, lr: 0.01"
    _known(
        b"loss at epoch ",
        rb"\bLoss at epoch (\d+): training: ([^,\n]{1,24})(?:, validation: ([^,\n]{1,24}))?",
        lambda m: (
            b"epoch %s: training loss: %s" % m.group(1, 2)
            + (b", validation loss: " + m.group(3) if m.group(3) else b"")
        ),
    ),
    # "Loss in Validation data 1.27", "loss on the test set: 0.4": the data set stands behind the name
    _known(
        b"loss ",
        rb"(?<![\w-])loss (?:in|on|over|for) (?:the )?(train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?)[ -]?"
        rb"(?:data(?:[ -]?set)?|set|samples|images|examples)?(?=[ :=]{1,3}" + _N + rb")",
        rb"\1 loss",
    ),
    # PaddleOCR: "cur metric" is that of the evaluation at hand
    _known(b"cur metric, ", rb"\bcur metric, ", rb"eval metric, "),
)
_SET_OF_BOOSTING = re.compile(rb"\bvalidation_(\d)-([\w@.:]+):(" + _N + rb")", re.IGNORECASE)
_OF_THE_ROOT = re.compile(rb"\n(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.-]{1,60}:([^\n]{8,4000})(?=\n|$)")
_QUOTES = {b"\xe2\x80\x98": b"'", b"\xe2\x80\x99": b"'", b"\xe2\x80\x9c": b'"', b"\xe2\x80\x9d": b'"'}
_CURLED = re.compile(rb"[{,]\s*\xe2\x80[\x98\x9c][\w/ .-]+\xe2\x80[\x99\x9d]\s*:")
_SIDES = re.compile(
    rb"^(.{0,200}?\bloss: {0,9}"
    + _N
    + rb",? .{0,200}?)\bTrain: *([01]\.\d+|\d{1,3}\.\d+%),? +Val(?:id)?: *([01]\.\d+|\d{1,3}\.\d+%)"
    rb"(?:,? +(Test): *([01]\.\d+|\d{1,3}\.\d+%))?",
    re.MULTILINE | re.IGNORECASE,
)
_BOOSTED = re.compile(
    rb"^(\d+):\tlearn: (" + _N + rb")(?:\ttest: (" + _N + rb")\tbest: .*)?\ttotal: .*$", re.MULTILINE
)
_BARE = re.compile(
    rb"^#?(?:iter(?:ation)?|epoch|round)[ \t=:]{1,8}(\d+)[\s,|:;-]{1,8}train(?:ing)? ?[=:] ?("
    + _N
    + rb")[ \t,|]{1,8}(?:test|val(?:id(?:ation)?)?) ?[=:] ?("
    + _N
    + rb")[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
FEW = 6  # rows from which on it shows whether unnamed scores rise


def written_out(data: bytes, far: int) -> bytes:
    """Return the log with such lines written out, looked for in its first `far` bytes."""
    head = data[:far]
    if _CURLED.search(head):  # pasted through a program that curls quotes
        for curled, plain in _QUOTES.items():
            data = data.replace(curled, plain)
        head = data[:far]
    low = head.lower()
    for known in _KNOWN:
        if known.hint.lower() in low and len(known.pattern.findall(head)) >= known.again:
            data = known.pattern.sub(known.written, data)
    data = _told_once(data, head)
    return _bare(_boosted(_sets_of_boosting(_named_sides(data, head), head), head), head)


def _told_once(data: bytes, head: bytes) -> bytes:
    """A message that a logger tells, and its root below once more in its own layout: the second goes."""
    doubled = 0
    for found in _OF_THE_ROOT.finditer(head):
        doubled += _ends(head, found.start(), found.group(1))
    if doubled < AGAIN:
        return data
    return _OF_THE_ROOT.sub(lambda m: b"\n" if _ends(m.string, m.start(), m.group(1)) else m.group(), data)


def _ends(data: bytes, end: int, message: bytes) -> bool:
    """Whether the line up to `end` is this message behind something else."""
    begin = end - len(message)
    return begin > 0 and data[begin:end] == message and data[begin - 1 : begin] != b"\n"


def _sets_of_boosting(data: bytes, head: bytes) -> bytes:
    """XGBoost's sets by their place in `eval_set`: one is held out; of several the first is learned from.

    Of two the one with the better figure is what it learns from, in whatever order they stand.
    """
    last: dict[bytes, dict[bytes, float]] = {}
    for found in _SET_OF_BOOSTING.finditer(head):
        last.setdefault(found.group(2), {})[found.group(1)] = float(found.group(3))
    if not last:
        return data
    sides = [b"valid", b"test"]
    numbers = sorted({n for values in last.values() for n in values})
    if len(numbers) > 1:
        metric, values = next((m, v) for m, v in last.items() if len(v) == len(numbers))
        rises = any(word in metric.lower() for word in (b"auc", b"map", b"ndcg", b"acc", b"pre"))
        if len(numbers) == 2 and (values[numbers[0]] > values[numbers[1]]) != rises:
            numbers.reverse()
        sides = [b"train", b"valid", b"test"]
    named = dict(zip(numbers, sides, strict=False))
    return _SET_OF_BOOSTING.sub(
        lambda m: b"%s-%s:%s" % (named[m.group(1)], *m.group(2, 3)) if m.group(1) in named else m.group(),
        data,
    )


def _boosted(data: bytes, head: bytes) -> bytes:
    """CatBoost names no metric: what falls on what it learns from is a loss, anything else stays unread."""
    learned = [v for m in _BOOSTED.finditer(head) if math.isfinite(v := float(m.group(2)))]
    if len(learned) < FEW or not learned[-1] < learned[0]:
        return data
    return _BOOSTED.sub(
        lambda m: (
            b"iteration %s train loss: %s" % m.group(1, 2)
            + (b" eval loss: %s" % m.group(3) if m.group(3) else b"")
        ),
        data,
    )


def _bare(data: bytes, head: bytes) -> bytes:
    """`#Iter= 3 Train=0.81 Test=0.92` (libFM): what falls on what it learns from is a loss."""
    learned = [v for m in _BARE.finditer(head) if math.isfinite(v := float(m.group(2)))]
    if len(learned) < FEW or not learned[-1] < learned[0]:
        return data
    return _BARE.sub(rb"iteration \1 train loss: \2 eval loss: \3", data)


def _named_sides(data: bytes, head: bytes) -> bytes:
    """`Loss: 1.2, Train: 0.81, Val: 0.74` (PyTorch Geometric's examples): shares that rise are accuracies."""
    if b"rain:" not in head:
        return data
    rows = [(float(m.group(2).rstrip(b"%")), float(m.group(3).rstrip(b"%"))) for m in _SIDES.finditer(head)]
    if len(rows) < FEW:
        return data
    third = len(rows) // 3
    rising = all(sum(r[i] for r in rows[-third:]) > sum(r[i] for r in rows[:third]) for i in (0, 1))
    if not rising:
        return data
    return _SIDES.sub(
        lambda m: (
            m.group(1)
            + b"train accuracy: %s, val accuracy: %s" % m.group(2, 3)
            + (b", test accuracy: %s" % m.group(5) if m.group(4) else b"")
        ),
        data,
    )
