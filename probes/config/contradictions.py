"""Settings that do not fit one another: files of both sides, sense of a watched metric, order of channels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.model import Place
from .. import settings as names
from ..code.shared.roles import split_of, trains
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Setting

_FILE = re.compile(
    r"[^\s:]+\.(?:csv|tsv|txt|jsonl?|parquet|arrow|npz?|h5|hdf5|tfrecords?|records?|lmdb|pkl|xml|conllu?)$",
    re.I,
)
_TRAINING = re.compile(r"(?:^|[._\-])train(?:ing|set)?(?:[._\-]|\d|$)", re.I)
_PATH = re.compile(
    r"(?:^|_)(?:path|file|files|src|tgt|source|target|data|dataset|set|ann|annotations?|corpus|images?|dir|folder"
    r"|root)(?:_|$)"
)
_ALIKE = re.compile(
    r"(?i)(?:^|[._-])(?:dict(?:ionary)?|char\w*_dict\w*|vocab\w*|alphabet|charset|tokenizer\w*|lexicon|classes|class_names|names"
    r"|label_?map|mapping|anchors?)(?:[._-]?(?:path|file|dir|name))?$"
)
_TELLS_APART = re.compile(
    r"split|fold|frac|ratio|percent|subset|index|indices|range|slice|cutoff|(?:^|_)cv(?:_|$)"
    r"|(?:^|_)(?:val|valid|validation|eval|dev|test|holdout|heldout)_(?:size|samples|count|rows|years?)(?:_|$)"
    r"|(?:^|_)(?:start|begin|end|from|until|date|dates|period|years?)$"
)
_OF_TRAINING_ALONE = re.compile(r"(?i)warm_?up|decay|dropout|lora|mask|clip|loss|(?:^|_)lr(?:_|$)")
_EVALUATES = frozenset({"do_eval", "do_validation", "run_eval", "eval_during_training", "with_eval"})
_NEVER = frozenset({"no", "never", "none", "off"})


def _sided(run: Run) -> Iterator[tuple[bool, str, str, Setting]]:
    """(of training, key without the side, value, setting) of settings that name a file of one side."""
    keys = {(s.file, s.key) for s in run.raw_settings}
    for setting in run.raw_settings:
        given = setting.value
        value = given[0] if isinstance(given, tuple) and len(given) == 1 else given
        if not isinstance(value, str) or not 3 <= len(value) <= 300:
            continue
        parts = names.parts_of(setting.key)
        words = [w for part in parts for w in part.split("_")]
        sides = {trains(split_of(w)) for w in words} - {None}
        if any((setting.file, f"{side}_{setting.key}") in keys for side in ("val", "eval")):
            sides.add(True)  # ms-swift: `dataset` beside `val_dataset`
        if len(sides) != 1 or "test" in words:
            continue
        bare = ".".join("_".join(w for w in p.split("_") if trains(split_of(w)) is None) for p in parts)
        yield True in sides, re.sub(r"\.{2,}", ".", bare).strip("."), value, setting


@probe()
def held_out_file_of_training(view: View) -> Finding:
    """The configuration names one and the same file (or folder of training data) for both sides."""
    run = view.run
    named: dict[bool, list[tuple[str, str, Setting]]] = {True: [], False: []}
    for side, bare, value, setting in _sided(run):
        if _ALIKE.search(setting.key):
            continue  # what both sides have to read by
        if _FILE.match(value) or (_PATH.search(names.last_part(setting.key)) and "/" in value):
            named[side].append((bare, value, setting))
    if not named[False]:
        return unknown("the configuration names no file of held-out data")
    looked = 0
    for _, value, held in named[False]:
        if _never_evaluates(run, held.file):
            continue
        mine = next((s for _, v, s in named[True] if v == value and s.file == held.file), None)
        if mine is None:
            mine = _sibling(run, held)
        looked += mine is not None or bool(named[True])
        if mine is None or not (_FILE.match(value) or _of_training(value)) or _told_apart(run, held):
            continue
        return present(
            f"{mine.key} and {held.key} are both {value}",
            value=value,
            where=(Place(held.file, held.line), Place(mine.file, mine.line)),
        )
    if not looked:
        return unknown("the configuration names the files of one side alone")
    return absent("training and held-out data come from different files")


def _never_evaluates(run: Run, file: str) -> bool:
    """A file says that nothing is evaluated: templates name the training file in the block of evaluation."""
    for setting in run.raw_settings:
        if setting.file != file:
            continue
        name, value = names.last_part(setting.key), setting.value
        off = name in _EVALUATES and value is False
        if off or (name in ("eval_strategy", "evaluation_strategy") and str(value).lower() in _NEVER):
            return True
    return False


_DICTIONARY = re.compile(
    r"(?i)(?:^|_)(?:char\w*_dict(?:_path|_file)?|dict_path|dict_file|vocab_(?:file|path)|label_map(?:_path|_file)?"
    r"|alphabet(?:_file)?)$"
)
# blocks that are one job at another time: training, evaluation, coding and decoding
_PHASE = re.compile(
    r"(?i)^(?:train\w*|val\w*|eval\w*|test\w*|infer\w*|predict\w*|deploy\w*|(?:pre|post)(?:_?process\w*)?|global|common"
    r"|process\w*|(?:data)?loader|dataset|data|transforms?|pipeline|encode|decode|input|reader|config|metric|loss)$"
)
_CLASS = re.compile(r"[A-Z]\w*?[a-z]\w*?[A-Z]")
_TEXT = re.compile(r"[^\s:]+\.(?:txt|json|ya?ml|names|dict|vocab|model|csv|tsv)$", re.I)


@probe()
def dictionaries_disagree(view: View) -> Finding:
    """One configuration names two files for one dictionary of classes, characters or words."""
    named: dict[tuple[str, str, str], dict[str, Setting]] = {}
    for setting in view.run.raw_settings:
        leaf = names.last_part(setting.key)
        if isinstance(setting.value, str) and _DICTIONARY.search(leaf) and _TEXT.match(setting.value):
            by_name = named.setdefault((setting.file, leaf, _read_for(setting)), {})
            by_name.setdefault(setting.value.replace("\\", "/").rpartition("/")[2], setting)
    if not named:
        return unknown("no configuration names a dictionary of classes, characters or words")
    for found in named.values():
        one, other = (*found.values(), None, None)[:2]
        if one is not None and other is not None and _phases(one) != _phases(other):
            return present(
                f"{one.key} is {one.value}, and {other.key} is {other.value}",
                value=other.value,
                where=(Place(other.file, other.line), Place(one.file, one.line)),
            )
    return absent("every dictionary has one file")


def _read_for(setting: Setting) -> str:
    """What a dictionary is of, by the blocks that are no phase: those of two languages or tasks differ."""
    above = re.split(r"[.\[\]]+", setting.key)[:-1]
    return ".".join(p for p in above if not (_PHASE.match(p) or p.isdigit() or _CLASS.match(p)))


def _phases(setting: Setting) -> set[str]:
    return {p for p in re.split(r"[.\[\]]+", setting.key)[:-1] if _PHASE.match(p) or _CLASS.match(p)}


def _of_training(value: str) -> bool:
    return bool(_TRAINING.search(value.rstrip("/").rpartition("/")[2]))


def _sibling(run: Run, held: Setting) -> Setting | None:
    """`data.corpus_1.path_src` beside `data.valid.path_src`: another block with the same key and value."""
    above, _, leaf = held.key.rpartition(".")
    top = above.rpartition(".")[0]
    if not top:
        return None
    for setting in run.raw_settings:
        block, _, last = setting.key.rpartition(".")
        beside = block != above and block.rpartition(".")[0] == top and last == leaf
        if (
            beside
            and setting.value == held.value
            and setting.file == held.file
            and _of_training(str(held.value))
        ):
            if trains(split_of(names.last_part(block))) is not False and "test" not in block:
                return setting
    return None


def _told_apart(run: Run, held: Setting) -> bool:
    """Whether a share, a fold or the name of a split may take other rows of the same file."""
    above = held.key.rpartition(".")[0]
    for setting in run.raw_settings:
        if setting.file != held.file or setting.value in (None, False, 0, "", "null", "None"):
            continue
        block, _, leaf = setting.key.rpartition(".")
        if _OF_TRAINING_ALONE.search(leaf):
            continue  # `warmup_ratio` shares no rows out
        if (block == above or not block or above.startswith(block)) and _TELLS_APART.search(
            names.last_part(leaf)
        ):
            return True
    return False


# ------------------------------------------------------------------------------ the sense of a watched metric

_LESS = re.compile(
    r"(?:^|[_/.\-@ ])(?:loss|error|err|wer|cer|per|ter|perplexity|ppl|rmse|mse|mae|mape|nll|eer|fid|bpc|bpb)"
    r"(?:$|[_/.\-@ \d])"
)
_MORE = re.compile(
    r"(?:^|[_/.\-@ ])(?:acc|accuracy|f1|auc|auroc|auprc|map|miou|iou|dice|bleu|chrf|rouge\w*|r2|recall"
    r"|precision|psnr|ssim|spearman\w*|pearson\w*|mcc|kappa|ndcg|mrr|reward|return|top1|top5|map50|ap"
    r"|ap50)(?:$|[_/.\-@ \d])"
)


# A score that was turned round (scikit-learn's neg_mean_squared_error), what is to be forgotten or attacked,
# and counts per something else: the word that follows does not tell the sense.
_TURNED = re.compile(
    r"(?:^|[_/.\-@ ])(?:neg|negative|minus|inv|inverse|one_minus|forget\w*|unlearn\w*|adv|adversarial"
    r"|attack\w*|poison\w*|ood|domain\w*)(?=[_/.\-@ ])|_per_\w|_diff|_gap|_improvement|^1 ?-"
)


def _less_is_better(metric: str) -> bool | None:
    """Whether less of what a metric is called is better; None where its name tells both or neither."""
    low = metric.lower().lstrip("+-")
    if _TURNED.search(low):
        return None
    less, more = bool(_LESS.search(low)), bool(_MORE.search(low))
    return less if less != more else None


def _senses(run: Run) -> Iterator[tuple[bool, bool, Setting, Setting]]:
    """(whether training stops by it, whether less is taken for better, the metric's setting, the sense's)."""
    by_block: dict[tuple[str, str], dict[str, Setting]] = {}
    signed: list[tuple[str, Setting]] = []
    for setting in run.raw_settings:
        block, _, leaf = setting.key.rpartition(".")
        by_block.setdefault((setting.file, block), {})[names.last_part(leaf)] = setting
        if names.last_part(leaf) in ("validation_metric", "early_stopping_metric", "main_metric"):
            if isinstance(setting.value, str) and setting.value[:1] in ("+", "-"):
                signed.append((block, setting))
    for block, setting in signed:  # AllenNLP keeps the best by it, and stops by it where there is a patience
        less = str(setting.value)[0] == "-"
        patience = by_block[(setting.file, block)].get("patience")
        yield False, less, setting, setting
        if "stop" in setting.key or (patience is not None and names.number(patience.value)):
            yield True, less, setting, setting
    for (file, block), told in by_block.items():
        metric, mode = told.get("monitor"), told.get("mode")
        if metric is not None and mode is not None and str(mode.value).lower() in ("min", "max"):
            above = by_block.get((file, block.rpartition(".")[0]), {})
            kind = " ".join(
                str(d[k].value)
                for d in (told, above)
                for k in ("class_path", "_target_", "type", "name")
                if k in d
            )
            stops = "patience" in told or "stop" in (kind + block).lower()
            yield stops, str(mode.value).lower() == "min", metric, mode
        metric, greater = told.get("metric_for_best_model"), told.get("greater_is_better")
        if metric is not None and greater is not None and isinstance(greater.value, bool):
            yield "early_stopping_patience" in told, not greater.value, metric, greater


def _turned_round(view: View, stopping: bool) -> Finding:
    seen = None
    for stops, less, metric, sense in _senses(view.run):
        better = _less_is_better(str(metric.value))
        if stops is not stopping or better is None:
            continue
        words = f"{metric.key} = {metric.value}" + (
            f" with {sense.key} = {sense.value}" if sense is not metric else ""
        )
        where = (Place(sense.file, sense.line),)
        if better is not less:
            kind = "a smaller" if better else "a larger"
            return present(f"{words}, though {kind} one is better", value=str(sense.value), where=where)
        seen = seen or absent(words, where=where)
    return seen or unknown("no setting says whether less or more of a metric is better")


@probe()
def stopping_turned_round(view: View) -> Finding:
    """Early stopping waits for a loss to grow, or for a score to fall."""
    return _turned_round(view, stopping=True)


@probe()
def best_turned_round(view: View) -> Finding:
    """The best checkpoint is the one with the largest loss, or with the smallest score."""
    return _turned_round(view, stopping=False)


# Values from which on little of a picture is left as it was, by the names of Ultralytics and its kin
_EXTREMES = {"translate": 0.7, "shear": 25.0, "perspective": 0.001, "mixup": 0.9, "hsv_h": 0.3, "hsv_v": 0.85}
_EXTREMES |= {"copy_paste": 0.9, "cutmix": 0.9, "degrees": 90.0, "scale": 0.85}


@probe()
def augmentation_extreme(view: View, least: int = 4) -> Finding:
    """`least` kinds of random change of pictures are each set to where little of one stays as it was."""
    told: dict[str, tuple[Setting, float]] = {}
    for setting in view.run.raw_settings:
        name, value = names.last_part(setting.key), names.number(setting.value)
        if name in _EXTREMES and value is not None:
            told.setdefault(name, (setting, value))
    if len(told) < least:
        return unknown("no configuration names several random changes of pictures")
    far = {name: s for name, (s, value) in told.items() if abs(value) >= _EXTREMES[name]}
    words = ", ".join(f"{s.key} = {s.value}" for s in far.values()) or "none of them is extreme"
    if len(far) < least:
        return absent(words, value=len(far), threshold=least)
    where = tuple(Place(s.file, s.line) for s in far.values())
    return present(words, value=len(far), threshold=least, where=where)


@probe()
def labels_beyond_cosine(view: View) -> Finding:
    """A loss that compares labels with cosines, which end at 1, gets labels above that."""
    told = {names.last_part(s.key): s for s in view.run.raw_settings if s.key.startswith("train_labels.")}
    loss = next((s for s in view.run.raw_settings if str(s.value) == "CosineSimilarityLoss"), None)
    most = names.number(told["max"].value) if "max" in told else None
    if loss is None or most is None:
        return unknown("no loss of cosines and no range of its labels are told")
    words = f"the loss is CosineSimilarityLoss, and the labels of training go up to {most:g}"
    where = (Place(told["max"].file, told["max"].line), Place(loss.file, loss.line))
    if most > 1:
        return present(words, value=most, threshold=1.0, where=where)
    return absent(words, value=most, threshold=1.0, where=where)


# ----------------------------------------------------------------------------------------- means and channels

_IMAGENET = (123.675, 116.28, 103.53)  # of red, green and blue
_CAFFE = (122.7717, 115.9465, 102.9801)


def _as_rgb(mean: object) -> bool | None:
    """Whether three means are ImageNet's in the order red, green, blue (False: blue first; None: others)."""
    if not isinstance(mean, tuple) or len(mean) != 3:
        return None
    told = [names.number(m) for m in mean]
    if any(m is None for m in told):
        return None
    numbers = [float(m or 0) for m in told]
    if max(numbers) <= 1:
        numbers = [m * 255 for m in numbers]
    for known in (_IMAGENET, _CAFFE):
        for order, rgb in ((known, True), (known[::-1], False)):
            if all(abs(a - b) < 0.6 for a, b in zip(numbers, order, strict=True)):
                return rgb
    return None


@probe("config:mean", "config:channel_order")
def means_of_other_order(view: View) -> Finding:
    """ImageNet's means stand in the order blue, green, red where images are read red first, or vice versa."""
    mean, order = view.run.settings["mean"], view.run.settings["channel_order"]
    rgb = _as_rgb(mean.value)
    word = str(order.value).lower()
    read = {"true": True, "rgb": True, "false": False, "bgr": False}.get(word)
    if names.parts_of(order.raw)[-1] == "bgr":
        read = None if read is None or word in ("rgb", "bgr") else not read
    if rgb is None or read is None:
        return unknown("the means are not ImageNet's, or the order of the channels is not told")
    if mean.file != order.file:
        return unknown("means and order stand in different files")
    shown = ", ".join(str(m) for m in mean.value) if isinstance(mean.value, tuple) else str(mean.value)
    words = (
        f"{mean.raw} = {shown} are ImageNet's means in the order"
        f" {'red, green, blue' if rgb else 'blue, green, red'}, and {order.raw} = {order.value}"
    )
    where = (Place(mean.file, mean.line), Place(order.file, order.line))
    return present(words, where=where) if rgb is not read else absent(words, where=where)


def left_as_they_are(run: Run) -> Finding:
    """Mean 0 and deviation 1 in a data preprocessor of pixels from 0 to 255 (OpenMMLab, detectron2)."""
    mean, std = run.settings.get("mean"), run.settings.get("std")
    if mean is None or std is None or not isinstance(mean.value, tuple) or not isinstance(std.value, tuple):
        return unknown("no mean and deviation of the inputs are recorded")
    where = (Place(mean.file or "", mean.line), Place(std.file or "", std.line))
    words = f"{mean.raw} = {list(mean.value)}, {std.raw} = {list(std.value)}"
    nothing = {names.number(v) for v in mean.value} == {0.0} and {names.number(v) for v in std.value} == {1.0}
    of_pixels = re.search(r"data_preprocessor|img_norm_cfg|pixel_mean", mean.raw, re.IGNORECASE)
    if nothing and of_pixels:
        return present(f"{words}: pixels from 0 to 255 go in as they are", where=where)
    return unknown(f"{words}: whether something else scales the inputs is not known")
