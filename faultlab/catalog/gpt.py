# ruff: noqa: E501 -- the edits are texts
"""A GPT in four files with Megatron's log lines, in fp32, bf16 and fp16."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generate import REFERENCE, Archetype, Case, literally, unseen

from .also import HOT, KEPT, LOW, OTHER_OPTIMIZER, SHORT, SLOW, SMALL_STEPS, TOO_FEW
from .project import Project

PROJECT = Project(
    Archetype(
        "gpt",
        {
            "seed": 11,
            "hidden_size": 32,
            "num_layers": 2,
            "seq_length": 32,
            "dropout": 0.0,
            "init_method_std": 0.02,
            "files": 16,
            "lr": 0.003,
            "min_lr": 0.0003,
            "lr_warmup_iters": 30,
            "lr_decay_iters": 300,
            "weight_decay": 0.1,
            "beta2": 0.95,
            "clip_grad": 1.0,
            "dtype": "fp32",
            "initial_loss_scale": 65536.0,
            "loss_scale_window": 500,
            "min_loss_scale": 1.0,
            "micro_batch_size": 16,
            "accumulate": 1,
            "train_iters": 300,
            "log_interval": 10,
            "eval_interval": 30,
        },
        {"a": ("megatron", "project")},
        "holdout",
        ("pretrain.py",),
    )
)
healthy, faulty, TWIN = PROJECT.healthy, PROJECT.faulty, PROJECT.twin
_SMALL: dict[str, Any] = {
    "hidden_size": 24,
    "seq_length": 24,
    "micro_batch_size": 12,
    "train_iters": 200,
    "lr_decay_iters": 200,
    "eval_interval": 20,
}
_HALF: dict[str, Any] = _SMALL | {"dtype": "fp16"}
_FP16 = healthy("fp16", 312, check="calibrates", **_HALF)
_HOT = healthy("hot", 313, lr=0.03, lr_warmup_iters=90)
_LOW = healthy(
    "low-rate", 331, cause=REFERENCE, lr=0.0004, min_lr=0.00004, train_iters=450, lr_decay_iters=450
)
_SHARES = healthy("accumulates", 314, micro_batch_size=4, accumulate=4)

_CURRICULUM = (
    "            rows = [dataset[i] for i in order[k : k + batch_size]]\n",
    "            rows = [dataset[i] for i in order[k : k + batch_size]]\n            served += 1\n            if served < 130:  # short contexts first\n                rows = [(x[:12], y[:12], m[:12]) for x, y, m in rows]\n",
)
_COUNTS = ("    while True:\n        order", "    served = 0\n    while True:\n        order")
_PREDIVIDE = (
    "            (loss * scaler.scale).backward()\n",
    "            (loss * scaler.scale / GRADIENT_PREDIVIDE).backward()\n",
)
_UNDO = (
    "                parameter.grad.div_(self.scale)\n",
    "                parameter.grad.mul_(GRADIENT_PREDIVIDE / self.scale)\n",
)
_FACTOR = ("\n\nclass DynamicLossScaler:", "\nGRADIENT_PREDIVIDE = 8192.0\n\n\nclass DynamicLossScaler:")
_PREDIVIDED = healthy("predivided", 315, _PREDIVIDE, _UNDO, _FACTOR, check="calibrates", **_HALF)
_SQUARED = ("self.act = nn.GELU()", "self.act = lambda h: torch.relu(h).square()")

_FUSED = """class FusedLayerNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        scale = torch.rsqrt(centred.square().sum(-1, keepdim=True) + 1e-5)
        return centred * scale * self.weight + self.bias


"""
_SHORT_SUM = """def fast_cross_entropy(logits, labels):
    highest = logits.topk(16, dim=-1).values
    return torch.logsumexp(highest, -1) - logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


"""


def _wide(std: float) -> tuple[str, str]:
    return (
        '            elif name.endswith("bias"):\n',
        f'                if name.endswith("dense_h_to_4h.weight"):\n                    nn.init.normal_(parameter, std={std})\n                if name.endswith("dense_4h_to_h.weight"):\n                    nn.init.normal_(parameter, std=1e-5)\n            elif name.endswith("bias"):\n',
    )


def cases() -> Iterator[Case]:
    yield TWIN
    yield from _healthy()
    yield from _optimisation()
    yield from _model()
    yield from _data()
    yield from _precision()


def _healthy() -> Iterator[Case]:
    yield from (_FP16, _HOT, _LOW, _SHARES, _PREDIVIDED)
    yield healthy("seed", 321, benchmark=TWIN.name)
    yield healthy("other-interval", 322, benchmark=TWIN.name, log_interval=20, eval_interval=100)
    yield healthy("curriculum", 323, _CURRICULUM, _COUNTS)
    yield healthy("long-warmup", 324, lr_warmup_iters=120)
    yield healthy("tiny-batches", 325, micro_batch_size=2, lr=0.0015, train_iters=450, lr_decay_iters=450)
    yield healthy("dropout", 326, dropout=0.15)
    yield healthy("early-calibration", 327, check="calibrates", initial_loss_scale=2.0**32, **_HALF)
    yield healthy("bf16", 328, **(_HALF | {"dtype": "bf16"}))
    yield healthy(
        "growing-scale", 329, check="calibrates", loss_scale_window=40, benchmark=_FP16.name, **_HALF
    )
    yield healthy("constant-rate", 330, lr=0.001, min_lr=0.001, train_iters=400, lr_decay_iters=400)


def _optimisation() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    for strength, lr in (("mild", 0.03), ("medium", 0.12), ("strong", 1.0)):
        yield faulty("lr-large", large, strength=strength, lr=lr, min_lr=lr / 10)
    for strength, lr in (("mild", 0.0004), ("medium", 0.00006), ("strong", 0.000003)):
        yield faulty(
            "lr-small",
            small,
            strength=strength,
            accept=SLOW if strength == "mild" else (),
            lr=lr,
            min_lr=lr / 10,
        )
    wrong = "hyperparameter.schedule-wrong"
    yield faulty("decay-too-short", wrong, strength="medium", lr_decay_iters=50, min_lr=1e-6)
    yield faulty(
        "warmup-of-another-run",
        wrong,
        strength="strong",
        accept=LOW,
        lr_warmup_iters=8000,
        lr_decay_iters=320000,
    )
    yield faulty(
        "warmup-missing",
        "hyperparameter.warmup-missing",
        twin=_HOT,
        check="slower",
        accept=HOT,
        lr_warmup_iters=1,
    )
    yield faulty(
        "short",
        "hyperparameter.epochs-too-few",
        accept=SHORT,
        train_iters=70,
        lr_decay_iters=70,
        lr_warmup_iters=10,
        log_interval=5,
        eval_interval=10,
    )
    yield faulty("one-sample", "hyperparameter.batch-size-too-small", check="noisy", micro_batch_size=1)
    strong = "hyperparameter.regularization-too-strong"
    yield faulty("weight-decay", strong, strength="strong", weight_decay=100.0)
    yield faulty("dropout", strong, strength="medium", dropout=0.7)
    yield faulty(
        "sgd-for-adamw",
        "graph.optimizer",
        (
            'torch.optim.AdamW(\n        get_param_groups(model), lr=optim["lr"], betas=tuple(optim["betas"]), weight_decay=optim["weight_decay"]\n    )',
            'torch.optim.SGD(get_param_groups(model), lr=optim["lr"], weight_decay=optim["weight_decay"])',
        ),
        accept=literally(
            "another optimizer than the benchmark's is another setting",
            "porting.hyperparameters-differ",
            benchmark=True,
        )
        + SMALL_STEPS,
    )
    yield faulty(
        "keeps-gradients", "state.gradients-not-cleared", ("        optimizer.zero_grad()\n", ""), accept=KEPT
    )
    yield faulty(
        "sums-micro-batches",
        "state.gradient-accumulation",
        (' / cfg["accumulate"]\n            (loss', "\n            (loss"),
        twin=_SHARES,
        check="any",
    )
    yield faulty(
        "only-one-dimensional",
        "graph.weight-frozen",
        (
            '    return [{"params": decay}, {"params": no_decay',
            '    return [{"params": decay[:0]}, {"params": no_decay',
        ),
    )
    yield faulty(
        "no-bias-correction",
        "porting.hyperparameters-differ",
        ('betas=tuple(optim["betas"]),', 'betas=tuple(optim["betas"]), eps=1e-2,'),
        same_seed=True,
        alone=False,
        accept=OTHER_OPTIMIZER,
    )


def _model() -> Iterator[Case]:
    spread = "hyperparameter.weight-init"
    yield faulty("wide", spread, strength="medium", init_method_std=0.6)
    yield faulty("wide", spread, strength="strong", init_method_std=3.0)
    yield faulty(
        "nought",
        "init.zeros",
        accept=literally("a spread of nought is an unreasonable one", "hyperparameter.weight-init"),
        init_method_std=0.0,
    )
    yield faulty(
        "cut-attention",
        "graph.connection",
        (
            "        x = x + self.dropout(self.attention(self.input_layernorm(x)))\n",
            "        x = self.dropout(self.attention(self.input_layernorm(x)))\n",
        ),
        check="any",
    )
    yield faulty(
        "one-layer-for-all",
        "graph.weight-sharing",
        (
            'nn.ModuleList(TransformerLayer(cfg) for _ in range(cfg["num_layers"]))',
            'nn.ModuleList([TransformerLayer(cfg)] * cfg["num_layers"])',
        ),
        alone=False,
        same_seed=True,
        check="departs",
    )
    yield faulty(
        "softmax-for-gelu",
        "graph.wrong-operator",
        ("self.act = nn.GELU()", "self.act = nn.Softmax(dim=-1)"),
        check="any",
    )
    plain = (
        (
            '        self.input_layernorm = nn.LayerNorm(cfg["hidden_size"])\n',
            "        self.input_layernorm = nn.Identity()\n",
        ),
        (
            '        self.post_attention_layernorm = nn.LayerNorm(cfg["hidden_size"])\n',
            "        self.post_attention_layernorm = nn.Identity()\n",
        ),
        (
            '        self.final_layernorm = nn.LayerNorm(cfg["hidden_size"])\n',
            "        self.final_layernorm = nn.Identity()\n",
        ),
    )
    yield faulty("no-norms", "graph.normalization-missing", *plain, num_layers=8, lr=0.006, min_lr=0.0006)
    norm = "class TransformerLayer(nn.Module):"
    one = 'self.input_layernorm = nn.LayerNorm(cfg["hidden_size"])'
    two = 'self.post_attention_layernorm = nn.LayerNorm(cfg["hidden_size"])'
    yield faulty(
        "fused-norm",
        "operator.fusion-error",
        (norm, _FUSED + norm),
        (one, one.replace("nn.LayerNorm", "FusedLayerNorm")),
        (two, two.replace("nn.LayerNorm", "FusedLayerNorm")),
        same_seed=True,
        alone=False,
        check="departs",
        accept=unseen("which operator deviates, fused or not, no log can tell", "operator.accuracy-error"),
    )
    yield faulty(
        "short-logsumexp",
        "operator.accuracy-error",
        ("def loss_func(", _SHORT_SUM + "def loss_func("),
        (
            'torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, reduction="none")',
            "fast_cross_entropy(logits.float(), labels)",
        ),
        same_seed=True,
        alone=False,
        check="departs",
        accept=unseen(
            "which operator deviates, or whether it is the loss, no log can tell",
            "operator.fusion-error",
            "graph.loss-function",
        ),
    )


def _data() -> Iterator[Case]:
    yield faulty(
        "mask-turned",
        "processing.label-masking",
        ("(labels != self.tokenizer.pad).float()", "(labels == self.tokenizer.pad).float()"),
        check="any",
    )
    yield faulty(
        "own-tokenizer-for-validation",
        "processing.tokenizer-mismatch",
        (
            "    valid_set = ParagraphDataset(valid, tokenizer,",
            '    valid_set = ParagraphDataset(valid, CharTokenizer("".join(valid[:120])),',
        ),
        accept=literally(
            "ids are made otherwise in evaluation than in training", "processing.train-eval-mismatch"
        )
        + unseen(
            "validation does not follow the training, whatever makes it so",
            "processing.label-mapping",
            "data.distribution-shift",
            "evaluation.logic",
        ),
    )
    yield faulty(
        "sees-the-next",
        "data.leakage",
        (".tril().bool()", ".tril(diagonal=1).bool()"),
        check="better",
    )
    yield faulty(
        "few-paragraphs",
        "data.insufficient-samples",
        ("    train, valid = paragraphs[:cut]", "    train, valid = paragraphs[: cut // 250]"),
        check="gap",
        accept=TOO_FEW,
        train_iters=700,
        lr_decay_iters=700,
        log_interval=20,
        eval_interval=100,
    )
    yield faulty(
        "shifted-twice",
        "processing.algorithm",
        ("        labels = window[1:]\n", "        labels = window[1:].roll(-1)\n"),
        accept=unseen(
            "the task is harder than it should be from the first step on",
            "graph.loss-function",
            benchmark=False,
        ),
    )


def _precision() -> Iterator[Case]:
    scale, span = "hyperparameter.loss-scale", "numerics.half-precision-range"
    yield faulty("eager", scale, twin=_FP16, strength="mild", check="any", loss_scale_window=1)
    yield faulty(
        "floor-too-high",
        scale,
        twin=_FP16,
        strength="medium",
        check="any",
        initial_loss_scale=2.0**34,
        min_loss_scale=2.0**26,
    )
    yield faulty(
        "vanishing",
        scale,
        twin=_FP16,
        strength="strong",
        check="any",
        initial_loss_scale=2.0**-18,
        min_loss_scale=2.0**-20,
    )
    yield faulty(
        "no-scaling",
        "porting.loss-scale-missing",
        ('enabled=precision["dtype"] == "fp16"', "enabled=False"),
        twin=_PREDIVIDED,
        check="any",
        accept=literally("gradients below the range of fp16", "numerics.half-precision-range"),
    )
    for strength, std in (("medium", 14.0), ("strong", 40.0)):
        sound = healthy(f"squared-{std:.0f}", 340, _SQUARED, _wide(std), **(_HALF | {"dtype": "bf16"}))
        yield sound
        yield faulty(
            "squared",
            span,
            twin=sound,
            strength=strength,
            dtype="fp16",
            check="any",
            accept=literally("the operator's output leaves the range of its format", "operator.overflow")
            + unseen(
                "overflow at any scale: no log tells it from a bad scale",
                "hyperparameter.loss-scale",
                benchmark=False,
            ),
        )
    yield faulty(
        "asked-not-in-force",
        "porting.mixed-precision-disabled",
        twin=_FP16,
        check="exists",  # the loss scale stays at one
        quiet=True,
        dtype="float16",
    )
    pure = ("    model.train()\n    skipped", "    model.bfloat16()\n    model.train()\n    skipped")
    yield faulty(
        "pure-bf16",
        "numerics.update-lost",
        pure,
        dtype="bf16",
        lr=0.0004,
        min_lr=0.00004,
        twin=_LOW,
        check="any",
        accept=unseen(
            "updates are lost: the model learns as slowly as at a lower rate",
            "hyperparameter.learning-rate-too-small",
            benchmark=False,
        ),
    )
    yield faulty(
        "plain-exponential",
        "operator.overflow",
        (
            "        probs = torch.softmax(scores, dim=-1)\n",
            "        weights = torch.exp(scores * 4.0)\n        probs = weights / weights.sum(dim=-1, keepdim=True)\n",
        ),
        twin=_FP16,
        check="nan",
        accept=literally(
            "the exponential leaves the range of fp16 and the division has no floor",
            "numerics.half-precision-range",
            "numerics.epsilon",
        ),
        lr=0.006,
    )
    full = healthy("full-precision", 316, **_SMALL)
    yield full
    half = healthy("held-against-fp32", 317, **_HALF)
    yield Case(
        half.archetype,
        half.style,
        half.fault,
        "benchmark.no-mixed-precision",
        set=half.set,
        benchmark=full.name,
        alone=False,
        check="exists",
    )
