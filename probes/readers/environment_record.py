"""Records of an environment: reports of `torch.utils.collect_env` and CANN's version files.

They give versions and the accelerator, never settings; a log that holds such a report is read as a log.
"""

from __future__ import annotations

import re

from ...engine.model import Scalar
from ..files import RunFile
from ..run import FileContent
from .text import environment

FORMAT = "environment"
MAX_SIZE = 1024**2

_PIP = re.compile(r"^\[(?:pip3?|conda)\] ([\w.-]+?)(?:==| +)v?(\d[\w.+!-]*)", re.MULTILINE)
_GPU = re.compile(r"^(?:GPU \d+: |GPU models.*\nGPU 0: )(.{1,60})$", re.MULTILINE)
_CANN_NAMES = re.compile(r"(?:version|ascend_\w+_install|install)\.(?:info|cfg)$", re.IGNORECASE)
_CANN_VERSION = re.compile(r"^\s*\[?version\s*=\s*\[?([\w.]+)", re.IGNORECASE | re.MULTILINE)


def sniff(file: RunFile) -> bool:
    """Say whether the file is one of these records, by what it holds."""
    if file.size > MAX_SIZE:
        return False
    if _CANN_NAMES.search(file.name):
        return _CANN_VERSION.search(file.head_text) is not None
    return _is_report(file.head_text)


def _is_report(text: str) -> bool:
    start = text.lstrip()[:400]
    return "PyTorch version:" in start and "Is debug build:" in start and "libraries:" in text


def read(file: RunFile) -> FileContent:
    """Read versions and device. Raises ValueError when the file holds none."""
    text = file.read_text(MAX_SIZE)
    if _CANN_NAMES.search(file.name):
        found = _CANN_VERSION.search(text)
        facts = {"version:cann": found.group(1)} if found else {}
    else:
        facts = _report(text)
    if not facts:
        raise ValueError("no version in it")
    return FileContent(FORMAT, facts=facts)


def _report(text: str) -> dict[str, Scalar]:
    """The report of torch.utils.collect_env."""
    facts: dict[str, Scalar] = {}
    for line in text.splitlines():
        if line.startswith("PyTorch version"):
            environment.look(line, facts)
    for name, version in _PIP.findall(text):
        facts.setdefault(f"version:{name.lower().replace('_', '-')}", version[:40])
    device = _GPU.search(text)
    if device:
        facts["device"] = device.group(1).partition(" (UUID")[0].strip()
    return facts
