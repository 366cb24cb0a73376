"""Settings of training and of held-out data in one configuration: what must be equal for both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

from ...engine.model import Place, Scalar
from ..code.shared.roles import split_of, trains
from ..registry import NO_SCRIPT, Finding, View, absent, any_of, present, probe, unframed, unknown
from ..run import Setting
from ..settings import number, parts_of, same

# What a model must see alike in training and evaluation; sizes, crops and flips may differ on purpose.
_ALIKE = re.compile(
    r"^(?:(?:image|img|pixel|norm|input|data)_)?(?:mean|std)$|^(?:is_scale|rescale|rescale_factor|to_rgb|bgr_to_rgb"
    r"|channel_order|do_normalize|do_rescale|normalize|tokenizer|tokenizer_name|vocab|vocab_file|label_map)$"
)
_NORMALISES = re.compile(r"(?i)(?:normali[sz]e|standardi[sz]e)(?:image|img|frames?)?$")
_STEPS = re.compile(r"(?i)pipeline|transform")


@probe()
@unframed
def splits_differ(view: View) -> Finding:
    """Scripts or configuration process the inputs of training and of held-out data differently."""
    if not view.run.scripts:
        return any_of(
            (unknown(NO_SCRIPT), splits_normalised_differently(view), files_processed_differently(view))
        )
    from ..code.scaling.apart import scaled_apart
    from ..code.scaling.mapped_sides import mapped_on_one_side, one_part_unscaled, scaled_where_it_learns
    from ..code.scaling.pipelines import normalises_one_split
    from ..code.shared.checks import first
    from ..code.shared.sides import either
    from ..code.splits.alike import splits_processed_differently
    from ..code.splits.lengths_of_sides import cut_shorter_when_scored
    from ..code.splits.sides_apart import inputs_apart
    from ..code.splits.text_apart import texts_changed_apart

    return any_of(
        (
            splits_processed_differently(view, labels=False),
            normalises_one_split(view),
            splits_normalised_differently(view),
            files_processed_differently(view),
            scaled_apart(view),
            first(view, inputs_apart, "the scripts make no pair of data sets"),
            first(view, texts_changed_apart, "the scripts change no texts"),
            first(
                view,
                either(mapped_on_one_side, one_part_unscaled, scaled_where_it_learns),
                "the scripts map no scaling by side",
            ),
            first(view, cut_shorter_when_scored, "the scripts cut no samples by side"),
        )
    )


@probe()
def splits_normalised_differently(view: View) -> Finding:
    """The configuration gives held-out data another mean, deviation, channel order or vocabulary.

    Keys are told apart by a part that names the split (`data.test_pipeline.0.mean`, `val.transforms.std`). A
    pipeline that normalises beside one of the other split that does not is the same fault.
    """
    values: dict[str, dict[bool, dict[str, Setting]]] = {}
    for side, leaf, setting in _by_split(view):
        if _ALIKE.search(leaf):
            values.setdefault(leaf, {}).setdefault(side, {})[str(setting.value)] = setting
    pairs = {leaf: sides for leaf, sides in values.items() if len(sides) == 2}
    for leaf, sides in pairs.items():
        if not sides[True].keys() & sides[False].keys():
            mine, theirs = (next(iter(sides[k].values())) for k in (True, False))
            return present(
                f"{leaf} = {mine.value} for training ({mine.key}) and {theirs.value} for held-out data",
                value=str(theirs.value),
                threshold=str(mine.value),
                where=(Place(theirs.file, theirs.line), Place(mine.file, mine.line)),
            )
    steps: dict[bool, list[tuple[str, Setting]]] = {True: [], False: []}
    for side, leaf, setting in _by_split(view):
        if (name := _step_of(leaf, setting)) is not None:
            steps[side].append((name, setting))
    if all(steps.values()):
        normal = {k: any(_NORMALISES.search(name) for name, _ in found) for k, found in steps.items()}
        if normal[True] != normal[False]:
            _, lacking = steps[not normal[True]][0]
            split = "held-out" if normal[True] else "training"
            return present(
                f"the pipeline of the {split} data has no normalisation, and the other one has",
                where=(Place(lacking.file, lacking.line),),
            )
    if pairs:
        return absent(f"{', '.join(sorted(pairs))}: the same for training and held-out data")
    return unknown("the configuration gives no preprocessing for each split")


_NUMBERED_STEP = re.compile(r"(?i)(?:pipeline|transform)\w*[.\[]\d+\]?\.([A-Z]\w+)(?:\.|$)")


def _step_of(leaf: str, setting: Setting) -> str | None:
    """The name of a step of a pipeline: `type: Normalize`, or `- NormalizeImage: {mean: ...}` of a list."""
    if leaf == "type":
        return str(setting.value) if _STEPS.search(setting.key) else None
    listed = _NUMBERED_STEP.search(setting.key)
    return listed.group(1) if listed is not None else None


_SCORES = re.compile(
    r"(?i)(?:^|[/_.-])(?:val(?:id(?:ate|ation)?)?|eval(?:uate|uation)?|test|infer(?:ence)?|predict(?:ion)?|deploy|serv(?:e|er|ing))(?=[_.-]|\d|$)"
)
_TRAINS = re.compile(r"(?i)(?:^|[/_.-])(?:train(?:ing)?|finetune|fine_tune|sft|pretrain)(?=[_.-]|\d|$)")
_FILE_ALIKE = re.compile(
    r"^(?:(?:image|img|pixel|norm|input)_)?(?:mean|std)$|^(?:to_rgb|bgr_to_rgb|channel_order|do_normalize|do_rescale"
    r"|template|chat_template|prompt_template|prompt_type)$"
)

_TEMPLATES = re.compile(r"^(?:template|chat_template|prompt_template|prompt_type|template_type)$")
_WRITES = ("output_dir", "save_dir")
_MODEL_PATH = re.compile(
    r"^(?:model|base_model|model_path|ckpt_dir|adapters?|(?:model|adapter)_name_or_path)$"
)


def files_processed_differently(view: View) -> Finding:
    """A file of training and one of evaluation or inference, called so, process the inputs differently.

    They are of one folder, or the only ones of their kind, and name no two models.
    """
    return _files_apart(view, _FILE_ALIKE)


@probe()
def template_unlike_in_use(view: View) -> Finding:
    """The trained model is asked in another chat template than it was trained with.

    A file of training and one of inference, called so, name two templates, and the second one names the model
    that the first one trains: its base, or what it writes.
    """
    return _files_apart(view, _TEMPLATES, _same_model)


def _other_model(mine: dict[str, Setting], theirs: dict[str, Setting]) -> bool:
    """Both files say which model, and the second names neither the base of the first nor what it writes."""
    known = any(_MODEL_PATH.search(key) or key in _WRITES for key in mine)
    return known and any(map(_MODEL_PATH.search, theirs)) and not _same_model(mine, theirs)


def _same_model(mine: dict[str, Setting], theirs: dict[str, Setting]) -> bool:
    base = {str(s.value) for key, s in mine.items() if _MODEL_PATH.search(key)}
    written = [str(s.value).rstrip("/") for key, s in mine.items() if key in _WRITES]
    asked = [str(s.value) for key, s in theirs.items() if _MODEL_PATH.search(key)]
    return any(a in base or any(o and a.startswith(o) for o in written) for a in asked)


def _files_apart(
    view: View,
    leaves: re.Pattern[str],
    fit: Callable[[dict[str, Setting], dict[str, Setting]], bool] | None = None,
) -> Finding:
    found: dict[bool, dict[str, dict[str, Setting]]] = {True: {}, False: {}}
    for setting in view.run.raw_settings:
        name = setting.file.rpartition("/")[2]
        scores, learns = bool(_SCORES.search(name)), bool(_TRAINS.search(name))
        above, leaf = parts_of(setting.key)[:-1], (parts_of(setting.key) or [""])[-1]
        if scores == learns or setting.value in (None, "", "None", "null"):
            continue
        told = {trains(split_of(part)) for part in above} - {None}
        if told <= {learns}:  # a file of training may hold a block of evaluation as well
            found[learns].setdefault(setting.file, {}).setdefault(leaf, setting)
    alone = all(len(files) == 1 for files in found.values())
    equal: set[str] = set()
    for mine, theirs in product(found[True].values(), found[False].values()):
        one, other = next(iter(mine.values())).file, next(iter(theirs.values())).file
        if not alone and one.rpartition("/")[0] != other.rpartition("/")[0]:
            continue
        if any(
            len({named[kind] for named in map(_names, (mine, theirs)) if kind in named}) > 1
            for kind in _KINDS
        ):
            continue
        if fit is not None and not fit(mine, theirs):
            continue
        for leaf in sorted(mine.keys() & theirs.keys()):
            if not leaves.search(leaf):
                continue
            a, b = mine[leaf], theirs[leaf]
            if _means_the_same(a.value, b.value):
                equal.add(leaf)
                continue
            if _TEMPLATES.search(leaf) and _other_model(mine, theirs):
                continue
            if _of_other_things(leaf, mine, theirs):
                continue
            return present(
                f"{leaf} = {a.value} in {one}, and {b.value} in {other}",
                value=str(b.value),
                threshold=str(a.value),
                where=(Place(b.file, b.line), Place(a.file, a.line)),
            )
    if equal:
        return absent(f"{', '.join(sorted(equal))}: the same in the files of training and of evaluation")
    return unknown("no file of training and one of evaluation tell how inputs are processed")


_KINDS = {
    "model": re.compile(
        r"(?:^|\.)(?:model|network|net|arch|architecture|backbone)(?:\.(?:name|type|arch))?$"
    ),
    "data": re.compile(r"(?:^|\.)(?:data|dataset|data_name|dataset_name)(?:\.(?:name|type))?$"),
}
_SIDE_WORDS = re.compile(
    r"(?i)[\s_.-]*(?:train(?:ing)?|valid(?:ation)?|val|eval|test|infer(?:ence)?)(?![a-z])"
)
_INPUTS = re.compile(r"(?i)norm|process|transform|pixel|image|img|input|data|augment|^$")
_STATISTICS = frozenset(("count", "min", "max", "median", "n", "num_samples"))


def _names(settings: dict[str, Setting]) -> dict[str, str]:
    """What model and what data a file names; a path tells neither."""
    found: dict[str, str] = {}
    for setting in settings.values():
        for kind, pattern in _KINDS.items():
            if isinstance(setting.value, str) and "/" not in setting.value and pattern.search(setting.key):
                found.setdefault(kind, _SIDE_WORDS.sub("", setting.value.lower()))
    return found


def _of_other_things(leaf: str, mine: dict[str, Setting], theirs: dict[str, Setting]) -> bool:
    """A mean or deviation of something else than inputs, or the template of a benchmark with examples."""
    a, b = mine[leaf], theirs[leaf]
    if leaf not in ("mean", "std"):
        return re.fullmatch(r"(?i)few_?shot", str(b.value)) is not None
    above = [(parts_of(s.key)[:-1] or [""])[-1] for s in (a, b)]
    told = [s for s in (*mine.values(), *theirs.values()) if parts_of(s.key)[-1:][0] in _STATISTICS]
    beside = any(
        s.key.rpartition(".")[0] in (a.key.rpartition(".")[0], b.key.rpartition(".")[0]) for s in told
    )
    return beside or not all(map(_INPUTS.search, above))


_GREY = 255.0


def _means_the_same(one: Scalar | tuple[Scalar, ...], other: Scalar | tuple[Scalar, ...]) -> bool:
    """Equal, the same on a scale of 255, or two names of one family ("qwen", "qwen2_5")."""
    if same(one, other) or str(one).lower() == str(other).lower():
        return True
    pair = [[number(v) for v in (x if isinstance(x, tuple) else (x,))] for x in (one, other)]
    if len(pair[0]) == len(pair[1]) and None not in (*pair[0], *pair[1]):
        a, b = ([v for v in side if v is not None] for side in pair)
        scale = _GREY if max(map(abs, a)) < max(map(abs, b)) else 1 / _GREY
        near = (abs(x * scale - y) <= 0.01 * max(abs(y), 1e-9) for x, y in zip(a, b, strict=True))
        return any(a) and all(near)
    stems = [re.match(r"[a-z]*", str(x).lower()) for x in (one, other)]
    return stems[0] is not None and stems[1] is not None and stems[0][0] == stems[1][0] != ""


def _by_split(view: View) -> Iterator[tuple[bool, str, Setting]]:
    """(training or not, last part of the key, setting) of settings whose key names a split."""
    for setting in view.run.raw_settings:
        *above, leaf = parts_of(setting.key) or [""]
        sides = {trains(split_of(part)) for part in above} - {None}
        if sides in ({True}, {False}):
            yield True in sides, leaf, setting
