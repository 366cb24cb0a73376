"""The settings in force: what was written, what follows from it, and what the framework does by itself.

Defaults stand in rules/porting/framework_defaults.yaml, by framework and component. A default is filled in
only for a component that is known to be in use: the optimizer that a file or script names, the normalisation
layers that a script calls or a setting names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from ...engine.model import SettingValue
from ..run import Configured, Run
from . import canonical_key, number, table

_IMPLIED = 30  # trust of what a script does by saying nothing
_LAYERS = {
    "batchnorm": re.compile(r"\b(?:Sync)?Batch_?Norm\w*\s*\(|\bbatch_normalization\s*\("),
    "layernorm": re.compile(r"\bLayer_?Norm\w*\s*\(|\blayer_norm\s*\("),
}
_OLD = ("batch_norm_momentum",)  # settings that frameworks mean in two ways


@lru_cache(maxsize=1)
def defaults() -> Mapping[str, Any]:
    """Return rules/porting/framework_defaults.yaml, read once."""
    return _yaml("framework_defaults.yaml")


@lru_cache(maxsize=1)
def effects() -> Mapping[str, Mapping[str, str]]:
    """Return rules/porting/effects.yaml: what a difference in a setting can do."""
    return _yaml("effects.yaml")


def _yaml(name: str) -> Mapping[str, Any]:
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def framework_of(run: Run) -> str | None:
    """Return the framework under whose name its defaults stand, or None."""
    said = str(run.facts.get("framework") or run.info.framework or "").lower().split(" ")[0]
    said = defaults()["aliases"].get(said, said)
    return said if said in defaults()["frameworks"] else None


@dataclass(frozen=True, slots=True)
class Default:
    """What a framework does where nobody says anything."""

    value: Any
    note: str


def defaults_of(run: Run) -> dict[str, Default]:
    """Return the defaults of the components that are known to be in use, by canonical name."""
    found: dict[str, Default] = {}
    trainer = str(run.facts.get("trainer") or "").lower() or ("megatron" if _launches_megatron(run) else "")
    if run.facts.get("arguments_complete") is not False:
        for key, value in table().defaults.get(trainer, {}).items():
            found[key] = Default(value, f"default of {trainer}")
    framework = framework_of(run)
    if framework is None:
        return found
    known = defaults()["frameworks"][framework]
    for component, values in _components(run, known):
        note = f"default of {framework} {known['version']}, {values['at']} ({component})"
        told = _told(run, component)
        for key, value in values.items():
            if key != "at" and key not in told and "**" not in told:
                found.setdefault(key, Default(value, note))
    return found


_LAUNCHED = frozenset({"tensor_model_parallel_size", "num_layers", "hidden_size", "train_iters", "lr"})


def _launches_megatron(run: Run) -> bool:
    """Whether a launch line gives Megatron-LM's options for a whole run: the rest has its defaults."""
    told = {s.key for s in run.raw_settings if s.file.endswith((".sh", ".slurm", ".sbatch"))}
    return told >= _LAUNCHED


def _told(run: Run, optimizer: str) -> frozenset[str]:
    """Settings that a script gives an optimizer, as whatever: its defaults for them are not in force."""
    if optimizer != str(getattr(run.settings.get("optimizer"), "value", "")):
        return frozenset()
    found: set[str] = set()
    for text in run.scripts.values():
        for name in (optimizer, *_ALSO.get(optimizer, ())):
            found |= _arguments(text, name)
    return frozenset(found)


_ALSO = {"sgd": ("momentum",)}  # classes of another name (mindspore.nn.Momentum)


# groups of parameters: {"params": norms, "weight_decay": 0.0}
_GROUP = re.compile(r"\{[^{}]{0,400}['\"]params['\"][^{}]{0,400}\}")
_KEY = re.compile(r"['\"](\w+)['\"]\s*:")


@lru_cache(maxsize=1024)
def _arguments(text: str, optimizer: str) -> frozenset[str]:
    """Canonical names of what calls of an optimizer's class are given; "**": more than is seen."""
    found: set[str] = set()
    for group in _GROUP.findall(text):
        found |= {known[0] for name in _KEY.findall(group) if (known := canonical_key(name)) is not None}
    for match in re.finditer(rf"(?i)\b{re.escape(optimizer)}\s*\(", text):
        inside = _call(text, match.end())
        if re.search(r"(?:^|[,(\s])\*\*\w", inside):
            found.add("**")  # what else it is given stands elsewhere
        for name in re.findall(r"(?:^|[,(\s])(\w+)\s*=[^=]", inside):
            if (known := canonical_key(name)) is not None:
                found.add(known[0])
    return frozenset(found)


def _call(text: str, begin: int, most: int = 2000) -> str:
    """What stands between a bracket and the one that closes it."""
    depth = 1
    for i, letter in enumerate(text[begin : begin + most]):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[begin : begin + i]
    return text[begin : begin + most]


def _components(run: Run, known: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    optimizer = run.settings.get("optimizer")
    if optimizer is not None and optimizer.value in known.get("optimizers", {}):
        yield str(optimizer.value), known["optimizers"][optimizer.value]
    layer = run.settings.get("normalization_layer")
    for name, pattern in _LAYERS.items():
        named = layer is not None and str(layer.value).endswith(name)
        if name in known and (named or any(_says(text, pattern) for text in run.scripts.values())):
            yield name, known[name]


@lru_cache(maxsize=1024)
def _says(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a script holds a pattern; it is asked by each comparison of settings again."""
    return pattern.search(text) is not None


def settings_of(run: Run) -> dict[str, SettingValue]:
    """Return every canonical setting that was written, follows or is implied, in one convention."""
    specs = table().specs
    return {
        key: _value(run, setting)
        for key, setting in run.settings.items()
        if key in specs and not specs[key].family and not specs[key].harmless
    }


def filled(
    run: Run, keys: Mapping[str, object], known: Mapping[str, SettingValue]
) -> dict[str, SettingValue]:
    """Return the defaults in force for those of `keys` that are not known otherwise."""
    return {
        key: _converted(run, key, SettingValue(default.value, "default", note=default.note))
        for key, default in defaults_of(run).items()
        if key in keys and key not in known
    }


def _value(run: Run, setting: Configured) -> SettingValue:
    origin: Literal["written", "derived", "implied"] = "written"
    product = setting.key == "global_batch_size" and (setting.raw == "batch_size" or " x " in setting.raw)
    if setting.trust <= _IMPLIED:
        origin = "implied"
    elif product or not setting.file:
        origin = "derived"
    found = SettingValue(setting.value, origin, setting.raw, setting.file, setting.line)
    return _converted(run, setting.key, found)


def in_one_convention(run: Run, setting: Configured) -> Configured:
    """A setting as it compares with another framework's (see `_converted`)."""
    if setting.key not in _OLD:
        return setting
    return replace(setting, value=_converted(run, setting.key, SettingValue(setting.value, "written")).value)


def _converted(run: Run, key: str, found: SettingValue) -> SettingValue:
    """One convention for both sides: the momentum of batch statistics is the weight of the new ones."""
    framework = framework_of(run)
    if key not in _OLD or framework is None:
        return found
    value = None if isinstance(found.value, tuple) else number(found.value)
    if value is None or defaults()["frameworks"][framework].get("statistics") != "old":
        return found
    said = f"{value:g} of {framework} weighs the old statistics: {1 - value:g} for the new ones"
    return replace(found, value=round(1 - value, 9), note="; ".join(filter(None, (found.note, said))))
