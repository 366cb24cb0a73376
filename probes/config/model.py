"""The model in the configuration: what is frozen, how it starts, and sizes that must fit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

from ...engine.model import Place
from .. import settings as names
from ..events import goes_on
from ..readers.text.arguments import BANNER
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Setting
from .values import carried, not_recorded, number_of, says, value_of


@probe("config:freeze")
def layers_frozen(view: View) -> Finding:
    """Part of the model is frozen by configuration."""
    setting = view.run.settings["freeze"]
    value = setting.value
    if isinstance(value, tuple):
        frozen = any(v not in (0, -1, None, False, "", "none") for v in value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # the usual detection recipes keep the stem (mmdetection: 1, detectron2: 2) of a trained backbone
        usual = {"frozen_stages": 1, "freeze_at": 2}.get(names.parts_of(setting.raw)[-1], 0)
        frozen = value > usual
    else:
        frozen = value not in (None, False, "", "none", "no", "false", "null", "[]")
    if "adapter" in view.run.settings:
        return unknown("adapters are trained, so the rest is frozen by design")
    if frozen:
        return present(f"part of the model is frozen ({says(setting)})", **carried(setting))
    return absent(f"nothing is frozen ({says(setting)})", **carried(setting))


_CHECKPOINT = re.compile(
    r"^(?:load_checkpoint|checkpoint_name_or_path|pretrained_model(?:_dir|_name_or_path)?|load_ckpt(?:_path)?"
    r"|pre_trained(?:_path)?|pretrained(?:_path|_ckpt|_model_path)?|ckpt_path|model_name_or_path|load)$",
    re.I,
)
FEW = 64
LEAST_LOSSES = 10
_EMPTY = ("", None, "none", "null", False, "false")


def _is_place(setting: Setting) -> bool:
    return _CHECKPOINT.match((names.parts_of(setting.key) or [""])[-1]) is not None


def names_weights(setting: Setting) -> bool:
    """Whether a setting names the checkpoint that training begins with."""
    told = str(setting.value).lower() if setting.value else setting.value
    return _is_place(setting) and told not in _EMPTY


_KERAS_LAYER = re.compile(r"^(.*\blayers)\.(\d+)\.config\.activation$")
_NO_ACTIVATION = ("linear", "none", "null", "")
_CHANCES = ("softmax", "sigmoid")


@probe()
def output_misses_loss(view: View) -> Finding:
    """The saved configuration of a Keras model: its cross-entropy wants chances and gets scores, or both.

    A loss that is named by a string takes chances (`from_logits` is false there).
    """
    told = [(m, s) for s in view.run.raw_settings if (m := _KERAS_LAYER.match(s.key))]
    outer = min((m[1].count("layers") for m, _ in told), default=0)  # a model may be a layer of another one
    last = max(
        ((int(m[2]), s) for m, s in told if m[1].count("layers") == outer),
        key=lambda pair: pair[0],
        default=None,
    )
    losses = [
        s
        for s in view.run.raw_settings
        if re.search(r"(?:^|\.)compile_config\.loss(?:\.class_name)?$", s.key)
    ]
    named = re.sub(r"[^a-z]", "", str(losses[0].value).lower()) if len(losses) == 1 else ""
    if last is None or "crossentropy" not in named:
        return unknown("no configuration of a Keras model with one cross-entropy lies in the run")
    at, output = last
    layers = [
        s.key
        for s in view.run.raw_settings
        if re.search(r"\blayers\.\d+\.class_name$", s.key) and s.key.count("layers") == outer
    ]
    if any(int(key.split(".")[-2]) > at for key in layers):
        return unknown("the last layer of the model has no setting `activation`")
    given = [
        s.value for s in view.run.raw_settings if s.key.endswith("compile_config.loss.config.from_logits")
    ]
    scores = bool(given and given[0] is True)
    kind = str(output.value).lower()
    words = (
        f"the last layer has the activation {kind}, and the loss wants {'scores' if scores else 'chances'}"
    )
    where = tuple(Place(s.file, s.line) for s in (output, losses[0]))
    if kind in (_CHANCES if scores else _NO_ACTIVATION):
        return present(words, where=where)
    return absent(words, where=where) if kind in (*_CHANCES, *_NO_ACTIVATION) else unknown(words)


_SCORED = re.compile(r"(?:^|\.)performance\.(?:ents|spans_\w+|cats_f)_per_type\.(.+)\.f$")
_LABELS = re.compile(r"^labels\.(?:ner|spancat|textcat\w*)$")


@probe()
def scored_beyond_labels(view: View) -> Finding:
    """The evaluation of a spaCy pipeline met labels that the model does not have, and finds none that it has.

    `performance` lists each label that was predicted or met, `labels` those of training.
    """
    scores = {m[1]: s for s in view.run.raw_settings if (m := _SCORED.search(s.key))}
    lists = [s.value for s in view.run.raw_settings if _LABELS.match(s.key)]
    known = {str(name) for row in lists if isinstance(row, tuple) for name in row}
    if not scores or not known:
        return unknown("no labels of a spaCy pipeline with their scores lie in the run")
    strange = [s for name, s in scores.items() if name not in known]
    if not strange:
        return absent(f"all {len(scores)} labels that were scored are those of the model")
    words = (
        f"{', '.join(sorted(set(scores) - known)[:4])}: scored, and no label of the model"
        f" ({', '.join(sorted(known)[:4])})"
    )
    if any(s.value for name, s in scores.items() if name in known):
        return unknown(f"{words}; others are found")
    return present(f"{words}; none that it has is found", where=(Place(strange[0].file, strange[0].line),))


@probe()
def tuned_from_nothing(view: View) -> Finding:
    """Fine-tuning is asked for by `run_mode` (MindFormers), and every place for a checkpoint is empty.

    Megatron-LM's `--finetune` asks for weights as well; its log says where it found none.
    """
    tunes = next((s for s in view.run.raw_settings if names.parts_of(s.key)[-1:] == ["finetune"]), None)
    gone = next((e for e in view.run.events_of("known-warning") if e.data == "no-checkpoint"), None)
    if tunes is not None and tunes.value is True and gone is not None:
        place = (Place(gone.file, gone.line), Place(tunes.file, tunes.line))
        trained = _begins_trained(view.run)
        if trained is not None:
            return unknown(f"the log says: {gone.text}; {trained}", where=place)
        return present(f"{tunes.key} is set, and the log says: {gone.text}", where=place)
    mode = next((s for s in view.run.raw_settings if names.parts_of(s.key)[-1:] == ["run_mode"]), None)
    if mode is None or str(mode.value).lower() != "finetune":
        return unknown("no settings ask for fine-tuning")
    places = [s for s in view.run.raw_settings if _is_place(s)]
    where = (Place(mode.file, mode.line), *(Place(s.file, s.line) for s in places[:3]))
    if not places:
        return unknown("fine-tuning is asked for; no settings name a checkpoint")
    named = next((s for s in places if names_weights(s)), None)
    if named is not None:
        return absent(f"fine-tuning begins with {named.key} = {named.value}", where=where)
    begun = _begins_trained(view.run)
    if begun is not None:
        return unknown(f"the configuration names no checkpoint; {begun}", where=where)
    listed = ", ".join(dict.fromkeys(s.key for s in places))
    return present(f"{mode.key} = finetune, and no checkpoint is named ({listed})", where=where)


BELOW_GUESS = 0.6  # of ln(vocabulary): nothing that starts from random weights begins so low


def _begins_trained(run: Run) -> str | None:
    """In words, that the first loss is that of trained weights: far below a guess among all words."""
    loss, words = run.series.get("train/loss"), number_of(run, "vocab_size")
    if loss is None or words is None or words < FEW or len(loss) < LEAST_LOSSES:
        return None
    first = float(loss.values[0])
    if not 0 < first < BELOW_GUESS * math.log(words):
        return None
    guess = f"{math.log(words):.4g} of a guess among {words:g} words"
    return f"the first loss, {first:.4g}, is far below the {guess}"


_OWN = re.compile(
    r"[-_](?:step|iter(?:ation)?|epoch)?[-_]?0*([1-9]\d*)(?:[-_.]\d+)?(?:\.\w+)?/?$", re.IGNORECASE
)
_KEPT = re.compile(r"^/checkpoint(?:_network)?(?:/|$)")  # where MindFormers saves, below its output


@probe()
def random_on_little(view: View, samples: float) -> Finding:
    """The log says that no trained weights were found for a model that is trained on fewer than `samples`.

    Whoever trains such a model from nothing has far more: it is meant to go on from trained weights.
    """
    from ..curves.situation import quality

    said = next((e for e in view.run.events_of("known-warning") if e.data == "random-weights"), None)
    known = number_of(view.run, "train_samples")
    if said is None:
        return unknown("no log says that the weights are random")
    where = (Place(said.file, said.line),)
    tower = next(
        (s for s in view.run.raw_settings if s.key.endswith("pretrained_image") and s.value is True), None
    )
    if tower is not None or view.run.events_of("resume") or "resume_from" in view.run.settings:
        return unknown("trained weights are loaded afterwards, or a part of the model has some", where=where)
    if known is None:
        return unknown("the number of training samples is not recorded", where=where)
    judged = quality(view.run, ("eval", "train"))
    if known < samples and judged is not None and judged[0] == "good":
        return unknown(f"the log says: {said.text}; {judged[1]}", where=where)
    words = f"the log says: {said.text}; there are {known:,.0f} training samples"
    say = present if known < samples else absent
    return say(words, value=known, threshold=samples, where=where)


_OTHER_STAGE = re.compile(r"(?i)(?:^|[-_./])(?:pre_?train\w*|base|stage_?1|cpt)(?:[-_./]|$)")


def loads_its_own(run: Run) -> bool | None:
    """Whether a run begins as a new one with a checkpoint that it saved itself; None: it is not known."""
    found = source_of(run)
    if found is None:
        return None
    new, source, home = found
    place, saved = (str(s.value).strip().rstrip("/") for s in (source, home))
    if _OTHER_STAGE.search(place.rpartition("/")[2]) and not _OTHER_STAGE.search(saved):
        return False  # of an earlier stage of training, which saved in the same place
    if new.value is not (names.parts_of(new.key)[-1] == "finetune") or not (
        place == saved or place.startswith(f"{saved}/")
    ):
        return False
    inside = place != saved and _KEPT.search(place[len(saved) :]) is not None
    return inside or _OWN.search(place) is not None or any(e.step is not None for e in goes_on(run))


def source_of(run: Run) -> tuple[Setting, Setting, Setting] | None:
    """What says that training begins anew, what it loads, and where it saves."""
    told = {(names.parts_of(s.key) or [""])[-1]: s for s in run.raw_settings if s.value not in (None, "")}
    for keys in (("finetune", "load", "save"), ("resume_training", "load_checkpoint", "output_dir")):
        new, source, home = (told.get(k) for k in keys)
        if new is not None and source is not None and home is not None and isinstance(new.value, bool):
            return new, source, home
    return None


@probe()
def moments_not_loaded(view: View) -> Finding:
    """A run that goes on from a checkpoint leaves the optimizer out (Megatron's `--no-load-optim`)."""
    resumed = goes_on(view.run)
    told = [s for s in view.run.raw_settings if names.parts_of(s.key)[-1:] == ["no_load_optim"]]
    if not told:
        return unknown("no settings tell whether the state of the optimizer is loaded")
    where = (Place(told[0].file, told[0].line),)
    if told[0].value is not True:
        return absent("the state of the optimizer is loaded", where=where)
    source = source_of(view.run)
    if source is not None and source[0].value is True and loads_its_own(view.run) is False:
        return unknown(f"{source[0].key} is set: a new training begins with weights of another", where=where)
    if _from_elsewhere(view.run) and "train/loss" not in view.run.earlier:
        return unknown(f"{told[0].key} is set, and what is loaded is not where the run saves", where=where)
    if not resumed or not any((e.step or e.value or 0) > 0 for e in resumed):
        return unknown(f"{told[0].key} is set; nothing says that the run goes on past its first step")
    step = next((e.step or e.value) for e in resumed if (e.step or e.value or 0) > 0)
    return present(
        f"the run goes on at step {step:g} with {told[0].key}: its moments begin anew", step=step, where=where
    )


@probe()
def data_place_not_restored(view: View) -> Finding:
    """A run goes on within an epoch and begins its data anew (`ignore_data_skip` of transformers)."""
    told = [s for s in view.run.raw_settings if names.parts_of(s.key)[-1:] == ["ignore_data_skip"]]
    if not told:
        return unknown("no settings tell whether samples that were seen are skipped at a restart")
    where = (Place(told[0].file, told[0].line),)
    if told[0].value is not True:
        return absent("samples that were seen are skipped at a restart", where=where)
    for event in goes_on(view.run):
        step = event.step or event.value or 0.0
        epoch = _epoch_at(view.run, step)
        if step > 0 and epoch is not None and 0.02 < epoch % 1.0 < 0.98:
            return present(
                f"the run goes on at step {step:g}, after {epoch:.2f} epochs, with {told[0].key}: the epoch"
                " begins anew with samples that were seen",
                step=step,
                where=where,
            )
    return unknown(f"{told[0].key} is set; nothing says that the run goes on within an epoch")


def _epoch_at(run: Run, step: float) -> float | None:
    loss = run.series.get("train/loss")
    if loss is None or loss.epochs is None or not len(loss):
        return None
    at = int(np.argmin(np.abs(loss.steps - step)))
    counted = float(loss.steps[at])
    return float(loss.epochs[at]) * step / counted if counted > 0 else None


def _from_elsewhere(run: Run) -> bool:
    """Whether a run loads from another place than where it saves (Megatron's `--load` and `--save`)."""
    told = {
        (names.parts_of(s.key) or [""])[-1]: str(s.value).rstrip("/") for s in run.raw_settings if s.value
    }
    return bool(told.get("load") and told.get("save")) and told["load"] != told["save"]


_DRAWS_ACTIONS = re.compile(r"(?i)(?:^|\.)(?:actor|policy|pi|dist\w*|exploration|agent|world_model)\.")


def _scaled_by_width(run: Run) -> bool:
    """muP divides what is configured by the width of each layer."""
    return any(
        re.match(r"(?:use_)?(?:mup|mu_?param\w*)(?:_|$)", names.last_part(s.key)) and s.value
        for s in run.raw_settings
    )


@probe("config:init_std")
def init_extreme(view: View, large: float, small: float) -> Finding:
    """The standard deviation of the initial weights is far from what is used."""
    setting = view.run.settings["init_std"]
    value = number_of(view.run, "init_std")
    if value is None or value < 0:
        return not_recorded("init_std")
    if _DRAWS_ACTIONS.search(setting.raw) or _scaled_by_width(view.run):
        return unknown(
            f"{says(setting)}: of actions, or scaled by the width of each layer", **carried(setting)
        )
    mine = [s for s in view.run.raw_settings if s.key == "init_std" and s.file == setting.file]
    drawn = [(float(s.value), s) for s in mine if isinstance(s.value, (int, float))]  # of each kind of layer
    widest, at = max(drawn, key=lambda x: x[0], default=(value, None))
    if at is not None and widest > max(value, large):
        text = f"init_std = {widest:g} in {at.file}"
        if min(v for v, _ in drawn) <= small * widest:
            return unknown(
                f"{text} beside ones of a ten-thousandth of it: layers are scaled against each other"
            )
        where = (Place(at.file, at.line),)
        return present(f"{text}, above {large:g}", value=widest, threshold=large, where=where)
    if value > large:
        return present(f"{says(setting)}, above {large:g}", **carried(setting, threshold=large))
    if value < small:
        return present(f"{says(setting)}, below {small:g}", **carried(setting, threshold=small))
    return absent(says(setting), **carried(setting, threshold=large))


@probe("config:initializer|config:init_std")
def init_zero(view: View) -> Finding:
    """All weights start at one value."""
    setting = view.run.settings.get("initializer")
    if setting is not None and re.fullmatch(
        r"(?:all_?)?(?:zeros?|ones?|const(?:ant)?)_?(?:init|initializer)?", str(setting.value)
    ):
        return present(f"weights start at one value ({says(setting)})", **carried(setting))
    spread = number_of(view.run, "init_std")
    if spread == 0:
        return present("the spread of the initial weights is zero", **carried(view.run.settings["init_std"]))
    shown = setting or view.run.settings["init_std"]
    return absent(says(shown), **carried(shown))


@probe("config:vocab_size", "config:tokenizer_vocab_size")
def vocab_mismatch(view: View) -> Finding:
    """The tokenizer has more tokens than the model has embeddings."""
    run = view.run
    model, tokens = number_of(run, "vocab_size"), number_of(run, "tokenizer_vocab_size")
    if model is None or tokens is None:
        return not_recorded("vocab_size")
    text = f"the tokenizer has {tokens:g} tokens, the model {model:g} embeddings"
    said = run.settings["tokenizer_vocab_size"]
    rest = carried(said, threshold=model)
    made = [names.number(s.value) or 0.0 for s in run.raw_settings if s.key == "embedding_rows_resized"]
    if any(tokens <= rows for rows in made):
        return absent(f"{text}, and is then given {max(made):g}", **rest)
    if said.trust == BANNER and 0 < tokens - model <= FEW:  # a script adds some
        return unknown(f"{text}: the model may be given rows for the tokens that were added", **rest)
    if tokens > model and (other := _other_words(run, tokens)):
        return unknown(f"{text}; {other}", **rest)
    # more embeddings than tokens is usual: they are padded to a multiple of 64 or 128
    return present(text, **rest) if tokens > model else absent(text, **rest)


_WORDS = re.compile(r"(?i)vocab|num_(?:text_)?tokens|n_(?:text_)?tokens|n_vocab")
_CODES = re.compile(r"(?i)codec|codebook|encodec|vq|acoustic|speech_tok|audio_tok|semantic")


def _other_words(run: Run, tokens: float) -> str:
    """Which other vocabulary text may be read with: models of speech have one for codes, too."""
    for setting in run.raw_settings:
        leaf = names.last_part(setting.key)
        if "tokenizer" in setting.key:
            continue
        count = None if isinstance(setting.value, tuple) else names.number(setting.value)
        if _WORDS.search(leaf) and count is not None and count >= tokens:
            return f"{setting.key} = {setting.value} may be the text's"
        if _CODES.search(setting.key):
            return f"{setting.key}: the model has a vocabulary of codes"
    return ""


@probe("config:num_classes", "config:data_num_classes")
def num_classes_mismatch(view: View) -> Finding:
    """Data and model have different numbers of classes."""
    run = view.run
    model, data = number_of(run, "num_classes"), number_of(run, "data_num_classes")
    if model is None or data is None:
        return not_recorded("num_classes")
    if run.settings["num_classes"].raw == run.settings["data_num_classes"].raw:
        return unknown("the number of classes is known from the data only")
    text = f"the data have {data:g} classes, the model {model:g}"
    rest = carried(run.settings["num_classes"], threshold=data)
    # one more is a background class; one output is enough for two classes
    fits = model in (data, data + 1) or (model == 1 and data == 2)
    return absent(text, **rest) if fits else present(text, **rest)


@probe("config:pad_token_id|config:pad_token")
def pad_equals_eos(view: View) -> Finding:
    """Padding and the end of a text are one token."""
    run = view.run
    for pad, eos in (("pad_token", "eos_token"), ("pad_token_id", "eos_token_id")):
        first, second = run.settings.get(pad), run.settings.get(eos)
        if first is None or second is None:
            continue
        ends = second.value if isinstance(second.value, tuple) else (second.value,)
        equal = any(names.same(first.value, e) for e in ends)
        text = f"{says(first)}, {says(second)}"
        return present(text, **carried(first)) if equal else absent(text, **carried(first))
    return unknown("the end token is not recorded")


@probe("config:activation")
def activation_unfit(view: View, layers: float) -> Finding:
    """Sigmoid or tanh between the layers of a deep model."""
    setting = view.run.settings["activation"]
    if setting.value not in ("sigmoid", "tanh", "hardsigmoid", "hard_sigmoid", "softsign", "hardtanh"):
        return absent(says(setting), **carried(setting))
    depth = number_of(view.run, "num_layers")
    if depth is None:
        return unknown(f"{says(setting)}; the number of layers is not recorded")
    text = f"{says(setting)} in {depth:g} layers"
    rest = carried(setting, threshold=layers)
    return present(text, **rest) if depth >= layers else absent(text, **rest)


@probe("config:normalization_layer")
def norm_layers_missing(view: View, layers: float) -> Finding:
    """A deep model without normalisation layers."""
    setting = view.run.settings["normalization_layer"]
    if setting.value != "none":
        return absent(says(setting), **carried(setting))
    depth = number_of(view.run, "num_layers")
    if depth is None:
        return unknown("no normalisation layers; the number of layers is not recorded")
    text = f"{depth:g} layers without normalisation ({says(setting)})"
    rest = carried(setting, threshold=layers)
    return present(text, **rest) if depth >= layers else absent(text, **rest)


_BATCH_NORM_MODELS = re.compile(
    r"^(?:wide_?)?(?:resnet|resnext|mobilenet|efficientnet|densenet|shufflenet|regnet|yolo)"
)


_OTHER_NORMS = re.compile(r"\b(?:Layer|Group|Instance|RMS)Norm(?:[123]d|alization)?\(")


# `def __init__(self, width, norm=nn.BatchNorm2d)`: the kind of layer is handed on, and called by another name
_HANDED_ON = re.compile(r"\b\w*norm\w*\s*(?::[^=,()]+)?=\s*(?:\w+\.)*BatchNorm(?:[123]d|alization)\b(?!\()")
_OTHERS_HANDED = re.compile(r"\b(?:Layer|Group|Instance|RMS)Norm(?:[123]d|alization)?\b")
_LAYERS = re.compile(r"\b(?:Linear|Dense|Conv[123][dD]|LSTM|GRU)\(")
_PERHAPS = re.compile(
    r"(?i)batch_?norm|norm_layer|\bbn\b|torchvision|\btimm\b|transformers|\bhub\b|applications|pretrained|load_model"
    r"|segmentation_models|\bmm\w+|monai|ultralytics|^\s*from\s+(?:\.|\w*(?:models?|net\w*|backbones?|arch\w*)\b)",
    re.MULTILINE,
)


_OPTIMIZERS = re.compile(r"(?<!def )\b(?:Adam|AdamW|RMSprop|SGD)\(")


def _pictures_of_pictures(script: str) -> bool:
    """A network that makes pictures of pictures against another one: each has an optimizer of its own."""
    return "ConvTranspose2d(" in script and len(_OPTIMIZERS.findall(script)) > 1


def _norm_of_scripts(scripts: Iterable[str]) -> str | None:
    """What normalises in the scripts' own model: "batchnorm", "none", or None where that is not seen."""
    texts = list(scripts)
    if any(map(_HANDED_ON.search, texts)) and not any(map(_OTHERS_HANDED.search, texts)):
        return "batchnorm"
    return "none" if any(map(_LAYERS.search, texts)) and not any(map(_PERHAPS.search, texts)) else None


@probe("config:batch_size|config:global_batch_size")
def batch_norm_small_batch(view: View, limit: float) -> Finding:
    """Batch normalisation over fewer than `limit` samples per device.

    Where only the batch of all devices is told, no device has more.
    """
    run = view.run
    key = "batch_size" if "batch_size" in run.settings else "global_batch_size"
    size = number_of(run, key)
    if size is None:
        return not_recorded("batch_size")
    norm = value_of(run, "normalization_layer")
    if norm is None and value_of(run, "model") is None:
        norm = _norm_of_scripts(run.scripts.values())
    joined = any(names.parts_of(s.key)[-1:] == ["sync_bn"] and s.value is True for s in run.raw_settings)
    setting = run.settings[key]
    rest = carried(setting, threshold=limit)
    if size >= limit and key != "batch_size":
        return unknown(f"{says(setting)}; the share of a device is not recorded", **rest)
    if size >= limit:
        return absent(f"{size:g} samples per device", **rest)
    if joined:
        return unknown("the statistics are those of all devices together (sync_bn)", **rest)
    if any(names.parts_of(r.key)[-1:] == ["norm_eval"] and r.value is True for r in run.raw_settings):
        return absent("the statistics of batch normalisation are not updated (norm_eval)", **rest)
    if norm is not None and any(names.parts_of(r.key)[-1:] == ["frozen_stages"] for r in run.raw_settings):
        return unknown("detection backbones often keep their batch statistics; not recorded here", **rest)
    if (
        size == 1
        and any("BatchNorm1d" in s for s in run.scripts.values())
        and not any(re.search(r"BatchNorm[23]d|Conv1d", s) for s in run.scripts.values())
    ):
        return unknown(
            "batch normalisation of vectors refuses one sample: batches are made elsewhere", **rest
        )
    if size == 1 and any(map(_pictures_of_pictures, run.scripts.values())):
        return unknown("networks from picture to picture are published with batches of one picture", **rest)
    if norm == "batchnorm" and any(_OTHER_NORMS.search(s) for s in run.scripts.values()):
        return unknown("the scripts hold models of other normalisation too; which trains is not seen", **rest)
    if norm == "batchnorm" or (norm is None and _BATCH_NORM_MODELS.match(str(value_of(run, "model") or ""))):
        return present(f"batch normalisation over {size:g} samples per device", **rest)
    if norm == "none":
        return absent("the scripts' model has no batch normalisation", **rest)
    if norm is not None:
        return absent(f"normalisation is {norm}", **rest)
    return unknown("the kind of normalisation layers is not recorded")
