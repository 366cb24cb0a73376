"""Settings that matter together, or in one framework only: kernels, compilers, optimizers, class orders."""

from __future__ import annotations

import re

from ...engine.model import Place
from .. import settings as names
from ..registry import Finding, View, absent, place_of, present, probe, unknown
from ..run import Run
from .values import number_of, says, value_of

_OFF = frozenset({"false", "none", "no", "off", "disabled", "eager", "math", "native", "0", "auto", "sdpa"})


@probe("config:flash_attention")
def flash_attention(view: View) -> Finding:
    """A special attention kernel is switched on by name."""
    setting = view.run.settings["flash_attention"]
    where = (place_of(setting),)
    if str(setting.value).lower() in _OFF:
        return absent(says(setting), value=str(setting.value), where=where)
    return present(says(setting), value=str(setting.value), where=where)


_COMPILERS = {  # the last name of a setting -> the values that switch it on
    "torch_compile": ("true",),
    "use_torch_compile": ("true",),
    "torchcompile": ("true",),
    "jit_compile": ("true",),
    "graph_mode": ("true",),
    "jit_level": ("o1", "o2"),
}


@probe()
def graph_compiler(view: View) -> Finding:
    """A graph compiler is on: torch.compile, XLA's jit_compile, MindSpore's graph mode."""
    seen: tuple[str, tuple[Place, ...]] | None = None
    for setting in view.run.raw_settings:
        last = (names.parts_of(setting.key)[-1:] or [""])[0]
        words = str(setting.value).strip().lower()
        where = (Place(setting.file, setting.line),)
        text = f"{setting.key} = {setting.value}"
        if last in _COMPILERS:
            on = words in _COMPILERS[last]
        elif last in ("mode", "context_mode", "ms_mode") and words in (
            "graph_mode",
            "pynative_mode",
            "ms.graph_mode",
            "ms.pynative_mode",
        ):
            on = "graph" in words
        elif last == "run_eagerly" and isinstance(setting.value, bool):
            on = not setting.value
        else:
            continue
        if on:
            return present(text, value=str(setting.value), where=where)
        seen = seen or (text, where)
    if seen is not None:
        return absent(seen[0], where=seen[1])
    return unknown("whether a graph compiler runs is not recorded")


@probe("config:optimizer")
def rmsprop_epsilon(view: View, large: float) -> Finding:
    """RMSprop with the epsilon of a TensorFlow recipe, in a framework that adds it outside the root.

    TensorFlow adds epsilon inside the root; the same 1e-3 outside it makes first steps up to 31 times smaller
    or larger (pytorch#23796). Known where the framework is PyTorch or JAX.
    """
    run = view.run
    optimizer = run.settings["optimizer"]
    name = str(optimizer.value).lower()
    where = (place_of(optimizer),)
    written = " ".join(str(s.value).lower() for s in run.raw_settings if "rms" in str(s.value).lower())
    if not re.search(r"rms_?prop", name) or re.search(r"tf|tensorflow", written):
        return absent(f"the optimizer is {optimizer.value}", where=where)
    epsilon = number_of(run, "adam_epsilon")
    if epsilon is None:
        return unknown(f"the optimizer is {optimizer.value}; its epsilon is not recorded")
    text = f"{says(optimizer)} with {says(run.settings['adam_epsilon'])}"
    framework = str(run.facts.get("framework") or "").lower()
    if epsilon < large or framework == "tensorflow":
        return absent(text, value=epsilon, threshold=large, where=where)
    if framework not in ("pytorch", "jax"):
        return unknown(f"{text}; which framework trains is not recorded")
    text = f"{text}: {framework} adds it outside the root"
    return present(text, value=epsilon, threshold=large, where=where)


@probe("config:optimizer")
def no_bias_correction(view: View) -> Finding:
    """Adam without bias correction and without warm-up: the first steps are up to 6.6 times larger.

    MindSpore's AdamWeightDecay has none; others have a switch (`correct_bias`, `bias_correction`).
    """
    run = view.run
    optimizer = run.settings["optimizer"]
    where = (place_of(optimizer),)
    name = re.sub(r"[^a-z]", "", str(optimizer.value).lower())
    switch = _switch(run, ("correct_bias", "bias_correction", "adam_bias_correction"))
    bare = "adamweightdecay" in name and "tensorflow" not in str(run.facts.get("framework") or "")
    if "adam" not in name and "lamb" not in name:
        return absent(f"the optimizer is {optimizer.value}", where=where)
    if switch is not None and switch[0]:
        return absent(switch[1], where=where)
    if switch is None and not bare:
        if name in ("adam", "adamw"):
            return absent(f"{optimizer.value} corrects its bias unless told otherwise", where=where)
        return unknown(f"whether {optimizer.value} corrects its bias is not recorded")
    text = switch[1] if switch is not None else f"{says(optimizer)} has no bias correction"
    known = [k for k in ("warmup_steps", "warmup_ratio", "warmup_epochs") if k in run.settings]
    if any((number_of(run, k) or 0) > 0 for k in known):
        return absent(f"{text}, and the learning rate warms up", where=where)
    if not known:
        return unknown(f"{text}; whether the learning rate warms up is not recorded")
    return present(f"{text}, and there is no warm-up", where=where)


def _switch(run: Run, keys: tuple[str, ...]) -> tuple[bool, str] | None:
    for setting in run.raw_settings:
        if (names.parts_of(setting.key)[-1:] or [""])[0] in keys and isinstance(setting.value, bool):
            return setting.value, f"{setting.key} = {setting.value}"
    return None


_LABELS = re.compile(r"(?:id2label|class_names|classes|names|label_names|idx_to_class)[.\[](\d+)\]?$")
_INDICES = re.compile(r"(?:class_to_idx|label2id|class_to_index)[.](\d+)$")


@probe()
def classes_in_string_order(view: View, least: int = 11) -> Finding:
    """Numeric class names are numbered in the order of their letters: "1", "10", "2".

    Folder readers sort names as text; ids elsewhere follow the numbers (deit#130, vision#714).
    """
    order: dict[int, int] = {}
    where: tuple[Place, ...] = ()
    for setting in view.run.raw_settings:
        name = _LABELS.search(setting.key)
        if name is not None and re.fullmatch(r"\d+", str(setting.value).strip()):
            order[int(name.group(1))] = int(str(setting.value))
        index = _INDICES.search(setting.key)
        number = names.number(setting.value)
        if index is not None and number is not None:
            order[int(number)] = int(index.group(1))
        if (name or index) and not where:
            where = (Place(setting.file, setting.line),)
    if len(order) < least or sorted(order) != list(range(len(order))):
        return unknown("no list of numbered classes with numeric names is recorded")
    listed = [order[i] for i in range(len(order))]
    if listed == sorted(listed):
        return absent(f"{len(listed)} numeric classes stand in numeric order", where=where)
    if [str(n) for n in listed] == sorted(str(n) for n in listed):
        shown = ", ".join(map(str, listed[:4]))
        return present(f"{len(listed)} numeric classes are numbered as {shown}, ...", where=where)
    return absent(f"{len(listed)} numeric classes stand in an order of their own", where=where)


@probe()
def overflow_kept(view: View) -> Finding:
    """The scaler is set to apply steps that overflow (MindSpore, MindYOLO)."""
    run = view.run
    for setting in run.raw_settings:
        last = (names.parts_of(setting.key)[-1:] or [""])[0]
        if last not in ("overflow_still_update", "drop_overflow_update") or not isinstance(
            setting.value, bool
        ):
            continue
        text, where = f"{setting.key} = {setting.value}", (Place(setting.file, setting.line),)
        kept = setting.value if last == "overflow_still_update" else not setting.value
        if not kept:
            return absent(text, value=setting.value, where=where)
        if value_of(run, "precision") not in (None, "fp16"):
            return absent(f"{text}, and the number format is {value_of(run, 'precision')}", where=where)
        return present(text, value=setting.value, where=where)
    return unknown("whether steps with overflow are dropped is not recorded")
