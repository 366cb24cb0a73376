"""Which files of a run directory belong to operator dumps, by name alone: they are opened when asked for."""

from __future__ import annotations

import re

from ..files import RunFile
from ..readers.msprobe_monitor import is_second
from .atb import is_atb
from .ptdbg import is_ptdbg
from .sheet import peek
from .torch_h5 import is_torch_h5

# Names that no other tool writes; without one of them nothing is taken for part of a dump.
_MINDSPORE = r"[^.]+\..+\.\d+\.\d+\.\d+\.(?:input|output)\.\d+\.[^.\d][^.]*(?:\.[^.]+)?\.npy"
_ASCEND = (
    r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.\d+(?:\.\d{1,9})?\.\d{10,20}(?:\.\d+){0,4}"
    r"\.(?:input|output)\.\d+.*\.npy"
)
_ANCHORS = re.compile(rf"^(?:{_MINDSPORE}|{_ASCEND})$")
_MEMBERS = re.compile(
    r"^(?:ms_(?:global_)?execution_order_graph_\d+\.csv|ms_output_trace_code_graph_\d+\.(?:pb|ir)"
    r"|statistic\.csv|.+\.\d{1,4}\.\d{10,20}\.npy)$"
)
_FLAGS = re.compile(r"^Opdebug\..+\.\d{10,20}(?:\.output\.\d+\.json)?$")  # what the hardware flags
_RAW = re.compile(
    r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.\d+(?:\.\d{1,9})?\.\d{10,20}(?:\.\d+){0,4}(?:\.csv)?$"
)  # never decoded, or figures alone
_ANALYSED = re.compile(r"^anomaly_analyze_\d+\.json$")  # msprobe overflow_check
_MONITORED = re.compile(
    r"^(?:actv|actv_grad|grad_unreduced|grad_reduced|param_origin|param_updated|exp_avg|exp_avg_sq)_\d+-\d+\.csv$"
)
# msprobe's tests of single operators, and of gradients.
CHECKED = re.compile(
    r"^(?:(?:accuracy_checking|api_precision_compare)_(?:result|details)\w*|free_benchmark)\.csv$", re.I
)
SUMMED = re.compile(r"^grad_summary_(\d{1,9})\.csv$")  # of grad_probe
SIMILAR = re.compile(r"^\ufeff?step,similarity\r?\n")  # by content
RECORDED = frozenset({"dataset.json", "weight.json"})  # of config_check: figures of batches and weights
_CHECK_COLUMNS = ("api name", "api_name")
_JSON = frozenset({"stack.json", "construct.json"})
SEARCH = '"traindoctor-fusion-search"'  # the state of a search for a guilty fusion rule


def is_anchor(file: RunFile) -> bool:
    """Whether a file shows that there is a dump, or what a tool made of one: by name, some by content."""
    if _FLAGS.match(file.name) or _ANALYSED.match(file.name) or (_RAW.match(file.name) and file.size):
        return True
    if file.suffix == ".npy":
        return _ANCHORS.match(file.name) is not None
    if is_torch_h5(file) or is_atb(file):
        return True
    try:
        return _by_content(file)
    except OSError:
        return False


def _by_content(file: RunFile) -> bool:
    if file.name == "dump.json":
        start = file.head_text[:4096]
        return '"task"' in start and '"level"' in start
    if file.name == "fusion_result.json":
        return '"graph_fusion"' in file.head_text or '"ub_fusion"' in file.head_text
    if file.suffix == ".json" and file.name not in RECORDED:
        return SEARCH in file.head_text[:512] or is_checkpoint_comparison(file)
    if file.name == "statistic.csv":
        return file.head_text.startswith("Op Type,Op Name,")
    if _MONITORED.match(file.name):
        return file.head_text.startswith("vpp_stage,name,step,")
    if is_second(file):
        return True
    if CHECKED.match(file.name):
        return any(c in file.head_text.partition("\n")[0].lower() for c in _CHECK_COLUMNS)
    if file.name in RECORDED:
        return '"norm"' in file.head_text and '"max"' in file.head_text and "/step" in f"/{file.path}"
    if is_ptdbg(file):
        return True
    if SUMMED.match(file.name):
        return file.head_text.startswith("param_name,")
    if file.suffix == ".csv" and SIMILAR.match(file.head_text):
        return True
    return is_comparison(file) or is_config_check(file)


def is_comparison(file: RunFile) -> bool:
    """Whether a file holds what a tool made of a comparison, whatever it is called. Raises OSError."""
    if file.suffix not in (".csv", ".xlsx"):
        return False
    header = peek(file) if file.suffix == ".xlsx" else file.head_text.partition("\n")[0]
    return (
        ("NPU Name" in header and "Bench Name" in header)
        or ("TensorIndex" in header and "CosineSimilarity" in header)
        or all(name in header for name in ("golden_data_path", "my_data_path", "cosine_similarity"))
    )


def is_checkpoint_comparison(file: RunFile) -> bool:
    """Whether a file holds msprobe's comparison of two checkpoints. Raises OSError."""
    start = file.head_text[:4096] if file.suffix == ".json" else ""
    return all(f'"{key}":' in start for key in ("l2", "cos", "numel", "shape"))


def is_config_check(file: RunFile) -> bool:
    """Whether a file holds the results of msprobe's config_check. Raises OSError."""
    return file.suffix == ".xlsx" and all(name in peek(file) for name in ("pass_check", "filename"))


def is_dump_file(file: RunFile) -> bool:
    """Whether a file is part of a dump, in a directory that holds one."""
    return (
        file.name in _JSON
        or "/dump_tensor_data/" in f"/{file.path}"
        or _MEMBERS.match(file.name) is not None
        or is_anchor(file)
    )
