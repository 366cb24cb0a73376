"""Configurations: YAML, JSON, TOML, ini and `key: value` text, tracker parameters, packages, environments.

Everything becomes dotted settings with their lines. Logs, results, vocabularies and data files that share
these extensions are refused. Secrets are dropped here, before anything else sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...engine.model import Scalar
from .. import settings as names
from ..files import RunFile
from ..run import FileContent, Setting
from . import Gives, _proto_text
from ._config_tree import Leaf, Node, Tree, leaves, parse_json, parse_yaml, plain
from ._secrets import redact, secret_key
from ._values import CONFIG_PARTS
from ._values import plain as plain_key
from .text.arguments import dumps

FORMAT = "config"
GIVES = Gives(
    title="Configurations",
    files="YAML, JSON, TOML, INI, argument dumps, Hydra, `requirements.txt`, `pip freeze`",
    lacks="Whether a value was overridden when the run started; tags of YAML are never executed.",
    lines="some",
    settings="some",
    environment="some",
)

MAX_SIZE = 2 * 1024**2
MAX_TEXT = 400  # characters kept of one value

_YAML = (".yaml", ".yml")
_INI = (".ini", ".cfg", ".conf", ".properties")
_PLAIN = ("", ".txt", ".args", ".opt", ".flags", ".params", ".env", ".gin", ".config")
_PROTO = (".config", ".pbtxt", ".prototxt")
_LOG_NAMES = re.compile(r"(?:^|[._-])(?:logs?|stdout|stderr|output|nohup)(?:[._-]|$)|log$", re.IGNORECASE)
_RESULT_NAMES = re.compile(
    r"summary|results?$|metrics|scores|history|predictions|tokenizer$|vocab|merges|index$|annotations",
    re.IGNORECASE,
)
# Keys of tensor dumps (msprobe): "Module.fc.Linear.forward.0", "Tensor.add.0.backward".
_OPTION = re.compile(r"--([A-Za-z][\w-]*)")
_DUMPED = re.compile(r"\.(?:forward|backward|input|output|parameters_grad)(?:\.|$)")
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:===?|@|~=|>=)\s*([^\s;#]+)")
_PACKAGE = re.compile(r"^\s*([A-Za-z][\w.-]*)\s+v?(\d+(?:\.\w+)+\S*)(?:\s+\S+){0,3}\s*$")
_ONE_EQUAL = re.compile(r"^(\s*[A-Za-z0-9][\w.-]*)=(?=\d)")
_LINE = re.compile(r"^\s*(?:--)?([A-Za-z_][\w./\- ]{0,60}?)\s*(?:=|:|\.{3,}|\t|\s{2,}:?)\s*(.*?)\s*[,;]?\s*$")
_PRINTED = re.compile(r"\s*[A-Za-z_][\w.]*\(")  # Namespace(lr=0.1, ...) as the file's whole text
_SECTION = re.compile(r"^\s*\[([\w .:/-]+)\]\s*(?:[#;].*)?$")
_ENV_SIGNS = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "PWD",
        "SHELL",
        "LANG",
        "HOSTNAME",
        "LOGNAME",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "TERM",
        "OLDPWD",
        "SHLVL",
    }
)
_ENV = re.compile(
    r"(?:HCCL|NCCL|MS|ASCEND|GLOG|OMP|MKL|CUBLAS|TORCH|PYTORCH|TF|XLA|NVIDIA|CUDNN|KMP|ACL|MINDSPORE|FLAGS"
    r"|BF16|FP16|INF_NAN|TASK_QUEUE|COMBINED|LCCL|ATB|CLOSE_MATMUL|HF|TOKENIZERS|DEVICE|RANK|WORLD)_[A-Z0-9_]+|WORLD_SIZE"
    r"|LOCAL_WORLD_SIZE|CUDA_[A-Z_]*|PYTHONHASHSEED|NPROC_PER_NODE|NNODES|RANK_SIZE|DEVICE_NUM"
)
# Packages whose version can matter to a diagnosis; others are not kept as facts.
_KNOWN = re.compile(
    r"torch(?:vision|tune|-npu)?|tensorflow(?:-gpu|-cpu)?|keras|jax(?:lib)?|flax|optax|cann"
    r"|mindspore(?:-ascend|-gpu)?"
    r"|mindformers|mindspeed(?:-llm)?|transformers|accelerate|deepspeed|peft|trl|datasets|tokenizers"
    r"|(?:pytorch-)?lightning"
    r"|megatron-core|apex|flash-attn|bitsandbytes|xformers|triton|numpy|scipy|scikit-learn|pandas|timm"
    r"|mmcv|mmengine|mmdet"
    r"|ultralytics|paddlepaddle(?:-gpu)?|fairseq|detectron2|composer|llamafactory|liger-kernel|unsloth|transformer-engine"
    r"|sentencepiece|pillow|opencv-python|albumentations|mindstudio-probe|te|topi|hccl|cuda|cudnn|python"
    r"|vllm(?:-ascend)?|nvidia-driver|ascend-(?:driver|firmware)"
)


def sniff(file: RunFile) -> bool:
    """Say whether the file is a configuration: by its form and by what its top level holds."""
    if file.size > MAX_SIZE or file.binary:
        return False
    text = file.head_text
    if text.startswith("version https://git-lfs"):
        return False
    if _is_parameter(file.path):
        return file.size <= 4096
    if file.suffix == ".json" or (
        file.suffix not in (*_YAML, *_INI, ".toml") and text.lstrip().startswith("{")
    ):
        return _sniff_json(file)
    if file.suffix in _YAML:
        return (
            bool(re.search(r"^[ \t]*(?:- )?[\w\"'<$][^\n:]*:(?:\s|$)|^- |^\{", text, re.MULTILINE))
            or len(text) < 3
        )
    if file.suffix == ".toml":
        return bool(re.search(r"^[ \t]*[\w\".-]+[ \t]*=", text, re.MULTILINE))
    if file.suffix in _PROTO and _proto_text.looks_so(text):
        return True
    if file.suffix in (*_INI, *_PLAIN) or _requirements_name(file.name):
        return _sniff_lines(file, text)
    return False


def read(file: RunFile) -> FileContent:
    """Read the settings, versions and environment of one file."""
    text = file.read_text(MAX_SIZE)
    if _is_parameter(file.path):
        return _read_parameter(file, text)
    if file.suffix in _YAML:
        return _read_tree(file, parse_yaml(text))
    if file.suffix == ".toml":
        return _read_toml(file, text)
    if file.suffix == ".json" or text.lstrip().startswith("{"):
        return _read_tree(file, parse_json(text))
    if file.suffix in _PROTO and _proto_text.looks_so(text):
        return _content(file, _proto_text.leaves(text), [])
    if _PRINTED.match(text):
        return _content(file, [(key, value, 1) for key, value in dumps(text)], [])
    if _mostly_packages(lines := _lines(file, text)):
        return FileContent("packages", facts=_versions(_packages(lines)))
    return _content(file, _text_leaves(text), [])


# ----------------------------------------------------------------------------------------------- sniffing


def _is_parameter(path: str) -> bool:
    """An MLflow parameter: `mlruns/<experiment>/<run>/params/<name>`, the whole file is the value."""
    return "/params/" in f"/{path}" and bool(re.search(r"(?:^|/)[0-9a-f]{32}/params/", path))


def _requirements_name(name: str) -> bool:
    return bool(
        re.search(
            r"requirements|pip[_-]?(?:freeze|list)|^pip$|packages|environment|versions", name, re.IGNORECASE
        )
    )


def _lines(file: RunFile, text: str) -> list[str]:
    """The lines; `name=version` of msprobe's list, a file called pip, as pip itself writes it."""
    lines = text.splitlines()
    return [_ONE_EQUAL.sub(r"\1==", line) for line in lines] if file.name == "pip" else lines


def _sniff_json(file: RunFile) -> bool:
    stem = file.name.rsplit(".", 1)[0]
    tree = parse_json(file.read_text(MAX_SIZE))
    root = tree.root
    if root is None or root.kind != "map" or not root.items:
        return False
    return not _is_log(root) and not (_RESULT_NAMES.search(stem) and not _has_setting(root))


def _is_log(root: Node) -> bool:
    """A history, a trainer state, a summary, a vocabulary or annotations, whatever it is called."""
    keys = set(root.items)
    if keys & {
        "log_history",
        "weight_map",
        "_step",
        "_runtime",
        "_timestamp",
        "annotations",
        "added_tokens",
        "merges",
        "model_params_file_map",  # MindSpore's train_metadata.json: of a loss landscape, not of the training
    }:
        return True
    if {"task", "level", "data"} <= keys or sum(bool(_DUMPED.search(k)) for k in keys) > 0.3 * len(keys):
        return True
    if _is_statistics(root):
        return True
    lists = [n for n in root.items.values() if n.kind == "list" and n.items]
    numeric = [n for n in lists if all(i.kind == "leaf" and _is_number(i.value) for i in n.items.values())]
    lengths = [len(n.items) for n in numeric]
    if (
        len(numeric) >= 2
        and len(set(lengths)) == 1
        and len(numeric) >= 0.6 * len(keys)
        and not _has_setting(root)
    ):
        return True
    rows = [n for n in lists if len(n.items) >= 2 and all(i.kind == "map" for i in n.items.values())]
    if rows and max(len(n.items) for n in rows) > 50:
        return True
    flat = [n for n in root.items.values() if n.kind == "leaf"]
    return len(flat) > 400 and len(flat) == len(keys) and all(_is_number(n.value) for n in flat)


def _is_statistics(root: Node) -> bool:
    """Statistics of tensors (msprobe's weights and inputs): maps of max, min, mean and norm."""
    inner = [n for n in root.items.values() if n.kind == "map" and n.items]
    deeper = [n for m in inner for n in m.items.values() if n.kind == "map"]
    measured = [n for n in (*inner, *deeper) if {"max", "min", "mean", "norm"} <= set(n.items)]
    return len(measured) > 0.5 * max(1, len(deeper) or len(inner))


def _is_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_setting(root: Node) -> bool:
    """Two settings at the top, or in a part that is called by what it holds ("hyperparameters")."""
    parts = [n for k, n in root.items.items() if n.kind == "map" and plain_key(k) in CONFIG_PARTS]
    return any(sum(1 for k in node.items if names.canonical_key(k)) >= 2 for node in (root, *parts))


def _sniff_lines(file: RunFile, text: str) -> bool:
    lines = [x for x in _lines(file, text)[:400] if x.strip()]
    if not lines or (len(text) > 60_000 and file.suffix == ".txt"):
        return False
    if _LOG_NAMES.search(file.name.rsplit(".", 1)[0]):
        return False
    if _PRINTED.match(text):
        return any(names.canonical_key(key) for key, _ in dumps(text[: 64 * 1024]))
    if _mostly_packages(lines):
        return len(lines) >= 3 or _requirements_name(file.name)
    good = [m for m in map(_LINE.match, lines) if m]
    heads = sum(1 for x in lines if _SECTION.match(x) or x.lstrip().startswith(("#", ";", "--", "==", "**")))
    if len(good) + heads < 0.8 * len(lines) or not good:
        return False
    keys = [m.group(1).strip() for m in good]
    known = sum(1 for k in keys if names.canonical_key(k))
    if file.suffix in _INI:
        return True
    if _is_env(keys):
        return True
    # A log repeats its keys ("loss: ..." in each line); a configuration does not.
    return known >= 1 and len(set(keys)) >= 0.8 * len(keys) and (known >= 2 or known >= 0.3 * len(keys))


def _mostly_packages(lines: Iterable[str]) -> bool:
    rows = [x for x in lines if x.strip() and not x.lstrip().startswith(("#", "-", "Package"))]
    hits = sum(1 for x in rows if (_REQUIREMENT.match(x) and " = " not in x) or _PACKAGE.match(x))
    bare = sum(
        1 for x in rows if re.fullmatch(r"\s*[A-Za-z][\w.-]*(?:\[[\w,]+\])?\s*", x)
    )  # a name without version
    return len(rows) >= 1 and hits >= 1 and hits >= 0.7 * (len(rows) - min(bare, hits))


# ---------------------------------------------------------------------------------------------- reading


def _read_parameter(file: RunFile, text: str) -> FileContent:
    key = file.path.rpartition("/params/")[2] or file.name
    value, _ = plain(text.strip())
    return _content(file, [(key, value, 1)], [])


def _read_tree(file: RunFile, tree: Tree) -> FileContent:
    root = tree.root
    if root is not None and root.kind == "list" and file.suffix in _YAML:
        found = _overrides(root)
    else:
        found = leaves(tree)
    if _conda(root):
        return FileContent("packages", facts=_versions(_conda_packages(root)), notes=tuple(tree.notes))
    if root is not None and _is_env(root.items):
        return _content(file, _environment(found), tree.notes)
    found = [
        leaf for k, v, line in found if not _described(k) for leaf in _unswallowed(_unwrapped(k), v, line)
    ]
    if _written_by_pyyaml_reader(file):
        written = [(k, line, w) for k, line, w in tree.as_text if _numeric_setting(k)]
    else:
        written = []
    content = _content(file, found, tree.notes, packages=_package_leaves(found))
    if not written:
        return content
    key, line, word = written[0]
    facts = {**content.facts, "number_as_text": f"{key}: {word} ({file.path}:{line})"}
    note = f"{key}: {word} (line {line}) is text to the usual YAML reader; taken as the number it means"
    return FileContent(content.format, (), content.settings, (), facts, (*content.notes, note))


def _unswallowed(key: str, value: Scalar | tuple[Scalar, ...], line: int) -> Iterator[Leaf]:
    """msprobe's reader of launch lines takes the next option for the value of a flag: two flags, then."""
    option = _OPTION.fullmatch(value) if isinstance(value, str) else None
    if option is None:
        yield key, value, line
        return
    yield key, True, line
    yield option.group(1), True, line


def _written_by_pyyaml_reader(file: RunFile) -> bool:
    """Hydra reads 1e-5 as a number itself, so its files say nothing."""
    return file.suffix in _YAML and ".hydra/" not in f"/{file.path}"


def _numeric_setting(key: str) -> bool:
    match = names.canonical_key(_unwrapped(key))
    return match is not None and names.table().specs[match[0]].kind == "number"


def _unwrapped(key: str) -> str:
    """W&B writes `lr: {desc: null, value: 0.1}`."""
    return key[: -len(".value")] if key.endswith(".value") else key


def _described(key: str) -> bool:
    return key.endswith(".desc") or key.startswith("_wandb")


def _overrides(root: Node) -> list[Leaf]:
    """Hydra's overrides.yaml: a list of key=value strings."""
    found: list[Leaf] = []
    for node in root.items.values():
        key, equals, value = str(node.value).partition("=")
        if node.kind == "leaf" and equals:
            found.append((key.strip().lstrip("+~"), plain(value.strip())[0], node.line))
    return found


def _read_toml(file: RunFile, text: str) -> FileContent:
    parser = _toml()
    if parser is None:
        return FileContent("config", notes=("TOML needs Python 3.11 or the package tomli; not read",))
    try:
        loaded: dict[str, Any] = parser.loads(text)
    except ValueError as error:
        raise ValueError(f"not valid TOML: {error}") from error
    lines = {
        m.group(1): text.count("\n", 0, m.start(1)) + 1
        for m in re.finditer(r"^[ \t]*([\w\"'.-]+)[ \t]*=", text[:200_000], re.MULTILINE)
    }
    found = [(k, v, lines.get(k.rsplit(".", 1)[-1], 1)) for k, v in _flat(loaded)]
    return _content(file, found, [])


def _toml() -> Any:
    for name in ("tomllib", "tomli"):
        try:
            return __import__(name)
        except ImportError:
            continue
    return None


def _flat(value: Mapping[str, Any]) -> list[tuple[str, Scalar | tuple[Scalar, ...]]]:
    found: list[tuple[str, Scalar | tuple[Scalar, ...]]] = []
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict):
            stack.extend((f"{path}.{k}" if path else str(k), v) for k, v in reversed(node.items()))
        elif isinstance(node, list) and any(isinstance(v, (dict, list)) for v in node):
            stack.extend((f"{path}.{i}", v) for i, v in reversed(list(enumerate(node))))
        elif isinstance(node, list):
            found.append((path, tuple(_scalar(v) for v in node)))
        else:
            found.append((path, _scalar(node)))
    return found


def _scalar(value: object) -> Scalar:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _text_leaves(text: str) -> list[Leaf]:
    """Read `key: value`, `key = value` and `[section]` lines."""
    found: list[Leaf] = []
    section = ""
    for at, line in enumerate(text.splitlines()[:20_000], 1):
        head = _SECTION.match(line)
        if head:
            section = head.group(1).strip().replace(" ", "_") + "."
            continue
        match = None if line.lstrip().startswith(("#", ";")) else _LINE.match(line)
        if match:
            # options as CycleGAN saves them name the default behind a value that is another one
            written = re.sub(r"\s+#.*$|\s+\[default: .*\]$", "", match.group(2)).strip()
            found.append((section + match.group(1).strip(), value_of(written), at))
    keys = [k for k, _, _ in found]
    return _environment(found) if _is_env(keys) else found


def value_of(text: str) -> Scalar | tuple[Scalar, ...]:
    """Read a value as an argument line gives it: numbers, True/None, quoted text, (lists, of, scalars)."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if len(text) >= 2 and text[0] + text[-1] in ("[]", "()"):
        parts = [p.strip() for p in text[1:-1].split(",") if p.strip()][:1000]
        return tuple(v for p in parts if not isinstance(v := value_of(p.strip("'\"[]()")), tuple))
    if text in ("None", "none"):
        return None
    value, _ = plain(text)
    found = names.number(value) if isinstance(value, str) else None
    return value if found is None else found


def _environment(found: Iterable[Leaf]) -> list[Leaf]:
    """Of an environment only what steers training is kept."""
    return [(k, v, line) for k, v, line in found if environment_key(k.rsplit(".", 1)[-1])]


def environment_key(name: str) -> bool:
    """Say whether an environment variable steers training (and is no secret)."""
    return bool(_ENV.fullmatch(name)) and not secret_key(name)


def _is_env(keys: Iterable[str]) -> bool:
    last = {k.rsplit(".", 1)[-1] for k in keys}
    steering = sum(map(environment_key, last))
    if steering >= 2 and 2 * steering > len(last) and all(map(str.isupper, last)):
        return True  # switches alone, as somebody wrote them down
    return len(last & _ENV_SIGNS) >= 2


# --------------------------------------------------------------------------------------------- packages


def _packages(lines: Iterable[str]) -> list[tuple[str, str]]:
    found = []
    for line in lines:
        match = _REQUIREMENT.match(line) or _PACKAGE.match(line)
        # ">=" in a requirements file is a wish, not what is installed
        if match and ">=" not in line and "~=" not in line:
            found.append((match.group(1), match.group(2)))
    return found


def _conda(root: Node | None) -> bool:
    return (
        root is not None and root.kind == "map" and "dependencies" in root.items and "channels" in root.items
    )


def _conda_packages(root: Node | None) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for node in root.items["dependencies"].items.values() if root else ():
        if node.kind == "leaf":
            name, _, version = str(node.value).partition("=")
            found.append((name, version.lstrip("=").partition("=")[0]))
        for pip in node.items.values():
            found.extend(_packages(str(n.value) for n in pip.items.values()))
    return found


def _package_leaves(found: Iterable[Leaf]) -> list[tuple[str, str]]:
    """Versions in an environment record: `packages.torch: 2.1.0`, `torch_version: 2.1.0`."""
    rows = []
    for key, value, _ in found:
        parts = key.split(".")
        last = parts[-1].lower()
        name = last[: -len("_version")] if last.endswith("_version") else ""
        if (
            not name
            and len(parts) > 1
            and re.search(r"version|package|librar|pip|software|environment", parts[-2], re.I)
        ):
            name = last
        if not name and len(parts) == 1 and isinstance(value, str) and re.match(r"\d+\.\d+(?:\.|$)", value):
            name = last
        if name and isinstance(value, (str, float)) and re.match(r"v?\d+(?:\.\w+)*", str(value)):
            rows.append((name, str(value).lstrip("v")))
    return rows


def _versions(rows: Iterable[tuple[str, str]]) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    for name, version in rows:
        plain_name = name.lower().replace("_", "-")
        plain_name = "torch" if plain_name == "pytorch" else plain_name
        if _KNOWN.fullmatch(plain_name) and re.match(r"\d", version):
            facts.setdefault(f"version:{plain_name}", version[:40])
    return facts


# -------------------------------------------------------------------------------------------- assembling


def trust_of(path: str) -> int:
    """How far a file can be trusted to hold what was in force, after its place and name."""
    name = path.rsplit("/", 1)[-1].lower()
    folder = f"/{path.lower()}"
    if re.fullmatch(r"(?:training_)?(?:args|arguments|opt|hyp)\.(?:ya?ml|json|txt)|args_\w+\.json", name):
        return 90
    if ".hydra/" in folder:
        return 60 if name == "hydra.yaml" else 88
    if re.search(r"/wandb/.*files/config\.yaml$", folder):
        return 86
    if "/params/" in folder:
        return 84
    if re.fullmatch(
        r"(?:hparams|hyperparameters|hyper_parameters|params|flags|run_config|resolved_config)\.\w+", name
    ):
        return 82
    if re.fullmatch(
        r"config\.json|adapter_config\.json|tokenizer_config\.json|preprocessor_config\.json", name
    ):
        return 70
    if re.fullmatch(r"config(?:uration)?\.(?:ya?ml|toml)", name):
        return 55
    return 30 if re.fullmatch(r"generation_config\.json|hydra\.yaml", name) else 50


def _content(
    file: RunFile, found: Iterable[Leaf], notes: Iterable[str], packages: Iterable[tuple[str, str]] = ()
) -> FileContent:
    trust = trust_of(file.path)
    settings = []
    prefix = _prefix(file.name)
    for key, value, line in found:
        kept = clean(key, value)
        if key:
            settings.append(Setting((prefix + key)[:200], kept, file.path, line, trust))
    return FileContent(
        "config", settings=tuple(settings), facts=_versions(packages), notes=tuple(dict.fromkeys(notes))
    )


def _prefix(name: str) -> str:
    """Files whose keys mean something else than in a training configuration."""
    if name.lower() in ("tokenizer_config.json", "special_tokens_map.json"):
        return "tokenizer."
    if name.lower() == "generation_config.json":
        return "generation."
    return "adapter." if name.lower() == "adapter_config.json" else ""


def clean(key: str, value: Scalar | tuple[Scalar, ...]) -> Scalar | tuple[Scalar, ...]:
    """Cap a value's length and take secrets out of it."""
    if isinstance(value, tuple):
        return tuple(_clean(key, v) for v in value[:1000])
    return _clean(key, value)


def _clean(key: str, value: Scalar) -> Scalar:
    if isinstance(value, str):
        return redact(key, value[: 4 * MAX_TEXT])[:MAX_TEXT]
    if value is not None and not isinstance(value, bool) and secret_key(key):
        return "***"
    return value
