"""The commands and their options. Each is thin: what it does stands in the module that it imports."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from .output import FORMATS, say, targets, to_stdout
from .stop import INTERNAL, INTERRUPTED, OK, USAGE, Stop, usage

SETTINGS = {"help_option_names": ["-h", "--help"]}
STYLE: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": SETTINGS,
}
MORE = (
    "Further commands (diagnose COMMAND --help): checklist, rules, explain, schema. "
    "A run directory that is called like one of them is reached as ./NAME."
)

main_app = typer.Typer(**STYLE)
sub_app = typer.Typer(**STYLE, help="Further commands of diagnose.")
rules_app = typer.Typer(**STYLE, help="Look at the knowledge base and check it.")
sub_app.add_typer(rules_app, name="rules")
COMMANDS = ("checklist", "rules", "explain", "schema")

RunPath = Annotated[Path, typer.Argument(help="Training run directory (or one log file).")]
Benchmarks = Annotated[
    list[Path], typer.Option("--benchmark", "--ref", metavar="DIR", help="Run to hold it against.")
]
Formats = Annotated[
    list[str], typer.Option("--format", "-f", metavar="|".join(FORMATS), help="Repeatable, with --output.")
]
Outputs = Annotated[
    list[Path],
    typer.Option("--output", "-o", metavar="FILE", help="File for the --format beside it (else stdout)."),
]
Answers = Annotated[
    list[str],
    typer.Option("--answer", metavar="SYMPTOM=present|absent", help="What you know. Repeatable."),
]
AnswersFile = Annotated[
    Path | None, typer.Option("--answers", metavar="FILE.yaml", help="The same, as `symptom: present` lines.")
]
Packs = Annotated[list[Path], typer.Option("--rules", metavar="DIR", help="Further folder of rules.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="All reasons, findings and notes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (NO_COLOR does the same).")]
EntryId = Annotated[str, typer.Argument(metavar="ID", help="Id of a cause, mechanism or symptom.")]


def run_command_line(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing is raised."""
    try:
        return _dispatch(list(arguments))
    except Stop as stop:
        say(stop.message)
        return stop.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _failed(error)


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        raise usage("say which run to diagnose: diagnose RUN_DIR (diagnose --help shows all options)")
    app = sub_app if arguments[0] in COMMANDS else main_app
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="diagnose", standalone_mode=False, obj=arguments)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        said = _usage_message(error)
        if said is None:
            raise
        say(said)
        return USAGE
    return code if isinstance(code, int) else OK


def _usage_message(error: Exception) -> str | None:
    """Return what the option parser's own error says, or None for any other error.

    Known by its shape: new versions of typer bring a parser of their own, old ones use click's.
    """
    if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
        return None
    message = str(error.format_message()).strip()
    hint = "" if message.endswith("?") else " (diagnose --help shows all options)"
    return message.rstrip(".") + hint


def _failed(error: Exception) -> int:
    if os.environ.get("TRAINDOCTOR_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    say(
        f"internal error: {type(error).__name__}: {error}. Please report it with the command line and what "
        f"TRAINDOCTOR_DEBUG=1 prints (traindoctor {__version__})"
    )
    return INTERNAL


def _print_version(wanted: bool) -> None:
    if wanted:
        to_stdout(f"traindoctor {__version__}\n")
        raise typer.Exit


# -------------------------------------------------------------------------------------------- commands


@main_app.command(epilog=MORE)
def main_command(
    context: typer.Context,
    run: RunPath,
    benchmark: Benchmarks = [],  # noqa: B006 - typer copies it
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    answer: Answers = [],  # noqa: B006
    answers: AnswersFile = None,
    rules: Packs = [],  # noqa: B006
    verbose: Verbose = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    version: Annotated[
        bool,
        typer.Option("--version", "-V", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    """Tell why a training run does not train as it should, from what it left on disk."""
    del formats, outputs, version  # `targets` reads the first two with their order, a callback the third
    from .present import report
    from .work import Request, examine

    wanted = targets(context.obj)
    request = Request(run, tuple(benchmark), tuple(answer), answers, tuple(rules), quiet)
    report(examine(request), wanted, verbose=verbose, quiet=quiet, no_color=no_color)


@sub_app.command()
def checklist(
    context: typer.Context,
    run: RunPath,
    benchmark: Benchmarks = [],  # noqa: B006
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    answer: Answers = [],  # noqa: B006
    answers: AnswersFile = None,
    rules: Packs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Fill in the checklist before accuracy tuning: Passed, Failed or Not checked."""
    del formats, outputs  # `targets` reads them with their order
    from . import present
    from .work import Request, examine

    wanted = targets(context.obj[1:])
    request = Request(run, tuple(benchmark), tuple(answer), answers, tuple(rules), quiet)
    present.checklist(examine(request), wanted, quiet=quiet, no_color=no_color)


@sub_app.command()
def explain(name: EntryId) -> None:
    """Explain a cause, mechanism or symptom: what it is, what it leads to, what to do."""
    from .rules_text import explained
    from .work import load

    rules = load()
    to_stdout(explained(rules, _entry(rules, name)))


@sub_app.command()
def schema() -> None:
    """Print the JSON Schema of `--format json`."""
    from ..reports.json_report import schema_text

    to_stdout(schema_text())


@rules_app.command("list")
def rules_list(
    kind: Annotated[str, typer.Argument(metavar="[causes|mechanisms|symptoms]")] = "causes",
) -> None:
    """List what the rules know, one line each."""
    from .rules_text import KINDS, listing
    from .work import load

    if kind not in KINDS:
        raise usage(f"{kind}: say {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    to_stdout(listing(load(), kind))


@rules_app.command("show")
def rules_show(name: EntryId) -> None:
    """Print one entry as YAML, as the engine sees it."""
    from .rules_text import as_yaml
    from .work import load

    to_stdout(as_yaml(_entry(load(), name)))


@rules_app.command("lint")
def rules_lint(
    root: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Folder of rules to check.")] = None,
) -> int:
    """Check all rules: what is wrong with them, one line each; exit code 2 when there is an error."""
    from ..engine.lint import lint
    from ..engine.load import RuleError, load_rules

    try:
        found = lint(load_rules(root))
    except RuleError as error:
        to_stdout("".join(f"error: {p}\n" for p in error.problems))
        return USAGE
    to_stdout("".join(f"{x}\n" for x in found) or "no problem found\n")
    return USAGE if any(x.level == "error" for x in found) else OK


def _entry(rules: Any, name: str) -> Any:
    from .rules_text import entry
    from .work import suggest

    found = entry(rules, name)
    if found is None:
        known = {**rules.causes, **rules.mechanisms, **rules.symptoms}
        raise usage(f"{name}: the rules have no such entry{suggest(name, known)}")
    return found
