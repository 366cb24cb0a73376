"""Text logs: what a training script or framework prints while it trains.

Recognises the lines of MindSpore, MindFormers, Megatron, DeepSpeed, fairseq, Hugging Face, Keras, OpenMMLab
and others, and names with numbers in any ordinary form (`step 100 loss 2.3`, `loss=2.3, acc=0.4`,
`Epoch 3/10: val_loss: 0.6`). What is no number of training stays out of the curves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..assembly import layout
from ..files import RunFile
from ..run import Event, EventKind, FileContent
from . import Gives
from .text import consumed, decay_groups, described, first_batch, first_weights, label_lists, orders, shards
from .text.lines import lines_of
from .text.log import Log

FORMAT = "text-log"
GIVES = Gives(
    title="Text logs",
    files=(
        "`*.log`, `*.out`, captured output: MindSpore, MindFormers, Megatron-LM, DeepSpeed, "
        "fairseq, NeMo, Trainer, Keras, TF Estimator, PaddlePaddle, detectron2, OpenMMLab, own "
        "scripts"
    ),
    lacks="What was not printed; rounding to the printed digits stays.",
    scalars="some",
    steps="some",
    epochs="some",
    walls="some",
    lines="yes",
    settings="some",
    environment="some",
    ranks="some",
    restarts="some",
)
DEEP = 8 * 1024 * 1024  # how far to look for the first row where the head holds none
_NOT_LOGS = frozenset(
    f".{s}"
    for s in (
        *("py", "sh", "bash", "bat", "ps1", "r", "m", "go", "rs", "ts", "lua", "pl", "sql", "ipynb"),
        *("yaml", "yml", "json", "jsonl", "toml", "ini", "cfg", "conf", "xml", "pbtxt", "prototxt"),
        *("csv", "tsv", "mod", "bib", "vocab", "bpe", "lock"),
    )
)
_LOG_NAMES = frozenset({".log", ".out", ".err", ".txt", ".stdout", ".stderr", ".o", ".e", ".console"})
_TELLING: frozenset[EventKind] = frozenset(
    {
        "overflow",
        "scale-at-minimum",
        "overflow-ignored",
        "non-finite-loss",
        "non-finite-value",
        "traceback",
        "device-assert",
        "out-of-memory",
        "skipped-step",
        "checkpoint-keys-mismatch",
        "weights-newly-initialized",
        "from-logits",
        "shape-broadcast",
        "scheduler-before-optimizer",
        "no-grad-input",
    }
)


# What the software around a training writes into texts of its own (plog, npu-smi), without any metric.
_TELLING_WARNINGS = frozenset({"versions-unfit", "device-memory", "device-test"})


# What is told only in a file that is called like the output of a program: prose may say as much.
_OUTPUTS = frozenset({".log", ".out", ".err", ".stdout", ".stderr"})
_TELLING_OUTPUT: frozenset[EventKind] = frozenset({"data-warning", "known-warning", "undefined-metric"})


def sniff(file: RunFile) -> bool:
    """Say whether this is text that holds at least one row of metrics or one telling event."""
    if file.suffix in _NOT_LOGS or not _is_text(file.head):
        return False
    if _worth(file.suffix, _parse(file.path, file.head)):
        return True
    if file.size <= len(file.head) or not (
        file.suffix in _LOG_NAMES or "log" in file.name.lower() or not file.suffix
    ):
        return False
    return _worth(file.suffix, _parse(file.path, file.read_bytes(DEEP)))


def read(file: RunFile) -> FileContent:
    """Read a log. Raises ValueError when it holds nothing of a training run."""
    data = file.read_bytes()
    content = _parse(file.path, data, file.watch)
    if not _worth(file.suffix, content):
        raise ValueError("no metrics in it")
    lists = shards.dealt_out(data, file.path, layout.rank(file.path))
    events = label_lists.all_masked(data, file.path)
    for told in _WORKED_OUT:
        events += told(data, file.path, layout.rank(file.path))
    content = replace(content, events=(*content.events, *events)) if events else content
    return replace(content, lists=lists) if lists else content


_WORKED_OUT = (
    orders.come_again,
    label_lists.none_counted,
    label_lists.first_sample,
    consumed.begun_anew,
    first_weights.printed,
    described.columns_apart,
    decay_groups.printed,
    first_batch.printed,
)


def _parse(path: str, data: bytes, watch: Callable[[float], None] | None = None) -> FileContent:
    log = Log(path)
    log.feed(lines_of(data), watch)
    return log.content()


def _worth(suffix: str, content: FileContent) -> bool:
    if suffix in _OUTPUTS and content.facts.get("world_size") == 1:
        return True  # a process tells at its start that it trains alone, and its figures may stand elsewhere
    told = (e.kind in _TELLING or e.data in _TELLING_WARNINGS for e in content.events)
    return bool(content.series) or any(told) or (suffix in _OUTPUTS and any(map(_of_output, content.events)))


def _of_output(event: Event) -> bool:
    """Whether a program tells something by this: a warning, or the step that it goes on from."""
    return event.kind in _TELLING_OUTPUT or (event.kind == "resume" and (event.step or event.value or 0) > 0)


def _is_text(head: bytes) -> bool:
    """Tell text from binary: few control bytes (UTF-16 with its mark, and blocks of NULs, are text)."""
    if not head:
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    sample = head[:8192].replace(b"\x00", b"")
    if len(sample) < 0.3 * min(len(head), 8192):
        sample = head.replace(b"\x00", b"")
        if len(sample) < 16:
            return False
    control = len(sample) - len(sample.translate(None, bytes(range(1, 7)) + bytes(range(14, 27)) + b"\x7f"))
    start = sample.lstrip()[:64].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"%pdf", b"\x93numpy", b"pk\x03")):
        return False
    return control <= 0.02 * len(sample)
