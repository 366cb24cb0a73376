"""`diagnose rules ...`: look at the knowledge base, extend it, check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import to_stdout
from .stop import OK, USAGE, usage

if TYPE_CHECKING:
    from ..engine.lint import Lint
    from ..engine.load import Places
    from ..engine.model import RuleBase

STYLE: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
rules_app = typer.Typer(**STYLE, help="Look at the knowledge base, extend it, check it.")

Packs = Annotated[list[Path], typer.Option("--rules", metavar="DIR", help="Further folder of rules.")]
EntryId = Annotated[str, typer.Argument(metavar="ID", help="Id of a cause, mechanism or symptom.")]
FEW = 5  # entries offered for words that are no id
DOCS = Path("docs")
Root = Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Rules to check.")]


@rules_app.command("list")
def rules_list(
    kind: Annotated[str, typer.Argument(metavar="[causes|mechanisms|symptoms|sources]")] = "causes",
    find: Annotated[str, typer.Option("--find", metavar="TEXT", help="Only lines that hold this.")] = "",
    rules: Packs = [],  # noqa: B006 - typer copies it
) -> None:
    """List what the rules know, one line each: id and title."""
    from .rules_text import KINDS, listing
    from .work import load

    if kind not in KINDS:
        raise usage(f"{kind}: say {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    to_stdout(listing(load(rules), kind, find))


@rules_app.command("show")
def rules_show(name: EntryId, rules: Packs = []) -> None:  # noqa: B006
    """Print one entry as YAML, as the engine sees it."""
    from .rules_text import as_yaml

    base, places = with_places(rules)
    to_stdout(as_yaml(entry_of(base, name), places.at(name)))


@rules_app.command("new")
def rules_new(
    kind: Annotated[str, typer.Argument(metavar="cause")],
    name: Annotated[str, typer.Argument(metavar="ID", help="category.name of the new cause.")],
    directory: Annotated[
        Path | None,
        typer.Option("--directory", metavar="DIR", help="Rule folder or pack (default: ./rules, or here)."),
    ] = None,
) -> None:
    """Write the file of a new cause, to be filled in."""
    from .skeleton import new_cause, rules_folder
    from .work import load

    if kind != "cause":
        raise usage(f"{kind}: only a cause has a file of its own; say: diagnose rules new cause ID")
    path = new_cause(load(), name, directory if directory is not None else rules_folder())
    to_stdout(f"{path}\n")


@rules_app.command("lint")
def rules_lint(root: Root = None, rules: Packs = []) -> int:  # noqa: B006
    """Check how the rules are made.

    What is wrong is told in one line each, with file and line; exit code 2 when there is an error.
    """
    from ..engine.lint import lint
    from ..engine.load import RuleError

    try:
        base, places = located(root, rules)
        covered = _coverage(root, base)
    except RuleError as error:
        to_stdout("".join(f"error: {p}\n" for p in error.problems))
        return USAGE
    found = (*lint(base, places), *covered)
    return _told(found, base.problems, "no problem found\n")


@rules_app.command("test")
def rules_test(root: Root = None, rules: Packs = []) -> int:  # noqa: B006
    """Try what the rules do: examples, textbook cases, reach.

    What fails is told in one line each, with file and line; exit code 2 when something fails.
    """
    from ..engine.load import RuleError
    from ..engine.trial import try_rules

    try:
        base, places = located(root, rules)
    except RuleError as error:
        to_stdout("".join(f"error: {p}\n" for p in error.problems))
        return USAGE
    trial = try_rules(base, places)
    tried = (
        f"{trial.causes} causes: {trial.examples} examples, {trial.causes} textbook cases, "
        f"reach of {trial.symptoms} symptoms"
    )
    return _told(trial.failures, base.problems, f"{tried}: all hold\n", f"{tried}\n")


def _coverage(root: Path | None, base: RuleBase) -> tuple[Lint, ...]:
    """Lints of coverage.yaml, where the rule folder has one."""
    from ..engine.coverage import lint_coverage, load_coverage
    from ..rules import root as installed

    coverage = load_coverage(root if root is not None and not is_pack(root) else installed())
    return tuple(lint_coverage(base, coverage)) if coverage is not None else ()


def _told(found: Sequence[Lint], problems: Sequence[str], well: str, end: str = "") -> int:
    """Print what is wrong, or that all is well, and return the exit code."""
    lines = [*(f"error: {p}\n" for p in problems), *(f"{x}\n" for x in found)]
    to_stdout("".join(lines) + end if lines else well)
    return USAGE if problems or any(x.level == "error" for x in found) else OK


@rules_app.command("graph")
def rules_graph(
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only what is linked with this.")] = None,
    form: Annotated[str, typer.Option("--format", "-f", metavar="mermaid|dot|json")] = "mermaid",
    rules: Packs = [],  # noqa: B006
) -> None:
    """Draw what is linked with an entry, or everything."""
    from .rule_graph import FORMATS, drawn
    from .work import load

    if form not in FORMATS:
        raise usage(f"--format {form}: there is no such format; choose {', '.join(FORMATS)}")
    base = load(rules)
    if name is not None:
        entry_of(base, name)
    to_stdout(drawn(base, name, form))


@rules_app.command("docs")
def rules_docs(
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Folder of the pages.")] = DOCS,
    check: Annotated[bool, typer.Option("--check", help="Only say what differs (exit code 2).")] = False,
) -> int:
    """Write the pages that are made from the rules.

    They are rules/, coverage.md and schema/ below DIR; --check says what differs from them.
    """
    from .docs import stale, write

    if not check:
        to_stdout(f"{write(output)} files written below {output}\n")
        return OK
    found = stale(output)
    to_stdout("".join(f"{x}\n" for x in found) or "all pages are as the rules say\n")
    return USAGE if found else OK


# --------------------------------------------------------------------------------------------- helpers


def entry_of(rules: RuleBase, name: str) -> Any:
    """Return an entry; raises `Stop` with the nearest ids when there is none."""
    from ..engine.about import Atlas
    from .answers import suggest

    found = Atlas(rules).entry(name)
    if found is None:
        groups = (rules.causes, rules.mechanisms, rules.symptoms)
        titles = {i: group[i].title for group in groups for i in group}
        near = suggest(name, titles) or _holding(name, titles)
        raise usage(f"{name}: the rules have no such entry{near}")
    return found


def _holding(words: str, titles: Mapping[str, str]) -> str:
    """Return "; look at ...", the entries whose id or title holds all words, or a hint how to search."""
    asked = words.lower().replace("-", " ").replace(".", " ").split()
    found = [i for i, title in titles.items() if all(w in f"{i} {title}".lower() for w in asked)]
    if not asked or not found:
        return "; diagnose rules list symptoms --find TEXT searches"
    more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
    return f"; look at {', '.join(found[:FEW])}{more}"


def is_pack(folder: Path) -> bool:
    """Whether a folder of rules brings no scale of its own, and so is a rule pack."""
    return folder.is_dir() and not (folder / "scale.yaml").exists()


def located(root: Path | None, packs: Sequence[Path]) -> tuple[RuleBase, Places]:
    """Load a rule folder with packs, and where everything stands. Raises `RuleError`.

    A folder without a scale is a rule pack: it is looked at among the installed rules.
    """
    from ..engine.load import load_with_places

    if root is not None and is_pack(root):
        return load_with_places(None, (root, *packs))
    return load_with_places(root, packs)


def with_places(packs: Sequence[Path]) -> tuple[RuleBase, Places]:
    """Load the rules with packs for a command that only looks, and where everything stands."""
    from .work import load

    load(packs)  # says what is wrong with them
    return located(None, packs)
