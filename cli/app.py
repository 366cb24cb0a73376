"""The commands and their options. Each is thin: what it does stands in the module that it imports."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from .output import FORMATS, REPORT_SUFFIXES, REPORTS, SUFFIXES, say, targets, to_stdout
from .rules_commands import STYLE, EntryId, Packs, entry_of, rules_app
from .stop import INTERNAL, INTERRUPTED, OK, USAGE, Stop, usage

MORE = (
    "Further commands (diagnose COMMAND --help): checklist, workflow, gate, config, compare, determinism, "
    "overflow, fusion, weights, data, script, rules, explain, schema. "
    "A run directory that is called like one of them is reached as ./NAME."
)

main_app = typer.Typer(**STYLE)
sub_app = typer.Typer(**STYLE, help="Further commands of diagnose.")
sub_app.add_typer(rules_app, name="rules")
COMMANDS = (
    "checklist",
    "workflow",
    "gate",
    "config",
    "compare",
    "determinism",
    "overflow",
    "fusion",
    "weights",
    "data",
    "script",
    "rules",
    "explain",
    "schema",
)

_SURPLUS = re.compile(r"unexpected extra arguments?\W*(?:s\) )?\(([^()]*)\)")

RunPath = Annotated[Path, typer.Argument(help="Training run directory (or one log file).")]
Benchmarks = Annotated[
    list[Path], typer.Option("--benchmark", "--ref", metavar="DIR", help="Run to hold it against.")
]
Formats = Annotated[
    list[str], typer.Option("--format", "-f", metavar="|".join(FORMATS), help="Repeatable, with --output.")
]
ReportFormats = Annotated[
    list[str], typer.Option("--format", "-f", metavar="|".join(REPORTS), help="Repeatable, with --output.")
]
Outputs = Annotated[
    list[Path],
    typer.Option("--output", "-o", metavar="FILE", help="File for the --format beside it (else stdout)."),
]
Answers = Annotated[
    list[str],
    typer.Option(
        "--answer", metavar="SYMPTOM=present|absent|unknown", help="What you know; it stands. Repeatable."
    ),
]
AnswersFile = Annotated[
    Path | None, typer.Option("--answers", metavar="FILE.yaml", help="The same, as `symptom: present` lines.")
]
ScriptPaths = Annotated[
    list[Path], typer.Option("--script", metavar="PATH", help="Training script of the run, lying elsewhere.")
]
DataPath = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data files of the run, to be looked at, too.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="All reasons, findings and notes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (NO_COLOR does the same).")]


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
        said = _usage_message(error, arguments)
        if said is None:
            raise
        say(said)
        return USAGE
    return code if isinstance(code, int) else OK


def _usage_message(error: Exception, arguments: Sequence[str]) -> str | None:
    """Return what the option parser's own error says, or None for any other error.

    Known by its shape: new versions of typer bring a parser of their own, old ones use click's.
    """
    if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
        return None
    message = str(error.format_message()).strip()
    command = arguments[0] if arguments[0] in COMMANDS else ""
    surplus = _SURPLUS.search(message)
    if surplus is not None and not command:
        return _more_than_a_run(arguments[0], surplus[1])
    shows = "all commands" if message == "Missing command." else "all options"
    asks = f"diagnose {command} --help" if command else "diagnose --help"
    hint = "" if message.endswith("?") else f" ({asks} shows {shows})"
    return message.rstrip(".") + hint


def _more_than_a_run(first: str, surplus: str) -> str:
    """What is wrong with a command line of several paths: a command that is misspelt, or no `--benchmark`."""
    from difflib import get_close_matches

    near = get_close_matches(first, COMMANDS, 1)
    if near and not os.path.lexists(first):
        return f"there is no command {first}; did you mean {near[0]}?"
    return f"one run at a time, and {surplus} is too much; a run to compare with is given as --benchmark DIR"


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
    formats: ReportFormats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    answer: Answers = [],  # noqa: B006
    answers: AnswersFile = None,
    data: DataPath = None,
    script: ScriptPaths = [],  # noqa: B006
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

    wanted = targets(context.obj, REPORTS, {**SUFFIXES, **REPORT_SUFFIXES})
    request = Request(
        run, tuple(benchmark), tuple(answer), answers, tuple(rules), quiet, data, scripts=tuple(script)
    )
    report(examine(request), wanted, verbose=verbose, quiet=quiet, no_color=no_color)


@sub_app.command()
def checklist(
    context: typer.Context,
    run: RunPath,
    benchmark: Benchmarks = [],  # noqa: B006
    named: Annotated[
        str,
        typer.Option("--list", metavar="ascend|mindspore|mindformers|FILE.yaml", help="Which checklist."),
    ] = "ascend",
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    answer: Answers = [],  # noqa: B006
    answers: AnswersFile = None,
    data: DataPath = None,
    script: ScriptPaths = [],  # noqa: B006
    rules: Packs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Fill in the checklist before accuracy tuning: Passed, Failed or Not checked."""
    del formats, outputs  # `targets` reads them with their order
    from . import present
    from .work import Request, examine

    wanted = targets(context.obj[1:])
    request = Request(
        run, tuple(benchmark), tuple(answer), answers, tuple(rules), quiet, data, named, tuple(script)
    )
    present.checklist(examine(request), wanted, quiet=quiet, no_color=no_color)


@sub_app.command()
def gate(
    context: typer.Context,
    run: RunPath,
    benchmark: Benchmarks = [],  # noqa: B006
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME|FILE", help="minimal, default, strict, or a YAML file.")
    ] = "default",
    waivers: Annotated[
        Path | None, typer.Option("--waivers", metavar="FILE.yaml", help="Failures somebody answers for.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="FILE.json", help="Only new failures fail.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option("--write-baseline", metavar="FILE.json", help="Write today's failures.")
    ] = None,
    allow_unchecked: Annotated[
        bool, typer.Option("--allow-unchecked", help="What is demanded may stay Not checked.")
    ] = False,
    formats: Annotated[
        list[str],
        typer.Option(
            "--format",
            "-f",
            metavar="terminal|markdown|json|junit|sarif|github|gitlab",
            help="Repeatable, with --output.",
        ),
    ] = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    answer: Answers = [],  # noqa: B006
    answers: AnswersFile = None,
    data: DataPath = None,
    script: ScriptPaths = [],  # noqa: B006
    rules: Packs = [],  # noqa: B006
    now: Annotated[
        str | None, typer.Option("--now", metavar="YYYY-MM-DD", help="The day waivers are held against.")
    ] = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> int:
    """Decide by checklist and causes: exit code 0 passed, 1 failed, 3 inconclusive."""
    del formats, outputs  # `targets` reads them with their order
    from .gate_work import FORMATS, SUFFIXES, Policy, decide, tell
    from .output import SUFFIXES as COMMON
    from .work import Request

    wanted = targets(context.obj[1:], FORMATS, {**COMMON, **SUFFIXES})
    policy = Policy(profile, waivers, baseline, write_baseline, allow_unchecked, now)
    request = Request(
        run, tuple(benchmark), tuple(answer), answers, tuple(rules), quiet, data, scripts=tuple(script)
    )
    work, decided = decide(request, policy)
    return tell(work, decided, policy, wanted, verbose=verbose, quiet=quiet, no_color=no_color)


@sub_app.command()
def config(
    context: typer.Context,
    run: RunPath,
    benchmark: Benchmarks = [],  # noqa: B006
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    verbose: Verbose = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Show the settings in force, and how they differ from the benchmark's."""
    del formats, outputs  # `targets` reads them with their order
    from .config_work import compare, show

    wanted = targets(context.obj[1:])
    found = compare(run, benchmark, quiet=quiet)
    show(found, wanted, verbose=verbose, quiet=quiet, no_color=no_color)


DumpPath = Annotated[Path, typer.Argument(metavar="DUMP", help="Operator dump: its folder.")]
RankOption = Annotated[int | None, typer.Option("--rank", metavar="N", help="This rank alone.")]
StepOption = Annotated[int | None, typer.Option("--step", metavar="N", help="This step alone.")]
TopOption = Annotated[int, typer.Option("--top", metavar="N", help="How many operators to list.")]
AllOption = Annotated[bool, typer.Option("--all", help="List every operator.")]


@sub_app.command()
def compare(
    context: typer.Context,
    dump: DumpPath,
    benchmark: Annotated[
        list[Path],
        typer.Option("--benchmark", "--ref", metavar="DUMP", help="Dump to hold it against."),
    ] = [],  # noqa: B006
    rank: RankOption = None,
    step: StepOption = None,
    cosine: Annotated[
        float | None,
        typer.Option("--cosine", metavar="X", help="Below this a tensor differs (0.98)."),
    ] = None,
    top: TopOption = 10,
    everything: AllOption = False,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Hold operator dumps against a benchmark's: the first operator whose inputs agree and outputs do not."""
    del formats, outputs  # `targets` reads them with their order
    from .dump_work import Question, answer, show

    if len(benchmark) > 1:
        raise usage("compare holds a dump against one benchmark; give --benchmark once")
    wanted = targets(context.obj[1:])
    found = answer(Question(dump, benchmark[0] if benchmark else None, rank, step, cosine), quiet=quiet)
    show(found, wanted, top=top, everything=everything, quiet=quiet, no_color=no_color)


@sub_app.command()
def determinism(
    context: typer.Context,
    dump_a: DumpPath,
    dump_b: DumpPath,
    rank: RankOption = None,
    step: StepOption = None,
    top: TopOption = 10,
    everything: AllOption = False,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Find random errors in dumps of two equal runs: equal inputs, other results."""
    del formats, outputs  # `targets` reads them with their order
    from .dump_work import Question, answer, show

    wanted = targets(context.obj[1:])
    found = answer(Question(dump_a, dump_b, rank, step, exact=True), quiet=quiet)
    show(found, wanted, top=top, everything=everything, quiet=quiet, no_color=no_color)


@sub_app.command()
def data(
    context: typer.Context,
    data: Annotated[
        Path, typer.Argument(help="Folder or file of data, or of batches dumped before the model.")
    ],
    benchmark: Annotated[
        Path | None,
        typer.Option(
            "--benchmark", "--ref", metavar="DIR", help="Data or dumped batches to hold it against."
        ),
    ] = None,
    validation: Annotated[
        Path | None, typer.Option("--validation", metavar="DIR", help="The evaluation split, if elsewhere.")
    ] = None,
    label: Annotated[
        str, typer.Option("--label", metavar="COLUMN", help="Column of labels, if not called so.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Samples of each part that are looked at.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Draws what is looked at.")] = 0,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    rules: Packs = [],  # noqa: B006
    everything: Annotated[bool, typer.Option("--all", "-a", help="Everything that was looked at.")] = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Look for what is wrong with data files: values, labels, duplicates, order, splits, shards."""
    del formats, outputs  # `targets` reads them with their order
    from .data_work import Asked, look, show

    wanted = targets(context.obj[1:])
    asked = Asked(data, benchmark, validation, label, limit, seed, tuple(rules), quiet)
    show(look(asked), wanted, everything=everything, quiet=quiet, no_color=no_color)


@sub_app.command()
def script(
    context: typer.Context,
    script: Annotated[
        Path, typer.Argument(metavar="TRAIN.py|DIR|NOTEBOOK", help="Training script, folder, notebook.")
    ],
    benchmark: Annotated[
        Path | None,
        typer.Option("--benchmark", "--ref", metavar="SCRIPT", help="Script that trains well."),
    ] = None,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    rules: Packs = [],  # noqa: B006
    everything: Annotated[bool, typer.Option("--all", "-a", help="Everything that was looked at.")] = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Look for what is wrong with a training script: read as a syntax tree, nothing is executed."""
    del formats, outputs  # `targets` reads them with their order
    from .script_work import Asked, look, show

    wanted = targets(context.obj[1:])
    found = look(Asked(script, benchmark, tuple(rules), quiet))
    show(found, wanted, everything=everything, quiet=quiet, no_color=no_color)


@sub_app.command()
def overflow(
    context: typer.Context,
    dump: DumpPath,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="RUN", help="Run whose log tells the loss scale.")
    ] = None,
    rank: RankOption = None,
    step: StepOption = None,
    everything: AllOption = False,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Find the first operator that makes infinite, NaN or saturated values of sound ones."""
    del formats, outputs  # `targets` reads them with their order
    from .overflow_work import look, show

    wanted = targets(context.obj[1:])
    found = look(dump, log, rank, step, quiet=quiet)
    show(found, wanted, everything=everything, quiet=quiet, no_color=no_color)


@sub_app.command()
def fusion(
    context: typer.Context,
    on: Annotated[Path, typer.Argument(metavar="RUN_ON", help="Run with operator fusion, as usual.")],
    off: Annotated[Path, typer.Argument(metavar="RUN_OFF", help="The same with all fusion off.")],
    benchmark: Benchmarks = [],  # noqa: B006
    state: Annotated[
        Path | None, typer.Option("--state", metavar="FILE.json", help="Search for the rule; kept here.")
    ] = None,
    result: Annotated[
        Path | None, typer.Option("--result", metavar="RUN", help="The run that was asked for.")
    ] = None,
    switches: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Where the next switch file goes.")
    ] = None,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Decide whether operator fusion harms accuracy, and find the guilty rule by bisection."""
    del formats, outputs  # `targets` reads them with their order
    from .fusion_work import Question, answer, show

    if len(benchmark) > 1:
        raise usage("fusion is held against one benchmark; give --benchmark once")
    wanted = targets(context.obj[1:])
    found = answer(Question(on, off, benchmark[0] if benchmark else None, state, result, switches, quiet))
    show(found, wanted, quiet=quiet, no_color=no_color)


@sub_app.command()
def weights(
    context: typer.Context,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Run, folder of checkpoints, or one checkpoint.")
    ],
    benchmark: Benchmarks = [],  # noqa: B006
    pretrained: Annotated[
        Path | None,
        typer.Option("--pretrained", metavar="FILE", help="Checkpoint that it should start from."),
    ] = None,
    rules: Packs = [],  # noqa: B006
    everything: Annotated[bool, typer.Option("--all", help="All looks and all weights.")] = False,
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Look at the weights in checkpoints: still, too large, constant, not finite, unequal over ranks."""
    del formats, outputs  # `targets` reads them with their order
    from .weights_work import look, show

    wanted = targets(context.obj[1:])
    found = look(run, benchmark, pretrained, rules, quiet=quiet)
    show(found, wanted, everything=everything, quiet=quiet, no_color=no_color)


@sub_app.command()
def workflow(
    context: typer.Context,
    run: RunPath,
    benchmark: Benchmarks = [],  # noqa: B006
    formats: Formats = [],  # noqa: B006
    outputs: Outputs = [],  # noqa: B006
    answer: Answers = [],  # noqa: B006
    answers: AnswersFile = None,
    data: DataPath = None,
    script: ScriptPaths = [],  # noqa: B006
    rules: Packs = [],  # noqa: B006
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Show where this run stands in the documented tuning flows: each step done, open or next, and why."""
    del formats, outputs  # `targets` reads them with their order
    from . import present
    from .work import Request, examine

    wanted = targets(context.obj[1:])
    request = Request(
        run, tuple(benchmark), tuple(answer), answers, tuple(rules), quiet, data, scripts=tuple(script)
    )
    present.workflow(examine(request), wanted, quiet=quiet, no_color=no_color)


@sub_app.command()
def explain(name: EntryId, rules: Packs = []) -> None:  # noqa: B006
    """Explain a cause, mechanism or symptom: how it shows, what it is confused with, what to do."""
    from ..engine.about import Atlas
    from .rules_text import explained
    from .work import load

    base = load(rules)
    to_stdout(explained(Atlas(base), entry_of(base, name)))


@sub_app.command()
def schema(
    kind: Annotated[
        str, typer.Argument(metavar="[diagnosis|cause|symptoms|...]", help="What to describe.")
    ] = "diagnosis",
) -> None:
    """Print a JSON Schema: of `--format json` (diagnosis), or of a kind of rule file, for editors."""
    from .schemas import KINDS, schema_of

    if kind not in KINDS:
        raise usage(f"{kind}: there is a schema of {', '.join(KINDS)}")
    to_stdout(schema_of(kind))
