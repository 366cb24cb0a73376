"""Readers of the logs that the projects (folders in scripts/) write by themselves, for the lab's own check.

Each gives rows with the lab's names: loss, val_loss, val_acc or val_mae, grad_norm, lr, loss_scale.
"""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

from described_logs import Reader, Row, described
from programs import TRAINED

_NUMBER = r"([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|inf))"


def _lines(folder: Path, pattern: str) -> list[str]:
    paths = sorted(folder.glob(pattern))
    return [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def _pairs(line: str, names: dict[str, str], glue: str) -> Row:
    found: Row = {}
    for name, key in names.items():
        match = re.search(rf"(?<![\w ]){re.escape(name)}{glue}{_NUMBER}", line, re.IGNORECASE)
        if match:
            found[key] = float(match.group(1))
    return found


def megatron(folder: Path) -> list[Row]:
    """Lines of Megatron-LM: key and value between bars."""
    names = {"lm loss": "loss", "grad norm": "grad_norm", "learning rate": "lr", "loss scale": "loss_scale"}
    rows: list[Row] = []
    for line in _lines(folder, "pretrain.log"):
        cells = re.sub(r"\s*\|\s*", "|", line)
        step = re.match(r" (?:iteration|validation loss at iteration) +(\d+)", line)
        if step and "validation" in line:
            rows.append({"step": float(step[1]), **_pairs(cells, {"lm loss value": "val_loss"}, r":\s*")})
        elif step:
            rows.append({"step": float(step[1]), **_pairs(cells, names, r":\s*")})
    return rows


def openmmlab(folder: Path) -> list[Row]:
    """The JSON lines of a work directory; accuracies are percentages."""
    rows: list[Row] = []
    for line in _lines(folder, "work_dirs/*/*.log.json"):
        row = json.loads(line)
        if row.get("mode") == "val":
            row = {"val_loss": row["loss"], "val_acc": row["accuracy_top-1"] / 100, "epoch": row["epoch"]}
        rows.append({"step": float(row.get("epoch", 0)), **row})
    return [row for row in rows if "loss" in row or "val_loss" in row]


def results_csv(folder: Path) -> list[Row]:
    """The padded table of YOLOv5: the losses are summed up."""
    rows = []
    for cells in csv.DictReader(_lines(folder, "runs/train/*/results.csv"), skipinitialspace=True):
        row = {k.strip(): float(v) for k, v in cells.items()}
        rows.append(
            {
                "step": row["epoch"],
                "loss": row["train/box_loss"] + row["train/cls_loss"],
                "val_loss": row["val/box_loss"] + row["val/cls_loss"],
                "val_acc": row["metrics/mAP_0.5"],
            }
        )
    return rows


def lightning(folder: Path) -> list[Row]:
    """metrics.csv of the CSVLogger, all versions in a row."""
    rows = []
    for path in sorted(folder.glob("lightning_logs/version_*/metrics.csv")):
        with path.open(encoding="utf-8", newline="") as f:
            kept = [{k: float(v) for k, v in row.items() if v not in ("", None)} for row in csv.DictReader(f)]
        rows += [{("loss" if k == "train_loss" else k): v for k, v in row.items()} for row in kept]
    return rows


def loss_monitor(folder: Path) -> list[Row]:
    """Lines of MindSpore's LossMonitor and of an evaluation callback; the score is the AUC."""
    rows = []
    for line in _lines(folder, "train.log"):
        step = re.match(rf"epoch: (\d+) step: (\d+), loss is {_NUMBER}", line)
        if step:
            rows.append({"step": float(step[2]), "epoch": float(step[1]), "loss": float(step[3])})
        elif "EvalCallBack" in line:
            cells = re.sub(r"[' {}]", ";", line)
            rows.append(_pairs(cells, {"auc": "val_acc", "loss": "val_loss"}, ";*:;*"))
    return rows


def scalars(folder: Path) -> list[Row]:
    """TensorBoard's scalars under the names that the speech project gives them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    names = {"Loss/train": "loss", "Loss/valid": "val_loss", "Accuracy/valid": "val_acc", "lr": "lr"}
    names |= {"grad_norm": "grad_norm"}
    events = EventAccumulator(str(folder / "tb"), size_guidance={"scalars": 0})
    events.Reload()
    kept = [t for t in events.Tags()["scalars"] if t in names]
    rows = [{"step": float(e.step), names[t]: e.value} for t in kept for e in events.Scalars(t)]
    return sorted(rows, key=lambda r: r["step"])


def workers(folder: Path) -> list[Row]:
    """What two workers print into one file."""
    names = {"loss": "loss", "val_loss": "val_loss", "val_acc": "val_acc", "gnorm": "grad_norm", "lr": "lr"}
    rows = []
    for line in _lines(folder, "train.out"):
        step = re.search(r"step (\d+)/", line)
        if step:
            rows.append({"step": float(step[1]), **_pairs(line.replace(" ", ";"), names, "=")})
    return rows


def hydra_csv(folder: Path) -> list[Row]:
    """metrics.csv of the CSVLogger in the run folders of a Hydra template: sparse cells."""
    rows: list[Row] = []
    for path in sorted(folder.glob("logs/*/runs/*/csv/version_*/metrics.csv")):
        with path.open(encoding="utf-8", newline="") as f:
            kept = [{k: float(v) for k, v in row.items() if v not in ("", None)} for row in csv.DictReader(f)]
        names = {"train/loss": "loss", "val/loss": "val_loss", "val/acc": "val_acc", "lr-AdamW": "lr"}
        rows += [{names.get(k, k): v for k, v in row.items()} for row in kept]
    return rows


def fairseq(folder: Path) -> list[Row]:
    """Lines of fairseq: key=value for training, key and value between bars for validation."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        inner = re.search(r"\| train_inner \| epoch (\d+):.*num_updates=(\d+)", line)
        valid = re.search(r"\| valid on '\w+' subset \|.*\| num_updates (\d+)", line)
        if inner:
            names = {"loss": "loss", "lr": "lr", "gnorm": "grad_norm"}
            cells = _pairs(line.replace(" ", ";"), names, "=")
            rows.append({"step": float(inner[2]), "epoch": float(inner[1]), **cells})
        elif valid:
            cells = _pairs(line.replace(" | ", ";"), {"loss": "val_loss", "uer": "uer"}, " ")
            if "uer" in cells:
                cells["val_acc"] = 1 - cells.pop("uer") / 100
            rows.append({"step": float(valid[1]), **cells})
    return rows


def _events(folder: Path, names: dict[str, str]) -> list[Row]:
    """TensorBoard's scalars in the folders below runs/, tags under the lab's names."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    rows = []
    for path in sorted(folder.glob("runs/*")):
        events = EventAccumulator(str(path), size_guidance={"scalars": 0})
        events.Reload()
        kept = [t for t in events.Tags()["scalars"] if t in names]
        rows += [{"step": float(e.step), names[t]: e.value} for t in kept for e in events.Scalars(t)]
    return sorted(rows, key=lambda r: r["step"])


def cells(folder: Path) -> list[Row]:
    """TensorBoard's scalars of the segmentation project; the score is the Dice coefficient."""
    names = {"train/loss": "loss", "train/lr": "lr", "val/loss": "val_loss", "val/dice": "val_acc"}
    return _events(folder, names)


def queries(folder: Path) -> list[Row]:
    """TensorBoard's scalars of the sentence classifier, the loss scale among them."""
    names = {"train/loss": "loss", "train/lr": "lr", "val/loss": "val_loss", "val/acc": "val_acc"}
    names |= {"train/grad_norm": "grad_norm", "train/loss_scale": "loss_scale"}
    return _events(folder, names)


def blossoms(folder: Path) -> list[Row]:
    """TensorBoard's scalars of the flower pictures, one of each tag an epoch."""
    names = {"Loss/train": "loss", "Loss/val": "val_loss", "Accuracy/val": "val_acc", "lr": "lr"}
    return _events(folder, names)


def bookings(folder: Path) -> list[Row]:
    """Time-stamped lines, one an epoch."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        if epoch := re.search(r" epoch (\d+)/", line):
            names = {"train_loss": "loss", "val_loss": "val_loss", "val_acc": "val_acc"}
            rows.append({"step": float(epoch[1]), **_pairs(line.replace(" ", ";"), names, "=")})
    return rows


def valves(folder: Path) -> list[Row]:
    """history.csv, a row each epoch."""
    kept = {"epoch", "lr", "loss", "val_loss", "val_acc"}
    rows = csv.DictReader(_lines(folder, "history.csv"))
    return [{"step": float(r["epoch"]), **{k: float(v) for k, v in r.items() if k in kept}} for r in rows]


def quotes(folder: Path) -> list[Row]:
    """JSON lines of the language model: pretraining and fine-tuning one after the other."""
    names = {"step": "step", "loss": "loss", "val_loss": "val_loss", "val_acc": "val_acc", "lr": "lr"}
    names |= {"gn": "grad_norm"}
    rows = [json.loads(line) for line in _lines(folder, "log.jsonl")]
    return [{names[k]: float(v) for k, v in row.items() if k in names} for row in rows]


def postcards(folder: Path) -> list[Row]:
    """JSON lines of the postcards: one every few steps, one for the held-out cards."""
    names = {"step": "step", "loss": "loss", "val_loss": "val_loss", "lr": "lr", "grad_norm": "grad_norm"}
    rows = [json.loads(line) for line in _lines(folder, "log.jsonl")]
    return [{names[k]: float(v) for k, v in row.items() if k in names} for row in rows]


def pumps(folder: Path) -> list[Row]:
    """The table that the trainer of the pumps appends to, one row an epoch."""
    with (folder / "outputs" / "metrics.csv").open(encoding="utf-8", newline="") as f:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(f)]
    return [{"step": r["epoch"], "loss": r.pop("train_loss"), **r} for r in rows]


def reviews(folder: Path) -> list[Row]:
    """Progress bars with their postfix and a line per epoch, all in the captured output."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        bar = re.match(r"Epoch (\d+)/\d+:.* (\d+)/(\d+) \[", line)
        if bar and "loss=" in line:
            epoch, done, every = map(float, bar.groups())
            step = (epoch - 1) * every + done
            rows.append(
                {
                    "step": step,
                    "epoch": epoch,
                    **_pairs(line.replace(" ", ";"), {"loss": "loss", "lr": "lr"}, "="),
                }
            )
        elif line.startswith("epoch ") and rows:
            names = {"val loss": "val_loss", "val acc": "val_acc"}
            rows.append({"step": rows[-1]["step"], **_pairs(line.replace("| ", "|"), names, " ")})
    return rows


def defects(folder: Path) -> list[Row]:
    """Lines as MindSpore's LossMonitor prints them, and one line of the evaluation each epoch."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        step = re.match(rf"epoch: (\d+) step: (\d+), loss is {_NUMBER}", line)
        held_out = re.match(rf"epoch: (\d+), val_loss: {_NUMBER}, accuracy: {_NUMBER}", line)
        if step:
            rows.append(
                {
                    "epoch": float(step[1]),
                    "step": 1000 * float(step[1]) + float(step[2]),
                    "loss": float(step[3]),
                }
            )
        elif held_out:
            rows.append(
                {"epoch": float(held_out[1]), "val_loss": float(held_out[2]), "val_acc": float(held_out[3])}
            )
    return rows


def bikes(folder: Path) -> list[Row]:
    """Keras' CSVLogger: a row each epoch."""
    names = {"loss": "loss", "val_loss": "val_loss", "val_mae": "val_mae", "learning_rate": "lr"}
    return [
        {"step": float(row["epoch"]), **{names[k]: float(v) for k, v in row.items() if k in names and v}}
        for row in csv.DictReader(_lines(folder, "history.csv"))
    ]


def journeys(folder: Path) -> list[Row]:
    """The log of the first rank: a line every few steps, one of the validation each epoch."""
    rows: list[Row] = []
    for line in _lines(folder, "output/rank0.log"):
        epoch = re.search(r"\] epoch (\d+) ", line)
        step = re.search(r" step (\d+)/", line)
        cells = line.replace(" ", ";")
        if epoch and step:
            names = {"loss": "loss", "gnorm": "grad_norm", "lr": "lr"}
            rows.append({"step": float(step[1]), "epoch": float(epoch[1]), **_pairs(cells, names, ";")})
        elif epoch and " valid " in line:
            names = {"loss": "val_loss", "acc": "val_acc"}
            rows.append({"epoch": float(epoch[1]), **_pairs(cells, names, ";")})
    return rows


def lowlight(folder: Path) -> list[Row]:
    """The table of the denoiser, a row each epoch; the score is the PSNR in dB."""
    names = {"iter": "step", "train_loss": "loss", "val_loss": "val_loss", "val_psnr": "val_acc", "lr": "lr"}
    return [
        {names[k]: float(v) for k, v in row.items() if k in names and v}
        for row in csv.DictReader(_lines(folder, "exp/*/metrics.csv"))
    ]


def patches(folder: Path) -> list[Row]:
    """A plain table, a row each epoch."""
    names = {"epoch": "step", "lr": "lr", "train_loss": "loss", "val_loss": "val_loss", "val_acc": "val_acc"}
    return [
        {names[k]: float(v) for k, v in row.items() if k in names}
        for row in csv.DictReader(_lines(folder, "metrics.csv"))
    ]


def panels(folder: Path) -> list[Row]:
    """Time-stamped lines of both stages in one file; the score is the macro F1."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        epoch = re.search(r" epoch \[(\d+)/", line)
        step = re.search(r"\] iter (\d+) ", line)
        cells = line.replace(" ", ";")
        if epoch and step:
            row = _pairs(cells, {"loss": "loss", "lr": "lr"}, ":;")
            rows.append({"step": float(step[1]), "epoch": float(epoch[1]), **row})
        elif epoch:
            row = _pairs(
                line.replace("val loss", ";val_loss").replace(" macro", ";macro"),
                {"val_loss": "val_loss", "macro-F1": "val_acc"},
                ": ",
            )
            rows.append({"epoch": float(epoch[1]), **row})
    return rows


def concrete(folder: Path) -> list[Row]:
    """JSON lines, one each epoch, and the result of the test at the end."""
    names = {"epoch": "step", "train_loss": "loss", "val_loss": "val_loss", "val_mae": "val_mae"}
    rows = [json.loads(line) for line in _lines(folder, "log.jsonl")]
    return [{names[k]: float(v) for k, v in row.items() if k in names} for row in rows if "epoch" in row]


def _trainer_state(folder: Path, score: str) -> list[Row]:
    """trainer_state.json as projects write it by hand, with the named score."""
    names = {"step": "step", "epoch": "epoch", "loss": "loss", "eval_loss": "val_loss", score: "val_acc"}
    names |= {"learning_rate": "lr", "grad_norm": "grad_norm"}
    state = json.loads((folder / "output" / "trainer_state.json").read_text(encoding="utf-8"))
    return [{names[k]: float(v) for k, v in row.items() if k in names} for row in state["log_history"]]


def orders(folder: Path) -> list[Row]:
    """trainer_state.json of the tagger; the score is the F1 of spans."""
    return _trainer_state(folder, "eval_f1")


def dates(folder: Path) -> list[Row]:
    """Lines of the logging module, one every few steps and one of each validation."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        if step := re.search(r"datenorm: step (\d+)", line):
            names = {"valid_loss": "val_loss", "exact_match": "val_acc", "loss": "loss", "lr": "lr"}
            names |= {"grad_norm": "grad_norm"}
            rows.append({"step": float(step[1]), **_pairs(line.replace(" ", ";"), names, ";")})
    return rows


def chargen(folder: Path) -> list[Row]:
    """Lines of `step N`, one every few steps and one for the held-out text."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        if step := re.match(r"step (\d+) \|", line):
            names = {"val loss": "val_loss", "loss": "loss", "lr": "lr", "norm": "grad_norm"}
            rows.append({"step": float(step[1]), **_pairs(line.replace("| ", "|"), names, " ")})
    return rows


def tremors(folder: Path) -> list[Row]:
    """Printed lines every few steps with the loss scale, and one of the validation each epoch."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        epoch = re.match(r"\[(\d+)/\d+\] ", line)
        step = re.search(r" step (\d+)/", line)
        if epoch and step:
            names = {"loss": "loss", "scale": "loss_scale", "gnorm": "grad_norm", "lr": "lr"}
            rows.append({"step": float(step[1]), "epoch": float(epoch[1])})
            rows[-1] |= _pairs(line.replace(" ", ";"), names, ";")
            if not math.isfinite(rows[-1].get("grad_norm", 0.0)):  # the scaler skips such a step
                del rows[-1]["grad_norm"]
        elif epoch:
            cells = line.replace("val loss", "val_loss").replace(" ", ";")
            rows.append({"epoch": float(epoch[1])})
            rows[-1] |= _pairs(cells, {"val_loss": "val_loss", "acc": "val_acc"}, ";")
    return rows


def triage(folder: Path) -> list[Row]:
    """trainer_state.json of the message classifier."""
    return _trainer_state(folder, "eval_accuracy")


def crops(folder: Path) -> list[Row]:
    """The log of the first of two processes: a line every few steps, one of the validation each epoch."""
    rows: list[Row] = []
    for line in _lines(folder, "logs/rank_0.log"):
        epoch = re.search(r": epoch (\d+) ", line)
        step = re.search(r" step (\d+) ", line)
        cells = line.replace(" ", ";")
        if epoch and step:
            names = {"loss": "loss", "grad_norm": "grad_norm", "lr": "lr"}
            rows.append({"step": float(step[1]), "epoch": float(epoch[1]), **_pairs(cells, names, ";")})
        elif epoch:
            names = {"loss": "val_loss", "accuracy": "val_acc"}
            rows.append({"epoch": float(epoch[1]), **_pairs(cells, names, ";")})
    return rows


def glyphs(folder: Path) -> list[Row]:
    """Printed lines of the beginners' example, and one of the test set each epoch."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        step = re.match(rf"Train Epoch: (\d+) \[(\d+)/(\d+) .*Loss: {_NUMBER}", line)
        held_out = re.match(rf"Test set: Average loss: {_NUMBER}, Accuracy: (\d+)/(\d+)", line)
        if step:
            epoch, seen, every, loss = map(float, step.groups())
            rows.append({"step": (epoch - 1) * every + seen, "epoch": epoch, "loss": loss})
        elif held_out:
            loss, right, every = map(float, held_out.groups())
            rows.append({"val_loss": loss, "val_acc": right / every})
    return rows


def notices(folder: Path) -> list[Row]:
    """trainer_state.json of the notices' classifier, as the Trainer saves it."""
    names = {"step": "step", "epoch": "epoch", "loss": "loss", "eval_loss": "val_loss"}
    names |= {"eval_accuracy": "val_acc", "learning_rate": "lr", "grad_norm": "grad_norm"}
    state = json.loads((folder / "out" / "trainer_state.json").read_text(encoding="utf-8"))
    return [{names[k]: float(v) for k, v in row.items() if k in names} for row in state["log_history"]]


def ratings(folder: Path) -> list[Row]:
    """JSON lines of the recommender: one every few steps, one of the held-out ratings each epoch."""
    names = {"step": "step", "epoch": "epoch", "loss": "loss", "lr": "lr", "val_loss": "val_loss"}
    names |= {"val_mae": "val_mae"}
    rows = [json.loads(line) for line in _lines(folder, "log.jsonl")]
    return [{names[k]: float(v) for k, v in row.items() if k in names} for row in rows if "step" in row]


def sirens(folder: Path) -> list[Row]:
    """DVCLive's tables, one for each metric, a row each epoch."""
    names = {"train/loss": "loss", "val/loss": "val_loss", "val/accuracy": "val_acc", "lr": "lr"}
    rows: dict[float, Row] = {}
    for name, key in names.items():
        for line in _lines(folder, f"dvclive/plots/metrics/{name}.tsv")[1:]:
            step, value = map(float, line.split("\t"))
            rows.setdefault(step, {"step": step})[key] = value
    return [rows[step] for step in sorted(rows)]


def loaves(folder: Path) -> list[Row]:
    """MLflow's store of files: lines of time, value and step in a file for each metric."""
    names = {"train_loss": "loss", "val_loss": "val_loss", "val_mae_ml": "val_mae", "lr": "lr"}
    rows: dict[float, Row] = {}
    for name, key in names.items():
        for line in _lines(folder, f"mlruns/*/*/metrics/{name}"):
            _, value, step = map(float, line.split())
            rows.setdefault(step, {"step": step})[key] = value
    return [rows[step] for step in sorted(rows)]


def stickers(folder: Path) -> list[Row]:
    """mmengine's JSON rows: a row of the validation has the epoch as its step."""
    rows: list[Row] = []
    for line in _lines(folder, "work_dirs/*/*/vis_data/scalars.json"):
        row = json.loads(line)
        if "val_loss" in row:
            score = row["multi-label/f1-score"] / 100
            rows.append({"epoch": row["step"], "val_loss": row["val_loss"], "val_acc": score})
        else:
            rows.append({k: row[k] for k in ("step", "epoch", "loss", "lr", "grad_norm")})
    return rows


def resins(folder: Path) -> list[Row]:
    """Lines of loguru, one every few steps and one of each validation, with per cent."""
    rows: list[Row] = []
    for line in _lines(folder, "train.log"):
        step = re.search(r" epoch (\d+)/\d+ step (\d+)/", line)
        held_out = re.search(rf" epoch (\d+) done: validation loss={_NUMBER}, accuracy={_NUMBER}%", line)
        if step:
            names = {"loss": "loss", "lr": "lr", "|g|": "grad_norm"}
            row = _pairs(line.replace(" ", ";"), names, "=")
            rows.append({"step": float(step[2]), "epoch": float(step[1]), **row})
        elif held_out:
            epoch, loss, right = map(float, held_out.groups())
            rows.append({"epoch": epoch, "val_loss": loss, "val_acc": right / 100})
    return rows


def log_of(project: str) -> str:
    """The name of a project's log: its own where it describes the log."""
    log = TRAINED[project]["train"]["log"]
    return log if isinstance(log, str) else project


# name of the log -> its reader, and the file that the output goes to
DESCRIBED = {name: log for name, p in TRAINED.items() if not isinstance(log := p["train"]["log"], str)}
EVENT_FILES = {"scalars", "cells", "queries", "blossoms"} | {
    name for name, log in DESCRIBED.items() if "scalars" in log
}  # logs that take TensorBoard to read
PROJECT_LOGS: dict[str, tuple[Reader, str | None]] = {
    "megatron": (megatron, "pretrain.log"),
    "openmmlab": (openmmlab, None),
    "results-csv": (results_csv, None),
    "lightning": (lightning, None),
    "bikes": (bikes, None),
    "defects": (defects, "train.log"),
    "loss-monitor": (loss_monitor, "train.log"),
    "scalars": (scalars, None),
    "workers": (workers, "train.out"),
    "hydra-csv": (hydra_csv, None),
    "fairseq": (fairseq, "train.log"),
    "cells": (cells, "train.log"),
    "quotes": (quotes, None),
    "valves": (valves, None),
    "pumps": (pumps, None),
    "reviews": (reviews, "train.log"),
    "journeys": (journeys, None),
    "lowlight": (lowlight, "train.log"),
    "queries": (queries, "train.log"),
    "patches": (patches, None),
    "panels": (panels, None),
    "concrete": (concrete, None),
    "orders": (orders, None),
    "chargen": (chargen, "train.log"),
    "dates": (dates, None),
    "blossoms": (blossoms, None),
    "bookings": (bookings, None),
    "postcards": (postcards, None),
    "tremors": (tremors, "train.log"),
    "triage": (triage, None),
    "crops": (crops, None),
    "glyphs": (glyphs, "train.log"),
    "notices": (notices, None),
    "ratings": (ratings, None),
    "sirens": (sirens, None),
    "loaves": (loaves, None),
    "stickers": (stickers, None),
    "resins": (resins, "train.log"),
    **{name: described(log) for name, log in DESCRIBED.items()},
}
