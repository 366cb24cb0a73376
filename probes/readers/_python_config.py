"""Configurations written in Python (OpenMMLab, nanoGPT): top-level names bound to literals and dict(...).

Read as a syntax tree, never run. A name stands for the literal bound to it above, `**name` for its keys.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..run import Setting
from ..settings import canonical_key
from .text import arguments

TRUST = 55  # as a configuration file of another kind that lies there
_DEPTH = 8
_NAMED = re.compile(
    r"(?:^|[/_.-])(?:config|configs|conf|cfg|hparams|settings|options|opts|args|params)(?:[/_.-]|$)"
)


def is_config(tree: ast.Module, path: str) -> bool:
    """Whether a module only binds names to literals and calls with keywords, settings among them."""
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        bound = isinstance(node, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Delete))
        if not (text or bound):
            return False
    known = {canonical_key(s.key) for s in settings(tree, path)} - {None}
    return len(known) >= (1 if is_named_so(path) else 3)


def made_of_dicts(tree: ast.Module, path: str) -> bool:
    """Whether a configuration binds `dict(...)` with another dict, or the name of a class, in it."""
    calls = [n.value for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    dicts = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "dict"]
    deep = any(
        k.arg == "type" or (isinstance(k.value, ast.Call) and arguments.last_part(k.value.func) == "dict")
        for c in dicts
        for k in c.keywords
    )
    return deep and is_config(tree, path)


def is_named_so(path: str) -> bool:
    """Whether a file's path calls it a configuration."""
    return _NAMED.search(path.lower().removesuffix(".py")) is not None


def settings(tree: ast.Module, file: str) -> Iterator[Setting]:
    """The settings of a configuration, with dotted keys and lines."""
    bound: dict[str, ast.expr] = {}
    # what mmengine wrote down when it began: `--amp` of the command line is in it
    resolved = any(isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "work_dir" for n in tree.body)
    for node in tree.body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if isinstance(node, ast.Assign):
            target = node.targets[0] if len(node.targets) == 1 else None
        else:
            target = node.target if isinstance(node, ast.AnnAssign) else None
        if value is None or not isinstance(target, ast.Name):
            continue
        bound[target.id] = value
        filled = _Filled(bound).visit(ast.parse(ast.unparse(value), mode="eval").body)
        for key, found, line in arguments.located(filled, target.id):
            yield arguments.setting(key, found, file, node.lineno + line - 1, TRUST)
            if key.endswith("optim_wrapper.type") and found in (
                "AmpOptimWrapper",
                "OptimWrapper",
            ):  # of mmengine
                mixed = found == "AmpOptimWrapper"
                if mixed or resolved:
                    yield arguments.setting("amp", mixed, file, node.lineno + line - 1, TRUST)


class _Filled(ast.NodeTransformer):
    """Puts what a name is bound to in its place."""

    def __init__(self, bound: dict[str, ast.expr], depth: int = 0) -> None:
        self.bound = bound
        self.depth = depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name of the same file is its literal."""
        value = self.bound.get(node.id)
        if value is None or self.depth >= _DEPTH or not isinstance(node.ctx, ast.Load):
            return node
        if not isinstance(value, (ast.Constant, ast.Dict, ast.Call, ast.List, ast.Tuple, ast.UnaryOp)):
            return node
        others = {k: v for k, v in self.bound.items() if k != node.id}
        copy = ast.parse(ast.unparse(value), mode="eval").body
        found: ast.expr = _Filled(others, self.depth + 1).visit(copy)
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """`dict(type="SGD", **common)` holds the keys of `common`."""
        keywords: list[ast.keyword] = []
        for item in node.keywords:
            value = self.visit(item.value)
            if item.arg is None and isinstance(value, ast.Call):
                keywords += value.keywords
            elif item.arg is None and isinstance(value, ast.Dict):
                keywords += [
                    ast.keyword(str(k.value), v)
                    for k, v in zip(value.keys, value.values, strict=True)
                    if isinstance(k, ast.Constant)
                ]
            else:
                keywords.append(ast.keyword(item.arg, value))
        return ast.Call(node.func, node.args, keywords)
