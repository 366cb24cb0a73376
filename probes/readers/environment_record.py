"""Records of an environment: reports of `torch.utils.collect_env`, version files of CANN and its driver.

They give versions and the accelerator, and what an `env.log` says of variables; a log that holds such a
report is read as a log. What `ascend-dmi --dg` found of the devices (as text or JSON) is told as an event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.model import Scalar
from ..files import RunFile
from ..run import Event, FileContent, Setting
from . import Gives
from ._secrets import secret_key
from .config_file import environment_key, value_of
from .text import environment

FORMAT = "environment"
GIVES = Gives(
    title="Records of the environment",
    files=(
        "`collect_env` reports, version files of CANN and its driver, `env.log`, `npu-smi info`, "
        "`ascend-dmi --dg`"
    ),
    lacks="Anything of the training itself.",
    lines="some",
    settings="some",
    environment="yes",
)
MAX_SIZE = 1024**2

_PIP = re.compile(r"^\[(?:pip3?|conda)\] ([\w.-]+?)(?:==| +)v?(\d[\w.+!-]*)", re.MULTILINE)
_GPU = re.compile(r"^(?:GPU \d+: |GPU models.*\nGPU 0: )(.{1,60})$", re.MULTILINE)
_TOOLKIT = {
    "cuda": re.compile(r"^CUDA used to build PyTorch: (\d[\d.]*)", re.MULTILINE),
    "nvidia-driver": re.compile(r"^Nvidia driver version: (\d[\d.]*)", re.MULTILINE),
    "cudnn": re.compile(r"^cuDNN version: [\s\S]{0,80}?(\d+\.\d+[\d.]*)", re.MULTILINE),
    "python": re.compile(r"^Python version: (\d[\d.]*)", re.MULTILINE),
}
_DRIVER = re.compile(r"(?:^|/)driver(?:/|_)|\bascendhal_version\b", re.IGNORECASE)
_FIRMWARE = re.compile(r"(?:^|/)firmware(?:/|_)|\bfirmware_version\b", re.IGNORECASE)
_CANN_NAMES = re.compile(r"(?:version|ascend_\w+_install|install)\.(?:info|cfg)$", re.IGNORECASE)
_CANN_VERSION = re.compile(r"^[ \t]*\[?version[ \t]*=[ \t]*\[?([\w.]+)", re.IGNORECASE | re.MULTILINE)
# `ascend-dmi --dg`: items under "Hardware", each with a status behind it or below it (MindCluster ToolBox).
_ITEM = re.compile(
    r"(?<![\w-])[\"']?(driver|cann|device|network|signalQuality|hbm\w*|chipMemory\w*|bandwidth\w*|aiflops|aicore"
    r"|aicpu|aiv|edp|tdp|nic|prbs)[\"']?\s*[:：]",
    re.IGNORECASE,
)
_COMPUTES = re.compile(r"^(?:aicore|aicpu|aiv|hbm\w*|chipMemory\w*)$", re.IGNORECASE)
_STATUS = re.compile(r"\b(?:PASS|HEALTH|SKIP|FAIL|(?:GENERAL|IMPORTANT|EMERGENCY)_WARN)\b")
_WARNED = re.compile(r"\b(?:GENERAL|IMPORTANT|EMERGENCY)_WARN\b")
LEAST_ITEMS = 2
# `npu-smi info`: a head with the driver, and rows that name each device and its health
_SMI = re.compile(r"^[|\s]*npu-smi (\d[\w.]*)\s+Version: ", re.MULTILINE)
_SMI_DEVICE = re.compile(r"^\|\s*\d{1,3}\s+((?:Ascend ?)?(?:910|310)\w*)\s*\|\s*[A-Z]\w+\s*\|", re.MULTILINE)
# `env.log` as somebody's job script writes it: a name and a version to a line, among variables.
_NAMED = re.compile(r"^(?:env|environ\w*|versions?|pip\w*|packages?)(?:[._-][\w.-]*)?\.log$", re.IGNORECASE)
_LISTED = re.compile(
    r"^[ \t]*(torch|torch[-_]npu|mindspore|cann|transformers|deepspeed|accelerate|mindformers|mindspeed|apex"
    r"|numpy|vllm(?:[-_]ascend)?|driver|firmware)[ \t]*(?:==?|:|[ \t])[ \t]*v?(\d+\.\d[\w.+-]*)[ \t\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ASSIGNED = re.compile(r"(?<!\S)([A-Za-z_]\w{2,60})=([^\s;=]{1,120})(?!\S)")
_ASCEND = {"driver": "ascend-driver", "firmware": "ascend-firmware"}
LEAST_VERSIONS = 2


def sniff(file: RunFile) -> bool:
    """Say whether the file is one of these records, by what it holds."""
    if file.size > MAX_SIZE:
        return False
    if _CANN_NAMES.search(file.name):
        return _CANN_VERSION.search(file.head_text) is not None
    if _NAMED.match(file.name) and len(_LISTED.findall(file.head_text)) >= LEAST_VERSIONS:
        return True
    if _SMI.search(file.head_text[:2000]) and _SMI_DEVICE.search(file.head_text):
        return True
    return _is_report(file.head_text) or len(_tested(file.head_text)) >= LEAST_ITEMS


def _tested(text: str) -> list[tuple[int, str, str]]:
    """What was tested of the hardware: where, the item, and all that is said of it; only with a status."""
    if "Hardware" not in text or _STATUS.search(text) is None:
        return []
    start = text.index("Hardware")
    found = list(_ITEM.finditer(text, start))
    ends = [m.start() for m in found[1:]] + [len(text)]
    told: list[tuple[int, str, str]] = []
    for item, end in zip(found, ends, strict=True):
        said = text[item.end() : end]
        if told and item.group(1).lower() == "device" and re.match(r"\s*\d", said):  # which one it was
            place, name, before = told.pop()
            told.append((place, name, f"{before} device {said}"))
        elif _STATUS.search(said) or not told:
            told.append((item.start(), item.group(1), said))
    return [t for t in told if _STATUS.search(t[2])]


def _warnings(text: str, path: str) -> tuple[Event, ...]:
    """Devices of which a test says that they compute wrong values."""
    events = []
    for place, name, said in _tested(text):
        if _COMPUTES.match(name) and (found := _WARNED.search(said)) is not None:
            words = re.sub(
                r"[\s\"'{}\[\],:]+", " ", said[max(0, found.start() - 60) : found.end() + 120]
            ).strip()
            line = text.count("\n", 0, place) + 1
            events.append(
                Event("known-warning", path, line, text=f"{name}: {words}"[:300], data="device-test")
            )
    return tuple(events)


def _is_report(text: str) -> bool:
    start = text.lstrip()[:400]
    return "PyTorch version:" in start and "Is debug build:" in start and "libraries:" in text


def read(file: RunFile) -> FileContent:
    """Read versions and device. Raises ValueError when the file holds none."""
    text = file.read_text(MAX_SIZE)
    if _CANN_NAMES.search(file.name):
        found = _CANN_VERSION.search(text)
        facts = {f"version:{_part(file.path, text)}": found.group(1)} if found else {}
    elif _is_report(text):
        facts = _report(text)
    elif _NAMED.match(file.name) and (listed := _LISTED.findall(text)):
        named = ((name.lower().replace("_", "-"), version) for name, version in listed)
        facts = {f"version:{_ASCEND.get(name, name)}": version for name, version in named}
    elif (head := _SMI.search(text)) is not None and (devices := _SMI_DEVICE.findall(text)):
        name = devices[0].replace(" ", "")
        facts = {
            "version:ascend-driver": head.group(1),
            "device": name if name.startswith("Ascend") else f"Ascend{name}",
        }
    elif _tested(text):
        return FileContent(FORMAT, events=_warnings(text, file.path))
    else:
        facts = {}
    if not facts:
        raise ValueError("no version in it")
    return FileContent(FORMAT, settings=tuple(_assigned(text, file)), facts=facts)


def _assigned(text: str, file: RunFile) -> Iterator[Setting]:
    """The variables that a job script writes beside the versions: those that steer training, and its own."""
    if not _NAMED.match(file.name):
        return
    versions = {name for name, _ in _LISTED.findall(text)}
    for found in _ASSIGNED.finditer(text):
        name, value = found.groups()
        if name in versions:
            continue
        if environment_key(name) or (name.islower() and not secret_key(name)):
            yield Setting(name, value_of(value), file.path, text.count("\n", 0, found.start()) + 1, 60)


def _part(path: str, text: str) -> str:
    """Which part of the Ascend software a version file is of: driver, firmware, or the toolkit itself."""
    if _DRIVER.search(path) or _DRIVER.search(text):
        return "ascend-driver"
    return "ascend-firmware" if _FIRMWARE.search(path) or _FIRMWARE.search(text) else "cann"


def _report(text: str) -> dict[str, Scalar]:
    """The report of torch.utils.collect_env."""
    facts: dict[str, Scalar] = {}
    for line in text.splitlines():
        if line.startswith("PyTorch version"):
            environment.look(line, facts)
    for name, version in _PIP.findall(text):
        facts.setdefault(f"version:{name.lower().replace('_', '-')}", version[:40])
    for name, pattern in _TOOLKIT.items():
        if (said := pattern.search(text)) is not None:
            facts.setdefault(f"version:{name}", said.group(1))
    device = _GPU.search(text)
    if device:
        facts["device"] = device.group(1).partition(" (UUID")[0].strip()
    return facts
