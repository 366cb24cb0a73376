"""One program in the writing of several hands: other names of data and objects, imports, a main function."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable

_SIDED = re.compile(
    r"(train|test|val|valid)_(loader|set|data|dataset|ds|dl|df|iter|images|labels|texts|sampler|part|dir|idx)"
)
_OF_SIDE = re.compile(r"([Xxy])_(train|test|val)")
_SHORT = {"train": "tr", "test": "te", "val": "va", "valid": "va"}
_NAMES: dict[str, Callable[[str, str], str]] = {
    "together": lambda side, what: side + what,  # trainloader
    "camel": lambda side, what: side + what.capitalize(),  # trainLoader
    "turned": lambda side, what: f"{what}_{side}",  # loader_train
    "short": lambda side, what: f"{_SHORT[side]}_{what}",  # tr_loader, X_tr
}
_OBJECTS = {
    "model": "network",
    "net": "network",
    "optimizer": "opt",
    "opt": "solver",
    "criterion": "loss_func",
    "loss_fn": "crit",
    "loss": "cost",
    "scheduler": "lr_sched",
    "scaler": "amp",
    "images": "imgs",
    "labels": "lbl",
    "inputs": "batch_x",
    "targets": "batch_y",
    "x": "xb",
    "y": "yb",
    "xb": "feats",
    "yb": "truth",
    "outputs": "res",
    "out": "res",
    "logits": "z",
    "preds": "guess",
    "pred": "guess",
    "epoch": "ep",
}
HANDS = (*_NAMES, "objects", "imports", "main")


def rewritten(text: str, hand: str) -> str | None:
    """A program as a hand of HANDS writes it; None where it would write it alike, or breaks it.

    Names of keywords and parameters, and names after a dot but for those of `self`, may be those of libraries
    and stay.
    """
    if hand == "imports":
        return _imported(text)
    if hand == "main":
        return _in_main(text)
    tree = ast.parse(text)
    known = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    attributes = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    known |= {n.attr for n in attributes if ast.unparse(n.value) == "self"}
    kept = {k.arg for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords}
    kept |= {a.name for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    made = {n: new for n in known - kept if (new := _name(n, hand)) is not None}
    if not made or known & set(made.values()) or len(set(made.values())) < len(made):
        return None
    names = "|".join(sorted(map(re.escape, made), key=len, reverse=True))
    new = re.sub(rf"(?<![\w'\"])(self\.|(?<!\.))({names})\b(?!['\"])", lambda m: m[1] + made[m[2]], text)
    return new if _is_python(new) else None


def _name(name: str, hand: str) -> str | None:
    if hand == "objects":
        return _OBJECTS.get(name)
    if (found := _SIDED.fullmatch(name)) is not None:
        return _NAMES[hand](found[1], found[2])
    found = _OF_SIDE.fullmatch(name) if hand == "short" else None
    return f"{found[1]}_{_SHORT[found[2]]}" if found is not None else None


def _imported(text: str) -> str | None:
    """Layers and functions of PyTorch by their own names: `Linear`, `cross_entropy`, `Adam`, `DataLoader`."""
    found: dict[str, set[str]] = {"torch.nn": set(), "torch.nn.functional": set(), "torch.optim": set()}
    taken = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    if "import torch.nn as nn" not in text:
        return None

    def short(match: re.Match[str]) -> str:
        module = {"nn": "torch.nn", "F": "torch.nn.functional", "torch.optim": "torch.optim"}[match[1]]
        if match[2] in taken or match[2] in ("init", "utils", "functional", "lr_scheduler", "parallel"):
            return match[0]
        found[module].add(match[2])
        return match[2]

    new = re.sub(r"(?<![\w.])(nn|F|torch\.optim)\.(\w+)", short, text)
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in found.items() if names]
    new = new.replace("import torch.nn as nn\n", "import torch.nn as nn\n" + "\n".join(lines) + "\n", 1)
    return new if lines and _is_python(new) else None


def _in_main(text: str) -> str | None:
    """All but imports, and functions and classes that read no name of the program, in a function `main`."""
    tree = ast.parse(text)
    starts = [min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", []))]) for s in tree.body]
    lines = text.split("\n")
    blocks = list(zip(tree.body, starts, [*starts[1:], len(lines) + 1], strict=True))
    stored = {
        n.id
        for s in tree.body
        if _top(s)
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    outside, inside = [], []
    for statement, first, end in blocks:
        read = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
        plain = isinstance(statement, (ast.Import, ast.ImportFrom))
        closed = not _top(statement) and not read & stored
        (outside if plain or closed else inside).append("\n".join(lines[first - 1 : end - 1]))
    body = textwrap.indent("\n".join(inside), "    ")
    new = "\n".join(outside) + "\n\n\ndef main():\n" + body + "\n\n\nif __name__ == '__main__':\n    main()\n"
    return new if inside and "global " not in text and _is_python(new) else None


def _top(statement: ast.stmt) -> bool:
    return not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))


def _is_python(text: str) -> bool:
    try:
        compile(text, "train.py", "exec")
    except SyntaxError:
        return False
    return True
