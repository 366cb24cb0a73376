"""How ordinary scripts keep their settings and write their logs. Each convention is text put into a script.

A template (scripts/*.tmpl) holds `{{name}}` where a setting is used and `@step`, `@epoch`, `@eval` where
a row is logged (fields `key=expression`, parted by ` | `; `?` in front: only with gradient norms, `~`: only
with loss scales). `@@imports`, `@@settings`, `@@open` and `@@close` stand for the convention's own lines.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from described_logs import Row
from project_logs import PROJECT_LOGS

Fields = dict[str, str]

# ---------------------------------------------------------------------------------------------- settings


@dataclass(frozen=True)
class Config:
    """Where settings live: the script's lines, how one is used, and the files beside the script."""

    lines: Callable[[dict[str, Any]], list[str]]
    use: str  # "{}" is the setting's name
    files: Callable[[dict[str, Any], str], dict[str, str]] = lambda _settings, _redirect: {}
    rename: dict[str, str] = field(default_factory=dict)
    imports: tuple[str, ...] = ()


def _constants(settings: dict[str, Any]) -> list[str]:
    return [f"{k.upper()} = {v!r}" for k, v in settings.items()]


def _arguments(settings: dict[str, Any]) -> list[str]:
    lines = ["parser = argparse.ArgumentParser()"]
    for k, v in settings.items():
        lines.append(
            f'parser.add_argument("--{k.replace("_", "-")}", type={type(v).__name__}, default={v!r})'
        )
    return [*lines, "args = parser.parse_args()"]


def _saved_arguments(settings: dict[str, Any]) -> list[str]:
    return [*_arguments(settings), 'json.dump(vars(args), open("args.json", "w"), indent=2)']


def yaml_value(value: Any) -> str:
    """A setting as YAML: 1e-05 would be read as a text, 1.0e-05 is a number."""
    text = repr(value) if isinstance(value, float) else str(value)
    return re.sub(r"^(\d+)e", r"\1.0e", text)


def _yaml_file(settings: dict[str, Any], _redirect: str) -> dict[str, str]:
    return {"config.yaml": "".join(f"{k}: {yaml_value(v)}\n" for k, v in settings.items())}


def _json_file(settings: dict[str, Any], _redirect: str) -> dict[str, str]:
    return {"config.json": json.dumps(settings, indent=4) + "\n"}


def _shell_file(settings: dict[str, Any], redirect: str) -> dict[str, str]:
    flags = " \\\n    ".join(f"--{k.replace('_', '-')} {v}" for k, v in list(settings.items())[:6])
    return {"run.sh": f"#!/bin/bash\npython train.py \\\n    {flags}{redirect}\n"}


def _dumped(settings: dict[str, Any]) -> list[str]:
    body = [f"    {k}={v!r}," for k, v in settings.items()]
    return ["hp = dict(", *body, ")", 'yaml.safe_dump(hp, open("hparams.yaml", "w"))']


CONFIGS = {
    "constants": Config(_constants, "{}"),
    "shell": Config(_arguments, "args.{}", _shell_file, {"warmup_steps": "warmup"}, ("import argparse",)),
    "args": Config(
        _saved_arguments,
        "args.{}",
        imports=("import argparse", "import json"),
        rename={"lr": "learning_rate"},
    ),
    "yaml": Config(
        lambda _: ['cfg = yaml.safe_load(open("config.yaml"))'],
        'cfg["{}"]',
        _yaml_file,
        {"lr": "learning_rate", "grad_clip": "max_grad_norm"},
        ("import yaml",),
    ),
    "json": Config(
        lambda _: ['config = json.load(open("config.json"))'],
        'config["{}"]',
        _json_file,
        {"lr": "lr"},
        ("import json",),
    ),
    "hparams": Config(_dumped, 'hp["{}"]', imports=("import yaml",)),
}

# -------------------------------------------------------------------------------------------------- logs


def read_trainer_state(folder: Path) -> list[dict[str, float]]:
    """Rows of a Hugging Face trainer_state.json."""
    path = next(iter(sorted(folder.rglob("trainer_state.json"))))
    names = {"eval_loss": "val_loss", "eval_accuracy": "val_acc"}
    history = json.loads(path.read_text(encoding="utf-8"))["log_history"]
    return [
        {names.get(k, k): v for k, v in row.items() if isinstance(v, (int, float))}
        for row in history
        if "train_runtime" not in row
    ]


@dataclass(frozen=True)
class Log:
    """One way of logging: the lines it puts into a script, and how its rows are read back for the check."""

    step: Callable[[Fields], list[str]]
    epoch: Callable[[Fields], list[str]]
    evaluation: Callable[[Fields], list[str]]
    read: Callable[[Path], list[Row]]
    imports: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    stdout: str | None = None  # the file that the user sends the output to


_EVERY = "if step % {{log_every}} == 0:"
_NUMBER = r"([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|inf))"


def _percent(
    pairs: Iterable[tuple[str, str]], prefix: str, arguments: str, join: str, glue: str, call: str
) -> str:
    items = [f"{name}{glue}{code}" for name, code in pairs]
    text = join.join([prefix, *items] if prefix else items)
    return f'{call}("{text}" % ({arguments}))'


def _code(key: str) -> str:
    return {"lr": "%.3e", "grad_norm": "%.4f", "loss_scale": "%g"}.get(key, "%.4f")


def _text(
    call: str, prefix: str, head: str, join: str, glue: str, names: dict[str, str]
) -> Callable[[Fields], list[str]]:
    """Rows by %-formatting: `prefix` with the values `head`, then the fields."""

    def rows(fields: Fields) -> list[str]:
        pairs = [(names.get(k, k), _code(k)) for k in fields]
        arguments = ", ".join([*([head] if head else []), *fields.values()])
        return [_percent(pairs, prefix, arguments, join, glue, call)]

    return rows


def _guarded(rows: Callable[[Fields], list[str]]) -> Callable[[Fields], list[str]]:
    return lambda fields: [_EVERY, *("    " + line for line in rows(fields))]


def _validation(rows: Callable[[Fields], list[str]]) -> Callable[[Fields], list[str]]:
    """At the end of an epoch: only what validation says, where the steps log training."""
    return lambda fields: rows({k: v for k, v in fields.items() if k.startswith("val_")})


def _nothing(_fields: Fields) -> list[str]:
    return []


def _regex_reader(name: str, glue: str, names: dict[str, str], step: str) -> Callable[[Path], list[Row]]:
    """Read `key<glue>value` pairs back; every line with at least one is a row."""
    back = {v: k for k, v in names.items()}
    known = "|".join(
        sorted(
            map(
                re.escape,
                [
                    *back,
                    "loss",
                    "acc",
                    "lr",
                    "grad_norm",
                    "val_loss",
                    "val_acc",
                    "train_loss",
                    "train_acc",
                    "loss_scale",
                    "mae",
                    "val_mae",
                    "mean_reward",
                    "policy_loss",
                ],
            ),
            key=len,
            reverse=True,
        )
    )
    pattern = re.compile(rf"(?<!\w)({known}){glue}{_NUMBER}", re.IGNORECASE)

    def read(folder: Path) -> list[Row]:
        rows = []
        for path in sorted(folder.glob(name)):
            for line in path.read_text(encoding="utf-8").splitlines():
                found = re.search(step, line)
                if found:
                    pairs = {back.get(k, k.lower()): float(v) for k, v in pattern.findall(line)}
                    rows.append({"step": float(found.group(1)), **pairs})
        return rows

    return read


def _kv() -> Log:
    step = _text("print", "step %d", "step", " ", " ", {})
    return Log(
        _guarded(step),
        _validation(step),
        step,
        _regex_reader("train.log", " ", {}, r"step (\d+)"),
        stdout="train.log",
    )


def _nano() -> Log:
    names = {"val_loss": "val loss", "val_acc": "val acc"}
    step = _text("print", "iter %d:", "step", " ", " ", {})
    evaluation = _text("print", "step %d:", "step", " ", " ", names)
    return Log(
        _guarded(step),
        _validation(evaluation),
        evaluation,
        _regex_reader("nohup.out", " ", names, r"(?:iter|step) (\d+):"),
        stdout="nohup.out",
    )


def _epochs() -> Log:
    names = {"train_loss": "loss", "train_acc": "acc"}
    epoch = _text("print", "Epoch %d/%d", "epoch, {{epochs}}", " - ", ": ", names)
    return Log(
        _nothing,
        epoch,
        _nothing,
        _regex_reader("output.txt", ": ", names, r"Epoch (\d+)/"),
        stdout="output.txt",
    )


def _logging() -> Log:
    step = _text("logging.info", "epoch=%d step=%d", "epoch, step", " ", "=", {})
    return Log(
        _guarded(step),
        _validation(step),
        step,
        _regex_reader("run.log", "=", {}, r"step=(\d+)"),
        imports=("import logging",),
        open=(
            'logging.basicConfig(filename="run.log", level=logging.INFO, '
            'format="%(asctime)s [%(levelname)s] %(message)s")',
        ),
    )


def _jsonl() -> Log:
    def row(fields: Fields) -> list[str]:
        body = ", ".join(f'"{k}": {v}' for k, v in fields.items())
        return [f'log.write(json.dumps({{"step": step, "epoch": epoch, {body}}}) + "\\n")']

    def read(folder: Path) -> list[Row]:
        return [
            json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        ]

    return Log(
        _guarded(row),
        _validation(row),
        row,
        read,
        ("import json",),
        ('log = open("metrics.jsonl", "w")',),
        ("log.close()",),
    )


def _epoch_jsonl() -> Log:
    base = _jsonl()

    def row(fields: Fields) -> list[str]:
        body = ", ".join(f'"{k}": {v}' for k, v in fields.items())
        return [f'log.write(json.dumps({{"epoch": epoch, {body}}}) + "\\n")']

    def read(folder: Path) -> list[Row]:
        rows = [json.loads(line) for line in (folder / "log.txt").read_text(encoding="utf-8").splitlines()]
        return [{"step": r["epoch"], **r} for r in rows]

    return Log(_nothing, row, _nothing, read, base.imports, ('log = open("log.txt", "w")',), base.close)


def _csv_read(name: str) -> Callable[[Path], list[Row]]:
    def read(folder: Path) -> list[Row]:
        with (folder / name).open(encoding="utf-8", newline="") as f:
            rows = [{k: float(v) for k, v in r.items() if v not in ("", None)} for r in csv.DictReader(f)]
        return [{"step": r.get("step", r.get("epoch", 0.0)), **r} for r in rows]

    return read


def _csv() -> Log:
    def row(fields: Fields) -> list[str]:
        cells = ", ".join(f'"{k}": {v}' for k, v in fields.items())
        return [f'log.writerow({{"step": step, "epoch": epoch, {cells}}})']

    return Log(
        _guarded(row),
        _validation(row),
        row,
        _csv_read("metrics.csv"),
        ("import csv",),
        (
            'log_file = open("metrics.csv", "w", newline="")',
            "log = csv.DictWriter(log_file, @@columns)",
            "log.writeheader()",
        ),
        ("log_file.close()",),
    )


def _keras() -> Log:
    names = {"train_loss": "loss", "train_acc": "accuracy", "val_acc": "val_accuracy", "train_mae": "mae"}

    def row(fields: Fields) -> list[str]:
        cells = ", ".join(f'"{names.get(k, k)}": {v}' for k, v in sorted(fields.items()))
        return [
            f'row = {{"epoch": epoch - 1, {cells}}}',
            "if log is None:",
            '    log = csv.DictWriter(log_file, row, lineterminator="\\n")',
            "    log.writeheader()",
            "log.writerow(row)",
        ]

    def read(folder: Path) -> list[Row]:
        back = {v: k for k, v in names.items()}
        return [{back.get(k, k): v for k, v in r.items()} for r in _csv_read("training.csv")(folder)]

    return Log(
        _nothing,
        row,
        _nothing,
        read,
        ("import csv",),
        ('log_file = open("training.csv", "w", newline="")', "log = None"),
        ("log_file.close()",),
    )


def _tensorboard() -> Log:
    tags = {
        "mean_reward": "rollout/ep_rew_mean",
        "policy_loss": "train/policy_loss",
        "loss": "train/loss",
        "acc": "train/accuracy",
        "lr": "train/lr",
        "grad_norm": "train/grad_norm",
        "loss_scale": "train/loss_scale",
        "mae": "train/mae",
        "val_loss": "val/loss",
        "val_acc": "val/accuracy",
        "val_mae": "val/mae",
    }

    def row(fields: Fields) -> list[str]:
        return [f'writer.add_scalar("{tags[k]}", {v}, step)' for k, v in fields.items()]

    def read(folder: Path) -> list[Row]:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        back = {v: k for k, v in tags.items()}
        events = EventAccumulator(str(folder / "runs"), size_guidance={"scalars": 0})
        events.Reload()
        rows = [
            {"step": float(e.step), back[t]: e.value}
            for t in events.Tags()["scalars"]
            for e in events.Scalars(t)
        ]
        return sorted(rows, key=lambda r: r["step"])

    return Log(
        _guarded(row),
        _validation(row),
        row,
        read,
        ("from torch.utils.tensorboard import SummaryWriter",),
        ('writer = SummaryWriter("runs")',),
        ("writer.close()",),
    )


def _history() -> Log:
    def row(fields: Fields) -> list[str]:
        return [f'history.setdefault("{k}", []).append({v})' for k, v in fields.items()]

    def read(folder: Path) -> list[Row]:
        columns = json.loads((folder / "history.json").read_text(encoding="utf-8"))
        length = max(map(len, columns.values()))
        return [
            {"step": float(i + 1), **{k: v[i] for k, v in columns.items() if i < len(v)}}
            for i in range(length)
        ]

    return Log(
        _nothing,
        row,
        _nothing,
        read,
        ("import json",),
        ("history = {}",),
        ('json.dump(history, open("history.json", "w"))',),
    )


def _ranks() -> Log:
    step = _text("print", "[rank %d] epoch %d step %d", "rank, epoch, step", " ", " ", {})

    def filed(fields: Fields) -> list[str]:
        return [step(fields)[0][:-1] + ", file=log)"]

    return Log(
        _guarded(filed),
        _validation(filed),
        filed,
        _regex_reader("logs/rank*.log", " ", {}, r"step (\d+)"),
        open=('os.makedirs("logs", exist_ok=True)', 'log = open(f"logs/rank{rank}.log", "w")'),
    )


def _ranks_jsonl() -> Log:
    def row(fields: Fields) -> list[str]:
        body = ", ".join(f'"{k}": {v}' for k, v in fields.items())
        return [f'print(json.dumps({{"rank": rank, "epoch": epoch, "step": step, {body}}}), file=log)']

    def read(folder: Path) -> list[Row]:
        lines = [
            x
            for p in sorted(folder.glob("log_rank_*.jsonl"))
            for x in p.read_text(encoding="utf-8").splitlines()
        ]
        return [json.loads(x) for x in lines if x.startswith("{")]

    return Log(
        _guarded(row),
        _validation(row),
        row,
        read,
        ("import json",),
        ('log = open(f"log_rank_{rank}.jsonl", "w")',),
    )


# What the Hugging Face Trainer writes by itself; `hf-saved` also keeps its arguments as JSON.
_TRAINER = Log(_nothing, _nothing, _nothing, lambda folder: read_trainer_state(folder))
_TRAINER_SAVED = replace(
    _TRAINER,
    close=('json.dump(arguments.to_dict(), open("results/training_args.json", "w"), indent=2, default=str)',),
)

LOGS: dict[str, Log] = {
    **{
        name: Log(_nothing, _nothing, _nothing, read, stdout=stdout)
        for name, (read, stdout) in PROJECT_LOGS.items()
    },
    "hf": _TRAINER,
    "hf-saved": _TRAINER_SAVED,
    "kv": _kv(),
    "nano": _nano(),
    "epochs": _epochs(),
    "logging": _logging(),
    "jsonl": _jsonl(),
    "epoch-jsonl": _epoch_jsonl(),
    "csv": _csv(),
    "keras": _keras(),
    "tensorboard": _tensorboard(),
    "history": _history(),
    "ranks": _ranks(),
    "ranks-jsonl": _ranks_jsonl(),
}
