"""The shape of the project: import direction, and that the installed package is whole."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import traindoctor

PACKAGE = Path(traindoctor.__file__).parent
ALLOWED = {
    "engine": {"engine", "rules"},
    "probes": {"probes", "engine.model"},
    "reports": {"reports", "engine.model"},
    "rules": {"rules"},
    "cli": {"cli", "reports", "engine", "probes", "rules"},
}


NEVER = {"eval", "exec", "pickle.load", "pickle.loads", "yaml.unsafe_load"}


def modules() -> list[Path]:
    return sorted(p for folder in ALLOWED for p in (PACKAGE / folder).rglob("*.py"))


@cache
def parts(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, ...], frozenset[str]]:
    """The imports of a module and what it calls."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    called = frozenset(dotted(n.func) for n in nodes if isinstance(n, ast.Call))
    return tuple(n for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom))), called


def dotted(func: ast.expr) -> str:
    """`eval`, `pickle.load`; "" of what is longer."""
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return f"{func.value.id}.{func.attr}"
    return func.id if isinstance(func, ast.Name) else ""


def imports(path: Path) -> set[str]:
    """The modules of this package that a file imports, dotted, without the package's own name."""
    here = path.relative_to(PACKAGE).with_suffix("").parts
    found = set()
    for node in parts(path)[0]:
        if isinstance(node, ast.Import):
            found |= {
                a.name.removeprefix("traindoctor.") for a in node.names if a.name.startswith("traindoctor")
            }
        elif node.level:
            base = list(here[: len(here) - node.level]) + (node.module.split(".") if node.module else [])
            found |= {".".join(base)} if node.module else {".".join([*base, a.name]) for a in node.names}
        elif (node.module or "").startswith("traindoctor."):
            found.add((node.module or "").removeprefix("traindoctor."))
    return {f for f in found if f and f != "__version__"}


def allowed(folder: str, module: str) -> bool:
    return any(module == a or module.startswith(a + ".") for a in ALLOWED[folder])


def test_imports_flow_one_way() -> None:
    """cli -> reports, engine, probes; reports and probes -> engine.model; engine -> rules."""
    against = {
        f"{path.relative_to(PACKAGE)}: {module}"
        for path in modules()
        for module in imports(path)
        if not allowed(path.relative_to(PACKAGE).parts[0], module)
    }

    assert against == set()


def test_only_the_loader_knows_where_the_rules_are() -> None:
    """engine -> rules goes through load.py alone."""
    users = {
        p.name for p in (PACKAGE / "engine").glob("*.py") if any(m.startswith("rules") for m in imports(p))
    }

    assert users <= {"load.py"}


def test_rule_files_are_installed() -> None:
    """The knowledge base travels with the package."""
    assert (PACKAGE / "rules" / "mechanisms.yaml").is_file()
    assert len(list((PACKAGE / "rules" / "causes").rglob("*.yaml"))) >= 25


def test_no_training_framework_is_imported() -> None:
    """The tool's process never imports a training framework."""
    banned = {"torch", "tensorflow", "keras", "mindspore", "jax", "paddle", "transformers"}
    named: set[str] = set()
    for path in modules():
        for node in parts(path)[0]:
            if isinstance(node, ast.Import):
                named |= {a.name.split(".")[0] for a in node.names}
            elif not node.level:
                named.add((node.module or "").split(".")[0])

    assert named & banned == set()


def test_nothing_is_unpickled_or_executed() -> None:
    """No module calls pickle.load, eval, exec or yaml's unsafe loaders on what strangers left."""
    for path in modules():
        assert not parts(path)[1] & NEVER, path
