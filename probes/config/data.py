"""The data in the configuration: order, normalisation, number of samples and balance of classes."""

from __future__ import annotations

import ast
import re
from itertools import takewhile

from ...engine.model import Place, State
from .. import settings as names
from ..curves import situation
from ..readers.notebook import file_of
from ..readers.script import last_name
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Configured, Run, Setting
from ..scripts.flow import flow
from .contradictions import left_as_they_are
from .values import carried, not_recorded, number_of, says, value_of

LONGEST_NAME = 40  # longer ones are the template itself


def _last(setting: Setting) -> str:
    return setting.key.rpartition(".")[2]


_ORDERS = re.compile(
    r"(?:^|\.)(?:batch_)?sampler(?:\.|$)|shuffle_?buffer|buffer_size$|(?:^|[._])pre_?shuffled?$"
)
_IN_ORDER = re.compile(r"(?i)sequential|^(?:none|null|false|0)?$")


def shuffled_by(run: Run, setting: Configured) -> str:
    """What else gives the order of samples: a sampler of the same loader, a buffer, or shuffled data.

    PyTorch takes no `shuffle=True` beside a sampler, and DistributedSampler shuffles unless told otherwise.
    """
    above = setting.raw.rpartition(".")[0]
    beside = {s.key: s for s in run.raw_settings if s.file == setting.file and s.key.startswith(above)}
    for key, other in beside.items():
        if key == setting.raw or key.endswith("shuffle") or not _ORDERS.search(key[len(above) :].lower()):
            continue
        if _IN_ORDER.search(str(other.value)) is None:
            inner = beside.get(f"{key.rpartition('.')[0]}.shuffle")
            if inner is None or inner.key == setting.raw or inner.value is not False:
                return f"{key} = {other.value}"
    return ""


def _gives_its_order(run: Run, setting: Configured) -> bool:
    """The loader of that line takes an iterable data set, which no loader shuffles."""
    from ..code.shared.checks import scripts

    for source in scripts(run):
        for call in source.named("DataLoader"):
            if source.place(call).line != setting.line or not call.args:
                continue
            made = [call.args[0], *flow(source).values(call.args[0], 3)]
            owners = [source.classes.get(last_name(m.func)) for m in made if isinstance(m, ast.Call)]
            if any(last_name(b) == "IterableDataset" for o in owners if o is not None for b in o.bases):
                return True
    return False


@probe("config:shuffle")
def shuffle_off(view: View) -> Finding:
    """Training data are read in a fixed order.

    Where a training loader of a script says so, `script-loader-keeps-order` tells it, and it counts once.
    """
    setting = view.run.settings["shuffle"]
    if setting.value is False and (by := shuffled_by(view.run, setting)):
        return unknown(f"{says(setting)}: {by} may give the order", **carried(setting))
    if setting.value is False and setting.file in view.run.scripts:
        from ..code.samples.feeding import loader_keeps_order

        if _gives_its_order(view.run, setting):
            return unknown(f"{says(setting)}: the data set gives its samples in an order of its own")
        told = loader_keeps_order(view)
        if told.state is State.PRESENT:
            return unknown(f"{says(setting)}: {told.why}, which is judged by itself", **carried(setting))
    return _switched_off(setting, "shuffling")


@probe()
def normalization_off(view: View) -> Finding:
    """Inputs are not normalised."""
    if "normalize" not in view.run.settings:
        return left_as_they_are(view.run)
    return _switched_off(view.run.settings["normalize"], "input normalisation")


def _switched_off(setting: Configured, what: str) -> Finding:
    if setting.value is False:
        return present(f"{what} is off ({says(setting)})", **carried(setting))
    return absent(f"{what} is on ({says(setting)})", **carried(setting))


# Also how many numbers an estimate draws, or how many samples are shown
_OF_ANYTHING = frozenset({"n_samples", "num_samples"})
_MAKES = (
    r"(?:make_\w+|\w*[Dd]ata\w*|generate\w*|load\w*|synth\w*|create\w*|sample\w*|rand\w*)\([^()]*\b{name}\b"
)


@probe("config:train_samples")
def train_samples_few(view: View, samples: float) -> Finding:
    """Fewer training samples than `samples`, where the model is not merely adapted."""
    setting = view.run.settings["train_samples"]
    value = number_of(view.run, "train_samples")
    if value is None:
        return not_recorded("train_samples")
    rest = carried(setting, threshold=samples)
    if value >= samples:
        return absent(f"{value:g} training samples", **rest)
    name = setting.raw.rpartition(".")[2]
    if name in _OF_ANYTHING and file_of(setting.file) in view.run.scripts:
        made = re.compile(_MAKES.format(name=name))
        if not any(made.search(text) for text in view.run.scripts.values()):
            return unknown(f"{value:g} samples, and the script does not say of what")
    theirs = number_of(view.benchmark, "train_samples") if view.benchmark is not None else None
    if theirs is not None and theirs <= value:
        return unknown(f"{value:g} training samples, and the benchmark has no more ({theirs:g})")
    if "adapter" in view.run.settings or value_of(view.run, "pretrained") not in (None, False):
        return unknown(f"{value:g} training samples, and the model starts from trained weights")
    return present(f"{value:g} training samples", **rest)


@probe()
def classes_imbalanced(view: View, ratio: float) -> Finding:
    """The largest class has many times the samples of the smallest."""
    found = names.class_counts(view.run.raw_settings)
    if found is None:
        return unknown("class counts are not recorded")
    counts, setting = found
    least, most = min(counts), max(counts)
    value = most / least if least > 0 else float("inf")
    where = (Place(setting.file, setting.line),)
    text = f"{len(counts)} classes with {least:g} to {most:g} samples"
    if value >= ratio and most > 0:
        return present(text, value=value, threshold=ratio, where=where)
    return absent(text, value=value, threshold=ratio, where=where)


@probe()
def padding_counted(view: View) -> Finding:
    """Labels of padding are kept: `ignore_pad_token_for_loss` of the examples of transformers is off."""
    told = next((s for s in view.run.raw_settings if _last(s) == "ignore_pad_token_for_loss"), None)
    if told is None or not isinstance(told.value, bool):
        return unknown("nothing says whether padding counts in the loss")
    padded = next((s for s in view.run.raw_settings if _last(s) == "pad_to_max_length"), None)
    where = (Place(told.file, told.line),)
    if told.value:
        return absent(f"{told.key} = true", where=where)
    filled = padded is not None and padded.value is True
    more = f", and every sample is filled up ({padded.key} = true)" if padded is not None and filled else ""
    return present(f"{told.key} = false: the loss counts padding{more}", where=where)


# Templates that LLaMA-Factory, Unsloth and others have for one family of models. Those of many (alpaca,
# vicuna, chatml, default) fit any model that is tuned with them; that of Mistral is nearly that of Llama 2.
_FAMILIES = {f: f for f in ("llama", "qwen", "gemma", "glm", "baichuan", "phi", "deepseek", "falcon", "yi")}
_FAMILIES |= {"tinyllama": "llama", "codellama": "llama", "mistral": "llama", "mixtral": "llama"}
_FAMILIES |= {"codeqwen": "qwen", "codegemma": "gemma", "intern": "internlm", "internlm": "internlm"}
_FAMILIES |= {"chatglm": "glm"}


def _families(text: str) -> set[str]:
    words = re.split(r"[^a-z]+", text.lower().rpartition("/")[2])
    return {_FAMILIES[w] for w in words if w in _FAMILIES}


# the second and the third generation have other vocabularies
_LLAMA = re.compile(r"llama[-_ ]?([23])(?!\d|(?:\.\d+)?b(?![a-z]))")  # "llama-3b" tells a size
_NAMES_TOKENIZER = re.compile(
    r"(?:^|\.)tokenizer(?:_name|_path|_config|_name_or_path|\.path|\._component_|\.type)?$"
)


@probe()
def tokenizer_of_another_model(view: View) -> Finding:
    """The tokenizer is called after another family than the model, or after another generation of Llama."""
    settings = [s for s in view.run.raw_settings if isinstance(s.value, str) and 0 < len(s.value) <= 300]
    tokenizer = [s for s in settings if _NAMES_TOKENIZER.search(s.key)]
    model = [s for s in settings if _NAMES_WEIGHTS.search(s.key) and s not in tokenizer]
    same: Finding | None = None
    if "pretrained" in view.run.settings and not view.run.settings["pretrained"].value:
        return unknown("the model starts from scratch, with any tokenizer")
    for mine in tokenizer:
        near = [s for s in model if _LLAMA.search(str(s.value).lower())]
        deepest = max((_together(mine, s) for s in near), default=0)
        near = [s for s in near if _together(mine, s) == deepest]  # a reward model has one of its own
        if len({frozenset(_LLAMA.findall(str(s.value).lower())) for s in near}) > 1:
            continue
        for theirs in near:
            words = f"{mine.key} = {mine.value}, and {theirs.key} = {theirs.value}"
            where = (Place(mine.file, mine.line), Place(theirs.file, theirs.line))
            a, b = (set(_LLAMA.findall(str(s.value).lower())) for s in (mine, theirs))
            if a and b and not a & b:
                return present(words, where=where)
            same = absent(words, where=where) if a & b else same
    return same or unknown("tokenizer and model are not both called after a family of models")


def _together(one: Setting, other: Setting) -> int:
    """How many blocks two settings have in common."""
    above = [s.key.split(".")[:-1] for s in (one, other)]
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*above, strict=False)))


_NAMES_WEIGHTS = re.compile(
    r"(?:^|\.)(?:model_name_or_path|pretrained_model_name_or_path|base_model|model_id|model|model_path"
    r"|checkpoint_dir|model\._component_)$"
)


_NOTHING = re.compile(
    r"(?i)back_?ground|(?<![a-z])(?:bg|none|void|nothing|ignored?|negative|other)(?![a-z])|unlabell?ed"
)


@probe()
def label_ids_from_zero(view: View) -> Finding:
    """A map of labels begins with 0, which is the background where classes are numbered from 1.

    So it is in the maps (`label_map.pbtxt`) of TensorFlow's Object Detection API.
    """
    named = {
        str(s.value).rpartition("/")[2]
        for s in view.run.raw_settings
        if s.key.endswith("label_map_path") and isinstance(s.value, str)
    }
    ids = {
        number: s
        for s in view.run.raw_settings
        if re.fullmatch(r"item(?:\.\d+)?\.id", s.key)
        if (name := s.file.rpartition("/")[2]) in named or re.search(r"map\w*\.pbtxt$", name)
        if (number := names.number(s.value)) is not None
    }
    if not ids:
        return unknown("no map of labels with an id to each lies here")
    least = ids[min(ids)]
    words = f"the ids of {least.file} go from {min(ids):g} to {max(ids):g}"
    background = any(
        s.file == least.file
        and s.key in (f"{least.key.removesuffix('id')}name", f"{least.key.removesuffix('id')}display_name")
        and _NOTHING.search(str(s.value))
        for s in view.run.raw_settings
    )
    where = (Place(least.file, least.line),)
    if min(ids) == 0 and not background:
        return present(words, value=0, threshold=1, where=where)
    return absent(words, value=min(ids), threshold=1, where=where)


@probe()
def template_of_another_model(view: View) -> Finding:
    """The template that conversations are written in belongs to another family than the model."""
    told = {_last(s): s for s in view.run.raw_settings if isinstance(s.value, str) and s.value}
    template = next((told[k] for k in ("template", "chat_template") if k in told), None)
    of_model = (*sorted(situation.NAMES_MODEL), "model_id_or_path", "model", "model_type")
    model = next((told[k] for k in of_model if k in told and _families(str(told[k].value))), None)
    if template is None or model is None or len(str(template.value)) > LONGEST_NAME:
        return unknown("model and template are not both named")
    theirs, mine = _families(str(template.value)), _families(str(model.value))
    words = f"{template.key} = {template.value}, and {model.key} = {model.value}"
    where = (Place(template.file, template.line), Place(model.file, model.line))
    if not theirs or not mine:
        return unknown(f"{words}: not both tell a family")
    return absent(words, where=where) if theirs & mine else present(words, where=where)
