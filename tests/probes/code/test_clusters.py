# ruff: noqa: E501
"""Programs of clusters (MindSpore, DeepSpeed): silent as they are, found at the line once one thing is changed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from traindoctor.cli.script_work import load, report
from traindoctor.engine.model import RuleBase
from traindoctor.probes.scripts import files as script_files

from ._clusters import BESIDE, PROGRAMS

LIKELY = 0.5


@lru_cache(maxsize=1)
def _rules() -> RuleBase:
    return load((), quiet=True)


def _told(tmp_path: Path, slug: str, text: str):  # type: ignore[no-untyped-def]
    compile(text, slug, "exec")
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    for name, content in BESIDE.get(slug, {}).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return report(_rules(), script_files.read(tmp_path), "here")


@pytest.mark.parametrize("slug", sorted(PROGRAMS))
def test_right_programs_are_not_blamed(slug: str, tmp_path: Path) -> None:
    told = _told(tmp_path, slug, PROGRAMS[slug])
    assert [f.symptom for f in told.faults if f.kind == "finding"] == []
    assert [cause for cause, _, p in told.ranking if p >= LIKELY] == []


# program, what stands there, what is written in its place, the cause, and a part of the line that is to be shown
BROKEN: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "ds-class",
        "self.engine.backward(loss)",
        "loss.backward()",
        "porting.migration-incomplete state.gradient-accumulation",
        "loss.backward()",
    ),
    (
        "ds-class",
        "self.engine.backward(loss)",
        "self.engine.backward(loss / GAS)",
        "state.gradient-accumulation",
        "loss / GAS",
    ),
    (
        "ds-function",
        "            model_engine.backward(loss)\n",
        "            loss = loss / cfg['gradient_accumulation_steps']\n            model_engine.backward(loss)\n",
        "state.gradient-accumulation",
        "model_engine.backward(loss)",
    ),
    (
        "ds-function",
        "            model_engine.step()\n",
        "            model_engine.step()\n            lr_scheduler.step()\n",
        "hyperparameter.schedule-wrong",
        "lr_scheduler.step()",
    ),
    (
        "ds-class",
        "self.engine.load_checkpoint(folder)",
        "self.engine.load_checkpoint(folder, load_optimizer_states=False)",
        "state.resume",
        "load_optimizer_states=False",
    ),
    (
        "ds-function",
        "[p for p in model.parameters() if p.requires_grad]",
        "[p for p in model.parameters() if p.ndim > 1]",
        "graph.weight-frozen",
        "deepspeed.initialize",
    ),
    (
        "ds-function",
        'loader = DataLoader(train_ids, batch_size=cfg["train_micro_batch_size_per_gpu"], sampler=sampler)',
        'loader = DataLoader(train_ids, batch_size=cfg["train_micro_batch_size_per_gpu"], shuffle=True)',
        "porting.sharding-differs",
        "",
    ),
    # MindSpore
    (
        "ms-class",
        "        self.scaler.adjust(good)\n",
        "",
        "hyperparameter.loss-scale porting.training-procedure",
        "unscale(",
    ),
    (
        "ms-class",
        "        grads = self.scaler.unscale(grads)\n",
        "        grads = self.scaler.unscale(ops.clip_by_global_norm(grads, 1.0))\n",
        "porting.training-procedure hyperparameter.loss-scale",
        "clip_by_global_norm",
    ),
    ("ms-class", "        learner.net.set_train(True)\n", "", "graph.node-mode", ""),
    (
        "ms-class",
        "        self.net.set_train(False)\n",
        "",
        "graph.node-mode",
        "self.net(row[",
    ),
    (
        "ms-class",
        "nn.BatchNorm1d(width)",
        "nn.BatchNorm1d(width, momentum=0.1)",
        "api.misuse",
        "momentum=0.1",
    ),
    (
        "ms-class",
        'nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")',
        "nn.SoftmaxCrossEntropyWithLogits(sparse=True)",
        "graph.loss-function",
        "SoftmaxCrossEntropyWithLogits",
    ),
    (
        "ms-class",
        "        return self.body(feats)",
        "        return ops.softmax(self.body(feats), axis=-1)",
        "graph.loss-function",
        "ops.softmax",
    ),
    (
        "ms-class",
        "        grads = self.scaler.unscale(grads)\n",
        "",
        "hyperparameter.loss-scale",
        "self.opt(grads)",
    ),
    (
        "ms-model",
        "loss_scale=1024)",
        ")",
        "hyperparameter.loss-scale",
        "FixedLossScaleManager(1024",
    ),
    (
        "ms-model",
        "shard_id=rank_id)",
        "shard_id=0)",
        "porting.sharding-differs",
        "shard_id=0",
    ),
    (
        "ms-model",
        "    train = create(args.data, 32, True, get_rank(), get_group_size())\n",
        "    train = create(args.data, 32, True)\n",
        "porting.sharding-differs",
        "",
    ),
    (
        "ms-model",
        "vision.RandomHorizontalFlip(0.5), norm, vision.HWC2CHW()]\n    else:",
        "vision.RandomHorizontalFlip(0.5), vision.HWC2CHW()]\n    else:",
        "processing.train-eval-mismatch processing.not-normalized",
        "",
    ),
    (
        "ms-model",
        "mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375]",
        "mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]",
        "processing.parameters",
        "Normalize",
    ),
    (
        "ms-model",
        "model.eval(valid)",
        "model.eval(train)",
        "evaluation.logic data.leakage",
        "model.eval(train)",
    ),
    (
        "ms-cell",
        "self.weights = ParameterTuple(network.trainable_params())",
        "self.weights = ParameterTuple(network.trainable_params()[-2:])",
        "graph.weight-frozen",
        "",
    ),
    (
        "ms-parallel",
        "        return self.fc(self.conv(mel).mean(-1))",
        "        return self.fc(ops.stop_gradient(self.conv(mel)).mean(-1))",
        "graph.connection",
        "stop_gradient",
    ),
    (
        "ms-cell",
        'feed = GeneratorDataset(sentences, ["words", "tags"], shuffle=True).batch(32)',
        'feed = GeneratorDataset(sentences, ["words", "tags"], shuffle=False).batch(32).shuffle(500)',
        "processing.not-shuffled",
        ".batch(32).shuffle(500)",
    ),
    (
        "ms-cell",
        "        states, _ = self.lstm(self.table(words))\n",
        "        states = self.table(words)\n",
        "graph.connection",
        "",
    ),
    (
        "ms-mint",
        "said = mint.sigmoid(net(tile)) > 0.5",
        "said = net(tile) > 0.5",
        "evaluation.logic",
        "net(tile) > 0.5",
    ),
    (
        "ms-mint",
        "        net.set_train()\n",
        "",
        "graph.node-mode",
        "",
    ),
    (
        "ms-mint",
        "mint.nn.BCEWithLogitsLoss()",
        "mint.nn.CrossEntropyLoss()",
        "graph.loss-function",
        "",
    ),
    (
        "ms-parallel",
        "            opt(reducer(grads))\n",
        "            opt(grads)\n",
        "porting.distributed-not-enabled state.replica-desync",
        "DistributedGradReducer",
    ),
    (
        "ms-parallel",
        'sorted(Path("mels").glob("*.npz"))',
        'list(Path("mels").glob("*.npz"))',
        "porting.sharding-differs",
        "glob(",
    ),
    (
        "ms-parallel",
        "steps = train.get_dataset_size() * 40",
        "batch, epochs = 32, 40\n    steps = len(files) // batch * epochs",
        "hyperparameter.schedule-wrong",
        "len(files) // batch",
    ),
    (
        "ms-parallel",
        "ms.set_seed(42)",
        "ms.set_seed(42 + rank)",
        "init.differs-across-nodes",
        "42 + rank",
    ),
    (
        "ms-parallel",
        "num_shards=size, shard_id=rank",
        "num_shards=size, shard_id=0",
        "porting.sharding-differs",
        "shard_id=0",
    ),
    (
        "ms-graph",
        "            x = x + self.sigma * ops.standard_normal(x.shape).astype(x.dtype)\n",
        "            x = x * (1 + self.sigma * np.random.randn())\n",
        "api.graph-constraint",
        "np.random.randn()",
    ),
    (
        "ms-graph",
        '"O2", ms.bfloat16)',
        '"O2", ms.float16)',
        "porting.loss-scale-missing",
        "auto_mixed_precision",
    ),
)


@pytest.mark.parametrize(("slug", "old", "new", "cause", "line"), BROKEN)
def test_slips_are_found_at_their_line(
    slug: str, old: str, new: str, cause: str, line: str, tmp_path: Path
) -> None:
    assert old in PROGRAMS[slug]
    told = _told(tmp_path, slug, PROGRAMS[slug].replace(old, new, 1))
    assert told.ranking and told.ranking[0][0] in cause.split(), [r for r in told.ranking if r[2] > 0.2]
    assert told.ranking[0][2] >= 0.2
    lines = (tmp_path / "train.py").read_text().split("\n")
    places = [p for f in (*told.faults, *told.remarks) for p in f.where]
    assert any(line in lines[p.line - 1] for p in places if p.line)
