"""Python's modules in a rehearsal: copies, counting, settings of the command line, paths."""

from __future__ import annotations

import copy as copying
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from ..libraries import Call, function, method
from ..objects import Namespace
from ..values import (
    Instance,
    Library,
    Loader,
    Maybe,
    Net,
    Partial,
    State,
    Tensor,
    Unknown,
    Weight,
    put_behind,
)
from .python import Lazy, counted, holds_loader

if TYPE_CHECKING:
    from ..machine import Machine


@function("partial", of=("functools.",))
def _partial(call: Call) -> Any:
    return Partial(call.given[0], tuple(call.given[1:]), call.named)


@function(
    "spectral_norm", "weight_norm", "remove_weight_norm", "remove_spectral_norm", of=("torch.nn.utils.",)
)
def _normed(call: Call) -> Any:
    return call.given[0] if call.given else Unknown(call.callee.last)


@function("deepcopy", "copy", of=("copy.",))
def _copied(call: Call) -> Any:
    return copied(call.machine, call.given[0], {}, deep=call.callee.last == "deepcopy")


def copied(machine: Machine, value: Any, done: dict[int, Any], *, deep: bool = True) -> Any:
    """A copy: networks get weights of their own, states stand still."""
    if id(value) in done:
        return done[id(value)]
    made: Any = value
    if isinstance(value, State):
        made = State(value.net, value.now, deep or value.copied, value.kind)
    elif isinstance(value, Net) and deep:
        made = done[id(value)] = copying.copy(value)
        made.serial = len(machine.nets)
        machine.nets.append(made)
        made.children = {k: copied(machine, v, done) for k, v in value.children.items()}
        made.weights = {k: copied(machine, v, done) for k, v in value.weights.items()}
        made.attributes = {k: copied(machine, v, done) for k, v in value.attributes.items()}
    elif isinstance(value, Weight):
        made = machine.weight(value.name, trains=value.trains, buffer=value.buffer)
    elif isinstance(value, Tensor):
        made = value.like(number=value.number)
    elif isinstance(value, dict):
        made = type(value)() if deep else copying.copy(value)
        if deep:
            made.update({k: copied(machine, v, done) for k, v in value.items()})
    elif isinstance(value, list):
        made = [copied(machine, v, done) for v in value] if deep else list(value)
    elif isinstance(value, Instance) and deep:
        made = done[id(value)] = Instance(value.kind)
        made.attributes = {k: copied(machine, v, done) for k, v in value.attributes.items()}
    done[id(value)] = made
    return made


_MATH = word_set(
    "ceil floor sqrt exp log log2 log10 cos sin tan pow isnan isfinite isinf fabs tanh prod log1p gcd "
    "hypot atan2 erf"
)


@function(*sorted(_MATH), of=("math.",))
def _math(call: Call) -> Any:
    if call.given and all(isinstance(g, (int, float)) for g in call.given):
        return getattr(math, call.callee.last)(*call.given)
    found = list(call.machine.tensors(call.given))
    if call.callee.last.startswith("is"):
        return Maybe(tuple(call.given))
    if not found:
        return Unknown(call.callee.last)
    made = call.machine.joined_tensors(call.callee.last, found)
    if len(call.given) == 1 and found[0].number is not None and np.size(found[0].number) == 1:
        made.number = getattr(math, call.callee.last)(float(found[0].number))
    return made


@function("ArgumentParser", of=("argparse.", "configargparse."))
def _parser(call: Call) -> Any:
    return Parser()


class Parser:
    """An argument parser: what is added to it is its default."""

    def __init__(self) -> None:
        self.held = Namespace()


@method(Parser, "add_argument")
def _added(call: Call) -> Any:
    flags = [g for g in call.given if isinstance(g, str)]
    if not flags:
        return None
    long = [f for f in flags if f.startswith("--")] or flags
    name = call.named.get("dest") or long[0].lstrip("-").replace("-", "_")
    action = call.named.get("action")
    value = call.named.get("default")
    if value is None and action in ("store_true", "store_false"):
        value = action == "store_false"
    if value is None and not flags[0].startswith("-"):
        value = Unknown(str(name))
    if (
        isinstance(value, str)
        and isinstance(call.named.get("type"), Library)
        and call.named["type"].last in ("int", "float")
    ):
        value = float(value) if call.named["type"].last == "float" else int(value)
    if call.named.get("required") is True:
        value = Unknown(str(name))
    call.callee.owner.held[name] = value
    return None


@method(Parser, "add_argument_group", "add_mutually_exclusive_group")
def _group(call: Call) -> Any:
    return call.callee.owner


@method(Parser, "set_defaults")
def _defaults(call: Call) -> Any:
    call.callee.owner.held.update(call.named)
    return None


@method(Parser, "parse_args", "parse_known_args", "*")
def _parsed(call: Call) -> Any:
    if call.callee.name == "parse_args":
        return call.callee.owner.held
    if call.callee.name == "parse_known_args":
        return (call.callee.owner.held, [])
    return None


@function("field", of=("dataclasses.",))
def _field(call: Call) -> Any:
    return ("<field>", call.named)


@function("asdict", of=("dataclasses.",))
def _asdict(call: Call) -> Any:
    return (
        dict(call.given[0].attributes)
        if call.given and isinstance(call.given[0], Instance)
        else Unknown("asdict")
    )


@function("replace", of=("dataclasses.",))
def _replaced(call: Call) -> Any:
    if not isinstance(call.given[0], Instance):
        return Unknown("replace")
    return Instance(call.given[0].kind, {**call.given[0].attributes, **call.named})


@function(
    "nullcontext",
    "suppress",
    "redirect_stdout",
    "autocast",
    "amp_guard",
    "profile",
    "record_function",
    "device",
    "stream",
)
def _plain_context(call: Call) -> Any:
    return call.given[0] if call.callee.last == "nullcontext" and call.given else Unknown(call.callee.last)


@function(
    "chain",
    "from_iterable",
    "islice",
    "cycle",
    "product",
    "count",
    "accumulate",
    "repeat",
    "combinations",
    of=("itertools.",),
)
def _itertools(call: Call) -> Any:
    name = call.callee.last
    if name == "cycle" and isinstance(call.given[0], (Loader, Lazy)):

        def again() -> Any:
            for _ in range(4):
                yield from call.machine.iterated(call.given[0], call.node)

        return Lazy(again, call.given[0])
    if name == "count":
        start = call.given[0] if call.given and isinstance(call.given[0], int) else 0
        return range(start, start + 1_000_000)
    if name == "islice" and isinstance(call.given[0], (Loader, Lazy)):
        return Lazy(
            lambda: iter(
                list(call.machine.iterated(call.given[0], call.node))[
                    : call.given[1] if isinstance(call.given[1], int) else None
                ]
            ),
            call.given[0],
        )
    if name in ("chain", "from_iterable"):
        over = call.given if name == "chain" else call.machine.items_known(call.given[0]) or []
        if any(holds_loader(o) for o in over):
            return Lazy(lambda: (i for o in over for i in call.machine.iterated(o, call.node)), over)
        return [i for o in over for i in call.machine.iterated(o, call.node)]
    if name == "product" and call.given:
        lists = [call.machine.items_known(g) for g in call.given]
        if all(one is not None for one in lists):
            import itertools

            return list(itertools.islice(itertools.product(*lists), 200))  # type: ignore[arg-type]
    return Unknown(name)


@function("tqdm", "trange", "track", "progress_bar", "prange", "tqdm_notebook")
def _shown(call: Call) -> Any:
    held = call.given[0] if call.given else call.named.get("iterable", call.named.get("total"))
    if call.callee.last == "trange":
        return counted(call)
    return held if not isinstance(held, int) else Unknown("bar")


_ENVIRON = re.compile(r"(?i)rank|world_size|master")


@function("get", "getenv", of=("os.environ.get", "os.getenv"))
def _environ(call: Call) -> Any:
    return call.given[1] if len(call.given) > 1 else call.named.get("default", Unknown("environ"))


@function(
    "Path", "PurePath", "join", "abspath", "dirname", "basename", "expanduser", of=("pathlib.", "os.path.")
)
def _path(call: Call) -> Any:
    found = [g for g in call.given if isinstance(g, Tensor) and g.rows is not None]
    if found:
        made = found[-1].then("path")
        for before in reversed(call.given[: call.given.index(found[-1])] if len(found) == 1 else ()):
            put_behind(before, made)
        return made
    parts = [g.name if isinstance(g, Path) else g for g in call.given]
    if parts and all(isinstance(p, str) for p in parts):
        return Path("/".join(parts))
    return Path("/".join(str(getattr(p, "key", p)) for p in parts))


class Path:
    """A path of a file."""

    def __init__(self, name: str) -> None:
        self.name = name[:300]

    def joined(self, other: Any) -> Path:
        """`folder / name`."""
        return Path(f"{self.name}/{other if isinstance(other, str) else getattr(other, 'key', '?')}")


@method(Path, "*")
def _of_path(call: Call) -> Any:
    name = call.callee.name
    if name in ("joinpath",):
        return Path("/".join([call.callee.owner.name, *(str(getattr(g, "name", g)) for g in call.given)]))
    if name in ("mkdir", "write_text", "unlink", "touch", "rename", "write_bytes"):
        return None
    if name in ("exists", "is_file", "is_dir"):
        return Maybe(())
    if name in ("resolve", "expanduser", "absolute", "with_suffix"):
        return call.callee.owner
    return Unknown(f"{call.callee.owner.name}.{name}")


@function("exists", "isfile", "isdir", of=("os.path.",))
def _exists(call: Call) -> Any:
    return Maybe(())


@function(
    "makedirs",
    "mkdir",
    "getLogger",
    "basicConfig",
    "filterwarnings",
    "simplefilter",
    "seed",
    "manual_seed",
    "manual_seed_all",
    "set_random_seed",
    "seed_everything",
)
def _no_effect(call: Call) -> Any:
    return Unknown(call.callee.last) if call.callee.last == "getLogger" else None


@function("is_available", "is_initialized", "is_bf16_supported", "device_count")
def _available(call: Call) -> Any:
    if call.callee.last == "device_count":
        return 1
    return (
        call.callee.last == "is_available"
        and "dist" not in call.callee.name
        and "mps" not in call.callee.name
    )
