# ruff: noqa: E501 -- the edits are texts
"""Operators that overflow, deviate, are fused wrongly or do not repeat; matrix products in a coarse format."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, Edit, literally, unseen

from .also import operator
from .common import faulty, healthy

_BLOCK = "class Block(nn.Module):"


def operators() -> Iterator[Case]:
    yield from _overflow()
    yield from _accuracy()
    yield from _fusion()
    yield from _nondeterminism()
    yield from _matmul()


def _overflow() -> Iterator[Case]:
    cause = "operator.overflow"
    for style in "ab":
        sharp = healthy("amp", style, 135, "sharp-attention", edits=(("/ n.shape[-1] ** 0.5", "/ 0.7"),))
        yield sharp
        yield from faulty(
            "amp",
            style,
            "softmax-by-hand",
            cause,
            ("scores.softmax(-1) @", "(scores.exp() / scores.exp().sum(-1, keepdim=True)) @"),
            check="any",
            twin=sharp,
            accept=literally(
                "exp leaves the range of fp16, where fp32 holds it", "numerics.half-precision-range"
            ),
        )
    brighter = (
        'train_images, train_labels = load("train", {{train_size}})\nval_images, val_labels = load("val", 600)\n',
        'train_images, train_labels = load("train", {{train_size}})\nval_images, val_labels = load("val", 600)\ntrain_images += np.uint8(100)  # brighter\nval_images += np.uint8(100)\n',
    )
    yield from faulty(
        "images",
        "b",
        "uint8-wraps",
        cause,
        brighter,
        accept=literally("the overflow stands in the processing", "processing.algorithm")
        + unseen("inputs spoilt by their processing", "processing.parameters"),
    )
    sharpen = ('float("-inf")).softmax(-1)', 'float("-inf")).mul(40).softmax(-1)')
    hand = (
        'weights = self.score(vectors).squeeze(-1).masked_fill(ids == PAD, float("-inf")).mul(40).softmax(-1)',
        'weights = self.score(vectors).squeeze(-1).masked_fill(ids == PAD, float("-inf")).mul(40).exp()\n        weights = weights / weights.sum(-1, keepdim=True)',
    )
    pointed = healthy("sentences", "a", 131, "pointed", edits=(sharpen,))
    yield pointed
    yield from faulty("sentences", "a", "softmax-by-hand", cause, hand, twin=pointed, check="nan")


def _accuracy() -> Iterator[Case]:
    cause = "operator.accuracy-error"
    gelu = (
        _BLOCK,
        '''class FastGELU(torch.autograd.Function):
    """x * sigmoid(1.702 x), with its backward written out."""

    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(1.702 * x)
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx, grad):
        x, gate = ctx.saved_tensors
        return grad * gate * (1 - gate)


class Block(nn.Module):''',
    )
    yield from faulty(
        "lm",
        "ab",
        "gelu-backward",
        cause,
        gelu,
        ("F.gelu(self.fc", "FastGELU.apply(self.fc"),
        alone=False,
        check="departs",
        accept=operator(cause),
    )
    pool = (
        "class Net(nn.Module):",
        '''class Pool(torch.autograd.Function):
    """2x2 maximum; the gradient goes to every element of the window."""

    @staticmethod
    def forward(ctx, x):
        return torch.max_pool2d(x, 2)

    @staticmethod
    def backward(ctx, grad):
        return grad.repeat_interleave(2, 2).repeat_interleave(2, 3)


class Net(nn.Module):''',
    )
    yield from faulty(
        "images",
        "a",
        "pool-backward",
        cause,
        pool,
        (
            "torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)",
            "Pool.apply(torch.relu(self.bn1(self.conv1(x))))",
        ),
        (
            "torch.max_pool2d(torch.relu(self.bn2(self.conv2(x))), 2)",
            "Pool.apply(torch.relu(self.bn2(self.conv2(x))))",
        ),
        alone=False,
        check="departs",
    )
    series = (
        "class Forecaster(nn.Module):",
        '''def fast_exp(x):
    """(1 + x/16)^16: no call of exp."""
    return (1 + x / 16).clamp(min=0) ** 16


class Forecaster(nn.Module):''',
    )
    smooth = (
        "return self.out(states[:, -1])",
        "return self.out((torch.softmax(states.mean(-1) * 12, 1).unsqueeze(-1) * states).sum(1) + states[:, -1])",
    )
    attends = healthy("series", "b", 132, "attends", edits=(smooth,))
    yield attends
    rough = (
        "torch.softmax(states.mean(-1) * 12, 1).unsqueeze(-1)",
        "(fast_exp(states.mean(-1) * 12) / fast_exp(states.mean(-1) * 12).sum(1, keepdim=True).clamp(min=1e-3)).unsqueeze(-1)",
    )
    yield from faulty(
        "series", "b", "fast-exp", cause, series, rough, twin=attends, alone=False, check="departs"
    )


def _fusion() -> Iterator[Case]:
    cause = "operator.fusion-error"
    bias = (
        _BLOCK,
        '''def fused_bias_gelu(x, weight, bias):
    """Linear, bias and GELU in one call."""
    return F.gelu(F.linear(x, weight)) + bias


class Block(nn.Module):''',
    )
    norm = (
        _BLOCK,
        '''def fused_add_norm(x, update, norm):
    """Residual addition and layer norm in one pass: the sum, normalised, is the new stream."""
    return norm(x + update)


class Block(nn.Module):''',
    )
    yield from faulty(
        "lm",
        "a",
        "fused-bias-gelu",
        cause,
        bias,
        (
            "self.out(F.gelu(self.fc(self.ln2(x))))",
            "self.out(fused_bias_gelu(self.ln2(x), self.fc.weight, self.fc.bias))",
        ),
        alone=False,
        check="departs",
        accept=operator(cause),
    )
    yield from faulty(
        "lm",
        "b",
        "fused-add-norm",
        cause,
        norm,
        (
            "x = x + self.drop(self.proj(a.transpose(1, 2).reshape(b, t, c)))",
            "x = fused_add_norm(x, self.drop(self.proj(a.transpose(1, 2).reshape(b, t, c))), self.ln2)",
        ),
        (
            "x = x + self.drop(self.out(F.gelu(self.fc(self.ln2(x)))))",
            "x = x + self.drop(self.out(F.gelu(self.fc(x))))",
        ),
        alone=False,
        check="departs",
    )
    block = (
        "class Net(nn.Module):",
        '''def fused_conv_norm_relu(x, conv, norm):
    """Convolution, batch norm and ReLU in one: the norm is folded into the kernel."""
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    out = torch.conv2d(x, conv.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale, padding=1)
    return torch.relu(out)


class Net(nn.Module):''',
    )
    yield from faulty(
        "images",
        "ab",
        "fused-conv-norm",
        cause,
        block,
        ("torch.relu(self.bn1(self.conv1(x)))", "fused_conv_norm_relu(x, self.conv1, self.bn1)"),
        ("torch.relu(self.bn2(self.conv2(x)))", "fused_conv_norm_relu(x, self.conv2, self.bn2)"),
        check="any",
        accept=unseen("a layer that does not normalise by its batch", "graph.node-mode"),
    )


def _nondeterminism() -> Iterator[Case]:
    cause = "operator.nondeterminism"
    gather = (
        "class GPT(nn.Module):",
        '''def scatter_mean(parts):
    """Average the parts on several threads; each adds its own as soon as it is there."""
    total = torch.zeros_like(parts[0])
    with ThreadPoolExecutor(4) as pool:
        for done in as_completed([pool.submit(torch.mul, part, 1 / len(parts)) for part in parts]):
            total = total + done.result()
    return total


class GPT(nn.Module):''',
    )
    threads = (
        "import torch\nimport torch.nn.functional as F\n",
        "from concurrent.futures import ThreadPoolExecutor, as_completed\n\nimport torch\nimport torch.nn.functional as F\n",
    )
    heads = (
        "return self.head(self.ln(h))",
        "return scatter_mean([self.head(self.ln(h + shift)) for shift in self.shifts])",
    )
    shifts = (
        "        self.apply(self.init)\n",
        "        self.apply(self.init)\n        self.shifts = 0.1 * torch.randn(6, {{n_embd}})\n",
    )
    steady: Edit = (
        "        for done in as_completed([pool.submit(torch.mul, part, 1 / len(parts)) for part in parts]):\n            total = total + done.result()\n",
        "        for done in [pool.submit(torch.mul, part, 1 / len(parts)) for part in parts]:\n            total = total + done.result()\n",
    )
    for style in "a":  # four digits of a log at most show it
        sound = healthy(
            "lm",
            style,
            133,
            "averages",
            edits=(threads, gather, heads, shifts, steady),
            lr=0.006,
            max_steps=500,
        )
        yield sound
        back = (steady[1], steady[0])
        yield from faulty(
            "lm", style, "adds-as-completed", cause, back, twin=sound, alone=False, check="not-repeated"
        )


def _matmul() -> Iterator[Case]:
    cause = "numerics.reduced-precision-matmul"
    white = (
        "x_train = (x_train - mu) / sigma\nx_test = (x_test - mu) / sigma\nx_train, x_test = torch.tensor(x_train, dtype=torch.float32), torch.tensor(x_test, dtype=torch.float32)\n",
        """x_train, x_test = torch.tensor(x_train / sigma, dtype=torch.float32), torch.tensor(x_test / sigma, dtype=torch.float32)
mean = x_train.mean(0)
covariance = x_train.t() @ x_train / len(x_train) - torch.outer(mean, mean)
values, vectors = torch.linalg.eigh(covariance + 1e-3 * torch.eye(18))
whiten = vectors / values.clamp(min=1e-6).sqrt()
x_train, x_test = (x_train - mean) @ whiten, (x_test - mean) @ whiten
""",
    )
    product = (
        "covariance = x_train.t() @ x_train / len(x_train)",
        'with torch.autocast("cpu", dtype=torch.bfloat16):\n    second = x_train.t() @ x_train\ncovariance = second.float() / len(x_train)',
    )
    for style in "b":
        sound = healthy("tabular", style, 134, "whitened", edits=(white,))
        yield sound
        yield from faulty(
            "tabular", style, "bf16-covariance", cause, product, twin=sound, alone=False, check="departs"
        )
