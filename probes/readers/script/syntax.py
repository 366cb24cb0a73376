"""The text of a script, its syntax tree, and why there is none. Nothing is run."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...files import RunFile, decode
from .. import notebook
from .._pasted import readable
from .._spelled_out import spell_out
from .._tree import below, of, walk
from .calls import last_name
from .implied import imply

MAX_SIZE = 512 * 1024
MAX_DEPTH = 200  # levels of the syntax tree; of 14,000 files of 39 published packages none has more than 48
MAX_NAME = 1000  # characters of a name: no author writes one, and looking at it takes their square
_LONG_WORD = re.compile(rf"\w{{{MAX_NAME + 1}}}")
_FRAMEWORKS = {
    "torch": "pytorch",
    "tensorflow": "tensorflow",
    "keras": "keras",
    "mindspore": "mindspore",
    "jax": "jax",
    "paddle": "paddle",
    "transformers": "pytorch",
    "lightning": "pytorch",
    "pytorch_lightning": "pytorch",
    "fastai": "pytorch",
    "torch_geometric": "pytorch",
    "torch_npu": "pytorch",
    "torchvision": "pytorch",
    "accelerate": "pytorch",
    "trl": "pytorch",
    "sentence_transformers": "pytorch",
    "skorch": "pytorch",
    "monai": "pytorch",
    "flax": "jax",
    "optax": "jax",
    "mindformers": "mindspore",
    "mindnlp": "mindspore",
    "tf_keras": "keras",
}
FRAMEWORKS_SAID = (
    "PyTorch",
    "Lightning",
    "Transformers",
    "TensorFlow",
    "Keras",
    "MindSpore",
    "JAX",
    "Paddle",
)


def source(file: RunFile) -> tuple[str, tuple[str, ...]]:
    """The Python text of a file, of a notebook its code cells; and what was left out of it.

    Raises ValueError with one sentence about what cannot be a script.
    """
    notes: tuple[str, ...] = ()
    if file.suffix == notebook.SUFFIX:
        if file.size > notebook.MAX_SIZE:
            raise ValueError(f"notebook larger than {notebook.MAX_SIZE // 1024**2} MiB")
        text, notes = notebook.python_of(notebook.document_of(file))
        if len(text) > MAX_SIZE:
            raise ValueError(f"notebook with more than {MAX_SIZE // 1024} KiB of code")
        return text, notes
    if file.size > MAX_SIZE:
        raise ValueError(f"script larger than {MAX_SIZE // 1024} KiB")
    text = _decoded(file.read_bytes(MAX_SIZE))
    try:
        text, mended = readable(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text, notes  # why it is none is said where it is parsed
    return text, (mended,) if mended else ()


def _decoded(data: bytes) -> str:
    """Source text in the encoding that it declares (PEP 263), else as any text."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, ValueError, LookupError):
        return decode(data)


@lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module:
    """Like `parse`, for those who only read the tree: it is shared."""
    return parse(text)


def parse(text: str) -> ast.Module:
    """Parse source text; ValueError says in one sentence why it is no Python that can be looked at."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python warns of (invalid escapes) is not our finding
            tree = ast.parse(text)
        if "**" in text:
            spell_out(tree)
    except (RecursionError, MemoryError) as error:
        raise ValueError("nested too deeply to be read") from error
    except (SyntaxError, ValueError) as error:
        raise ValueError(_why_not(error, text)) from error
    if _deeper(tree, MAX_DEPTH):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    if _LONG_WORD.search(text) and any(len(name) > MAX_NAME for name in _names(tree)):
        raise ValueError(f"a name of more than {MAX_NAME} characters")
    _call_it_self(tree)
    imply(tree)
    return tree


def _names(tree: ast.Module) -> Iterator[str]:
    """What is called something in a tree: names, attributes, arguments, functions, classes, imports."""
    for node in walk(tree):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name


def _call_it_self(tree: ast.Module) -> None:
    """Give the first argument of methods its usual name, where an author calls it `s` or `this`."""
    for owner in of(tree, ast.ClassDef):
        for method in owner.body:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or not method.args.args:
                continue
            mine = method.args.args[0]
            wrapped = any(last_name(d) in ("staticmethod", "classmethod") for d in method.decorator_list)
            if wrapped or mine.arg in ("self", "cls", "mcs") or method.name == "__new__":
                continue
            inside = tuple(walk(method))
            held = {n.id for n in inside if isinstance(n, ast.Name)}
            again = sum(isinstance(n, ast.arg) and n.arg == mine.arg for n in inside) > 1
            stored = any(
                isinstance(n, ast.Name) and n.id == mine.arg and not isinstance(n.ctx, ast.Load)
                for n in inside
            )
            if "self" in held or again or stored:
                continue
            for node in inside:
                if isinstance(node, ast.Name) and node.id == mine.arg:
                    node.id = "self"
            mine.arg = "self"


_PYTHON_2 = re.compile(
    r"^\s*(?:print\s+[^=(\s]|print\s*>>|exec\s+[^=(\s]|raise\s+[\w.]+\s*,|except\s+[\w.()]+\s*,\s*\w+\s*:)|<>|\bur[\"']"
)


def _why_not(error: SyntaxError | ValueError, text: str) -> str:
    line = getattr(error, "lineno", None)
    if "\0" in text:
        return "binary, no Python source"
    if not line:
        return "no Python"
    lines = text.splitlines()
    faulty = lines[line - 1] if line <= len(lines) else ""
    if _PYTHON_2.search(faulty):
        return f"Python 2, which is not read: `{faulty.strip()[:60]}` (line {line})"
    said = str(getattr(error, "msg", "")).split(". ")[0][:80]
    return f"no Python that this version reads (line {line}: {said})" if said else f"no Python (line {line})"


def _deeper(tree: ast.AST, most: int) -> bool:
    """Whether a tree has more than `most` levels; counted without recursion."""
    layer: list[ast.AST] = [tree]
    for _ in range(most):
        layer = [child for node in layer for child in below(node)]
        if not layer:
            return False
    return True


@dataclass(frozen=True)
class Imported:
    """One import: of which module, how many folders up (0: from the top), by which names."""

    module: str
    level: int = 0
    names: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def imports(text: str) -> tuple[Imported, ...]:
    """Everything that a source text imports, in order; kept, as trees are too large to be kept for long.

    Raises ValueError as `parse`.
    """
    return imports_of(parsed(text))


def imports_of(tree: ast.Module) -> tuple[Imported, ...]:
    """Everything that a tree imports, in order."""
    found: list[Imported] = []
    for node in of(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found += [Imported(alias.name) for alias in node.names]
        else:
            found.append(Imported(node.module or "", node.level, tuple(a.name for a in node.names)))
    return tuple(found)


def frameworks(tree: ast.Module) -> list[str]:
    """The training frameworks a script imports, in order."""
    return frameworks_among(imports_of(tree))


def frameworks_among(brought: Iterable[Imported]) -> list[str]:
    """The training frameworks among imports, in order."""
    found = [_FRAMEWORKS.get(one.module.split(".")[0], "") for one in brought if not one.level]
    return [f for f in dict.fromkeys(found) if f]
