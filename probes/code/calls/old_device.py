"""Ports of PyTorch scripts to NPUs: what still names CUDA, and amp that comes after the wrapper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok

# modules that put NPUs where the program says CUDA
_TRANSLATED = re.compile(
    r"transfer_to_npu|megatron_adaptor|mindspeed|torch_npu\.contrib\.transfer|npu_patch|ascend_adapt"
)
_CHOICE = re.compile(r"(?i)npu|cuda|gpu|device|accelerator|backend|platform|hasattr|ascend")
_OF_NPU = re.compile(r"torch_npu\.npu\b|\btorch\.npu\b|[\"'](?:npu\b|hccl)|\.npu\(")
_CUDA = re.compile(r"^cuda(?::\d+)?$")
_DEVICES = ("device", "to", "autocast", "GradScaler")


@probe()
def old_device_left(view: View) -> Finding:
    """A script for NPUs, by an unconditional `import torch_npu`, still puts its work on CUDA.

    A device, `.cuda()`, the backend nccl, or autocast and GradScaler of CUDA, which switch themselves off
    where there is no CUDA. Silent where `transfer_to_npu` or an adaptor translates, and where a condition
    chooses the device. Seeds, caches and timers of CUDA do no harm and are left aside.
    """
    return first(view, _left, "no script is a port to NPUs")


def _left(source: Script) -> Finding | None:
    if not ported(source):
        return _nowhere(source)
    for node, what in _of_cuda(source):
        if not _chosen(source, node):
            return at(source, node, f"the script runs on NPUs, and {what}")
    return ok(source, None, "the script names no device but NPUs")


def _nowhere(source: Script) -> Finding | None:
    """`import torch_npu`, and a device that is CUDA where there is CUDA: no NPU is ever asked for."""
    if _TRANSLATED.search(source.text) or _OF_NPU.search(source.code) or not _imported(source):
        return None
    if re.search(r"""["']npu""", source.code):
        return None
    for call in source.named("is_available"):
        parent = next(iter(source.above(call)), None)
        if source.owner(call) == "torch.cuda" and isinstance(parent, ast.IfExp) and "cpu" in unparse(parent):
            return at(
                source,
                call,
                "torch_npu is imported, and the device is CUDA where there is CUDA and else the processor:"
                " no NPU is asked for",
            )
    return None


def ported(source: Script) -> bool:
    """`import torch_npu` at the top of a file, NPUs that are named, and nothing that translates CUDA."""
    if _TRANSLATED.search(source.text) or not _OF_NPU.search(source.code):
        return False
    return _imported(source)


def _imported(source: Script) -> bool:
    return any(
        isinstance(n, (ast.Import, ast.ImportFrom))
        and any(a.name.partition(".")[0] == "torch_npu" for a in n.names if isinstance(n, ast.Import))
        for n in source.tree.body
    )


def _of_cuda(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """What runs on CUDA, and what to say of it."""
    for call in source.calls:
        name, owner = last_name(call.func), source.owner(call)
        first_ = call.args[0] if call.args else keyword(call, "device_type") or keyword(call, "device")
        if name == "cuda" and isinstance(call.func, ast.Attribute) and owner != "torch":
            yield call, "this is put on CUDA"
        elif name in _DEVICES and isinstance(first_, ast.Constant) and _CUDA.match(str(first_.value)):
            yield call, "this asks for CUDA"
        elif name == "init_process_group" and _says(keyword(call, "backend") or first_, "nccl"):
            yield call, "its processes are joined by nccl, which knows CUDA alone"
        elif name in ("autocast", "GradScaler") and _amp_of_cuda(source, call):
            yield call, f"this {name} of CUDA switches itself off there: nothing runs in half precision"
        elif name == "set_device" and owner == "torch.cuda":
            yield call, "this chooses a CUDA device"


def _says(node: ast.expr | None, word: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == word


def _amp_of_cuda(source: Script, call: ast.Call) -> bool:
    """`torch.cuda.amp.autocast()`, also by what is imported from there."""
    owner = source.owner(call)
    if owner.endswith("cuda.amp"):
        return True
    name = owner or last_name(call.func)
    return any(
        (n.module or "") == ("torch.cuda" if owner else "torch.cuda.amp")
        and any((a.asname or a.name) == name for a in n.names)
        for n in source.of(ast.ImportFrom)
    )


def _chosen(source: Script, node: ast.AST) -> bool:
    """A condition or a `try` decides whether the line is run, or it stands in a helper for CUDA."""
    for parent in source.above(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and _CHOICE.search(unparse(parent.test)):
            return True
        if isinstance(parent, (ast.Try, ast.Lambda)):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            ends = [n for n in ast.walk(parent) if isinstance(n, ast.If) and _CHOICE.search(unparse(n.test))]
            if any(isinstance(n.body[-1], (ast.Return, ast.Raise)) for n in ends):
                return True  # `if npu: return ...` above it
            return re.search(r"(?i)cuda|gpu", parent.name) is not None
    return False


# ------------------------------------------------------------------------------------------------- apex


def wrapped_before_initialized(source: Script) -> Finding | None:
    """`model = DDP(model)`, then `amp.initialize(model, optimizer)` of apex: it refuses a wrapped model."""
    mine = flow(source)
    for call in source.named("initialize"):
        if source.owner(call).rpartition(".")[2] != "amp" or not call.args:
            continue
        for value in mine.values(call.args[0], 2):
            if isinstance(value, ast.Call) and last_name(value.func) in _WRAPPERS:
                return at(source, call, "apex takes a model before it is wrapped, and this one is wrapped")
        return ok(source, call, "the model is wrapped after amp.initialize")
    return None


_WRAPPERS = ("DistributedDataParallel", "DDP", "DataParallel")


def optimizer_unknown_to_apex(source: Script) -> Finding | None:
    """`model, optimizer = amp.initialize(model, optimizer)`, then `optimizer = SGD(model.parameters())`.

    Apex scales the loss and takes the scale out of the gradients of the optimizer that it knows: the new one
    steps with what it finds.
    """
    for call in source.named("initialize"):
        statement = source.statement(call)
        if source.owner(call).rpartition(".")[2] != "amp" or len(call.args) < 2 or source.loose:
            continue
        if not isinstance(statement, ast.Assign):
            continue
        names = {unparse(e) for t in statement.targets for e in getattr(t, "elts", [])}
        for made in source.optimizer_calls:
            after = source.statement(made)
            if not isinstance(after, ast.Assign) or after.lineno <= statement.lineno:
                continue
            same = source.function_around(made) is source.function_around(call)
            if same and source.parents.get(after) is source.parents.get(statement):
                if any(unparse(t) in names for t in after.targets) and source.named("scale_loss"):
                    return at(
                        source, made, "amp.initialize was given another optimizer: it does not know this one"
                    )
    return None
