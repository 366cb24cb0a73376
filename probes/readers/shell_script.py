"""Launch lines: `torchrun --nproc_per_node 8 train.py --lr 1e-4 --fp16`, in scripts and saved commands.

Nothing is executed. Variables of the form NAME=value are put in where they are used; a flag without a value
is True and never swallows the option after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...engine.model import Scalar
from ..files import RunFile
from ..run import FileContent, Setting
from . import Gives
from ._config_tree import parse_json
from ._secrets import secret_key
from .config_file import clean, environment_key, value_of

FORMAT = "launch-script"
GIVES = Gives(
    title="Launch lines",
    files="`*.sh`, sbatch scripts, saved commands, `wandb-metadata.json`",
    lacks="Values that only the shell knows when it runs; nothing is executed.",
    lines="some",
    settings="yes",
    environment="some",
)

MAX_SIZE = 1024**2
_SUFFIXES = (
    ".sh",
    ".bash",
    ".zsh",
    ".slurm",
    ".sbatch",
    ".pbs",
    ".lsf",
    ".cmd",
    ".bat",
    ".ps1",
    ".fish",
    ".ksh",
)
_SHEBANG = re.compile(r"^#!.*\b(?:ba|z|k|c|da)?sh\b")
_COMMAND = re.compile(
    r"^\s*(?:[A-Z_]+=\S*\s+)*(?:\$\s+|sudo\s+|nohup\s+|exec\s+|time\s+|srun\s.*?)?(?:\S*/)?"
    r"(?:python[\d.]*|torchrun|msrun|deepspeed|accelerate|mpirun|mpiexec|srun|bash|sh|swift|llamafactory-cli|yolo|"
    r"fairseq-train|composer|horovodrun|tune|axolotl|lightning|paddle\S*|xtuner)\s",
)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_MAX_QUOTED = 100  # lines: a quote that stays open longer is an apostrophe
_ARGUMENT = re.compile(r"\s--?[A-Za-z][\w-]*|\.py\b")
_ASSIGNMENT = re.compile(
    r"^(?:export\s+|declare\s+(?:-\w+\s+)?|readonly\s+|local\s+|set\s+)?([A-Za-z_]\w*)\+?=(.*)$", re.DOTALL
)
_VARIABLE = re.compile(r"\$\{(\w+)(?:\[[@*]\])?(?::?[-=]([^{}]*))?\}|\$(\w+)")
_OPTION = re.compile(r"^(--[A-Za-z][\w.:/-]*|-[A-Za-z][\w-]*)(?:=(.*))?$", re.DOTALL)
_OVERRIDE = re.compile(r"^\+{0,2}([A-Za-z_][\w./@]*)=(.*)$", re.DOTALL)
_ENDS = re.compile(r"^[|&;<>]+$")
# Ascend's launch scripts start one process after the other in the background and tell them of each other
_COUNTED = re.compile(r"\bseq\s+(?:(\d+)\s+)?(\d+|\S*?\w+\W*-\s*1\W*)\s*\)?$|^\{(\d+)\.\.(\d+)\}$")
_COUNTING = re.compile(r"^\(\(\s*\w+=0\s*;\s*\w+<\s*(\d+)\s*;")
_TOGETHER = re.compile(r"(?i)rank|world[-_]size|hccl|nccl|dist[-_]")
_SIZE = re.compile(r"^--world[-_]size(?:=\S*)?$")
# what Slurm is asked for, where it also starts the processes
_OF_SLURM = re.compile(r"^#SBATCH[ \t]+--(nodes|ntasks-per-node)[= \t]+(\d{1,4})[ \t]*$", re.MULTILINE)
_STARTED_BY_SLURM = re.compile(
    r"^[ \t]*(?:\w+=\S+[ \t]+)*srun\b(?!.*--nproc|.*torchrun|.*\s(?:-n|--ntasks)[= ]*1\b)", re.MULTILINE
)
_STARTS_FROM = "--pretrained_model_name_or_path"  # of diffusers, often given by a variable of the shell
_UNNAMED = "a variable of the shell"
_LAUNCHER_FLAGS = frozenset({"-m", "-u", "-c", "-e", "-x", "-o"})

Word = tuple[str, int]


def sniff(file: RunFile) -> bool:
    """Say whether this is a shell script, or a saved command line."""
    if file.size > MAX_SIZE or file.binary:
        return False
    if file.name == "wandb-metadata.json":
        return True
    text = file.head_text
    if file.suffix in _SUFFIXES or _SHEBANG.match(text):
        return True
    if file.suffix not in ("", ".txt", ".log") or len(text) > 20_000:
        return False
    lines = [x for x in text.splitlines() if x.strip()]
    return 0 < len(lines) <= 40 and bool(_COMMAND.match(lines[0])) and bool(_ARGUMENT.search(text))


def read(file: RunFile) -> FileContent:
    """Read the options of every command and the variables that steer training."""
    text = file.read_text(MAX_SIZE).replace("\r\n", "\n").replace("\r", "\n")
    reading = _Script(file.path)
    if file.name == "wandb-metadata.json":
        return _metadata(text, reading)
    if _STARTED_BY_SLURM.search(text):
        for match in _OF_SLURM.finditer(text):
            reading.options([(f"--{match[1]}={match[2]}", text.count("\n", 0, match.start()) + 1)])
    for words in _commands(text):
        reading.take(words)
    return FileContent("launch-script", settings=tuple(reading.settings[:5000]))


def _metadata(text: str, reading: _Script) -> FileContent:
    """The arguments that W&B recorded: `"args": ["--lr", "0.1"]`."""
    root = parse_json(text).root
    args = root.items.get("args") if root is not None else None
    for words in [args.items.values()] if args is not None else []:
        reading.options([(str(node.value), node.line) for node in words])
    facts: dict[str, Scalar] = {}
    python = root.items.get("python") if root is not None else None
    if python is not None and isinstance(python.value, str):
        facts["version:python"] = python.value.removeprefix("CPython ")[:20]
    gpu = root.items.get("gpu") if root is not None else None
    if gpu is not None and isinstance(gpu.value, str):
        facts["device"] = gpu.value[:60]
    settings = tuple(replace(s, trust=75) for s in reading.settings)
    return FileContent("wandb-metadata", settings=settings, facts=facts)


def _commands(text: str) -> Iterator[list[Word]]:
    """Yield the words of each logical command, with their lines; quotes are kept on the words."""
    scan = _Scan(text.split("\n"))
    while scan.row < len(scan.lines):
        words = scan.command()
        if words:
            yield words


class _Scan:
    """A line-by-line scanner of shell words: quotes, continued lines, arrays, comments, here-documents."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.row = 0

    def command(self) -> list[Word]:
        """Read one command, which may go over several lines."""
        words: list[Word] = []
        array = False
        while self.row < len(self.lines):
            line = self.lines[self.row][:20_000]
            at, goes_on = 0, False
            while at < len(line):
                char = line[at]
                if char.isspace():
                    at += 1
                elif char == "#":
                    break
                elif char in "\\`" and not line[at + 1 :].strip():
                    goes_on = True
                    break
                elif char in "|&;<>()":
                    end = at + 1
                    while end < len(line) and char not in "()" and line[end] in "|&;<>":
                        end += 1
                    words.append((line[at:end], self.row + 1))
                    array = char == "(" and at > 0 and line[at - 1] == "=" if not array else char != ")"
                    at = end
                else:
                    row, (word, line, at) = self.row, self._word(line, at)
                    words.append((word, row + 1))
            self.row += 1
            heredoc = _HEREDOC.search(line) if any(w[0].startswith("<<") for w in words) else None
            if heredoc:
                self._skip(heredoc.group(2))
            if not goes_on and not array:
                break
        return words

    def _word(self, line: str, at: int) -> tuple[str, str, int]:
        """Read one word from `at`; returns it, and the line and place where it ends."""
        word: list[str] = []
        quote = ""
        start_row, start_line = self.row, line
        begin = at
        while True:
            if at >= len(line):
                if not quote:
                    break
                if self.row + 1 >= len(self.lines) or self.row - start_row >= _MAX_QUOTED:
                    self.row = start_row
                    return start_line[begin:].strip(), start_line, len(start_line)
                self.row += 1
                line, at = self.lines[self.row][:20_000], 0
                word.append("\n")
                continue
            char = line[at]
            if char == "\\" and quote != "'":
                if at + 1 == len(line) and not quote:
                    break
                word.append(line[at : at + 2] if at + 1 < len(line) else " ")
                at += 2
                continue
            if quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
            elif char == "$" and line[at + 1 : at + 2] in ("(", "{"):
                end = _closing(line, at + 1)
                word.append(line[at:end])
                at = end
                continue
            elif char.isspace() or char in "|&;<>()":
                break
            word.append(char)
            at += 1
        return "".join(word), line, at

    def _skip(self, word: str) -> None:
        for row in range(self.row, min(len(self.lines), self.row + 5000)):
            if self.lines[row].strip() == word:
                self.row = row + 1
                return


def _closing(line: str, at: int) -> int:
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(line)):
        depth += (line[place] in "({") - (line[place] in ")}")
        if depth == 0:
            return place + 1
    return len(line)


class _Script:
    """Variables seen so far and settings found; lives only inside `read`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.variables: dict[str, str] = {}
        self.settings: list[Setting] = []
        self.started = 0  # how many times the loop that is open goes round
        self.told = ""  # what its body has set so far

    def take(self, words: list[Word]) -> None:
        while words and words[0][0] in (
            "do",
            "then",
            "else",
            "{",
            "(",
        ):  # `for r in 0 1; do RANK=$r python ...`
            words = words[1:]
        if words and words[0][0] == "done":
            self.started, self.told = 0, ""
        if self.started:
            self.told += " ".join(word for word, _ in words) + " "
        rest = self._assignments(words)
        if not rest:
            return
        head = rest[0][0].rsplit("/", 1)[-1].strip("\"'")
        if head in (
            "echo",
            "printf",
            "mkdir",
            "cd",
            "if",
            "elif",
            "rm",
            "cp",
            "mv",
            "ls",
            "grep",
            "sed",
            "awk",
            "source",
            "conda",
            "pip",
            "module",
            "ulimit",
            "chmod",
            "tee",
            "wget",
            "curl",
            "tar",
            "set",
            "fi",
            "done",
            "ssh",
        ):
            return
        if head == "for" or head == "while":  # `for r in 0 1; do RANK=$r python train.py --lr 0.1 & done`
            body = next((n for n, word in enumerate(rest) if word[0] == "do"), len(rest))
            head = self._expand(" ".join(word for word, _ in rest[1:body]))[:200]
            self.started, self.told = _rounds(head), ""
            self.take(rest[body + 1 :])
            return
        if self.started > 1 and rest[-1][0] == "&" and _TOGETHER.search(self.told):
            rest = self._started_together(rest)
        self._options(self._expanded(rest[1:]), from_command=True)

    def _started_together(self, words: list[Word]) -> list[Word]:
        """A loop that starts a process for each device: a world size of one counts machines then."""
        self._add("nproc_per_node", self.started, words[0][1])
        for at, (word, line) in enumerate(words[:-1]):
            if _SIZE.match(word) and (word.endswith("=1") or words[at + 1][0] == "1"):
                renamed = ("--nnodes" + word.partition("=")[1] + word.partition("=")[2], line)
                return [*words[:at], renamed, *words[at + 1 :]]
        return words

    def _assignments(self, words: list[Word]) -> list[Word]:
        """Take NAME=value words off the front; the value of an array stands between parentheses."""
        while words and words[0][0] in ("export", "declare", "readonly", "local", "-a", "-x", "-r", "set"):
            words = words[1:]
        while words:
            text, line = words[0]
            match = _ASSIGNMENT.match(text)
            if not match or text.startswith("-"):
                break
            name, value = match.group(1), match.group(2)
            words = words[1:]
            if value == "" and words and words[0][0] == "(":
                end = next((i for i, w in enumerate(words) if w[0] == ")"), len(words))
                self._options(self._expanded(words[1:end]), from_command=False)
                self.variables[name] = ""
                words = words[end + 1 :]
                continue
            self._variable(name, self._expand(_unquoted(value)), line)
        return words

    def _variable(self, name: str, value: str, line: int) -> None:
        if environment_key(name):
            self._add(name, value_of(value), line)
        if re.search(r"(?:^|\s)--?[A-Za-z]", value):
            inner = [(word, line + at - 1) for words in _commands(value) for word, at in words]
            self._options(self._expanded(inner), from_command=False)
            value = ""  # its options are counted here, not again where the variable is used
        self.variables[name] = value

    def _expand(self, text: str) -> str:
        def put(match: re.Match[str]) -> str:
            name = match.group(1) or match.group(3)
            return self.variables.get(name, match.group(2) or "" if match.group(1) else "")[:2000]

        return _VARIABLE.sub(put, text)[:8000] if "$" in text else text

    def _expanded(self, words: Iterable[Word]) -> list[Word]:
        """Put variables in; a word that had only an unknown variable in it stays, marked by a dollar."""
        found: list[Word] = []
        for text, line in words:
            if _ENDS.match(text):
                found.append((text, line))
                continue
            quoted = text[:1] in "\"'"
            literal = _unquoted(text)
            value = literal if text[:1] == "'" else self._expand(literal)
            if "$" in literal and not value.strip():
                name = _VARIABLE.search(literal)
                known = name is not None and (name.group(1) or name.group(3)) in self.variables
                found.extend([] if known else [("$", line)])
            elif quoted or "$" not in literal:
                found.append((value, line))
            else:
                found.extend((w, line) for w in value.split())
        return found

    def options(self, words: list[Word]) -> None:
        """Take the options of a recorded argument list."""
        self._options(words, from_command=True)

    def _options(self, words: list[Word], from_command: bool) -> None:
        at = 0
        while at < len(words):
            text, line = words[at]
            at += 1
            if _ENDS.match(text):
                if set(text) <= set("<>"):
                    at += 1
                    continue
                return
            option = _OPTION.match(text)
            if option is None:
                override = _OVERRIDE.match(text) if from_command else None
                if override and "://" not in text:
                    self._add(override.group(1), value_of(override.group(2)), line)
                continue
            if option.group(2) is not None:
                starts = not option.group(2) and text.startswith(_STARTS_FROM)
                self._add(option.group(1), _UNNAMED if starts else value_of(option.group(2)), line)
                continue
            values: list[str] = []
            while at < len(words) and _is_value(words[at][0], values):
                values.append(words[at][0])
                at += 1
            if values == ["$"] and text == _STARTS_FROM:
                self._add(text, _UNNAMED, line)
            if text in _LAUNCHER_FLAGS or "$" in values:
                continue
            read = [value_of(v) for v in values]
            scalars = tuple(v for v in read if not isinstance(v, tuple))
            self._add(text, True if not read else read[0] if len(read) == 1 else scalars, line)

    def _add(self, option: str, value: Scalar | tuple[Scalar, ...], line: int) -> None:
        key = option.lstrip("-").replace("-", "_")[:200]
        if secret_key(key):
            value = "***"
        self.settings.append(Setting(key, clean(key, value), self.path, line, 60))


def _rounds(head: str) -> int:
    """How often `for i in $(seq 0 7)`, `{0..7}`, `0 1 2 3` or `((i=0; i<8; i++))` goes round; else 0."""
    if counting := _COUNTING.match(head.replace(" ", "")):
        return int(counting.group(1))
    values = head.partition(" in ")[2].strip().rstrip("; ").strip()
    if counted := _COUNTED.search(values):
        first, last = counted.group(1) or counted.group(3), counted.group(2) or counted.group(4)
        if not last.isdigit():
            size = re.search(r"(\d+)\W*-\s*1\W*$", last)
            return int(size.group(1)) if size and first == "0" else 0
        start = int(first) if first is not None else 1
        return max(0, int(last) - start + 1)
    listed = values.split()
    return len(listed) if listed and all(v.isdigit() for v in listed) else 0


def _is_value(word: str, before: list[str]) -> bool:
    """One word is an option's value; more only while all are numbers (`--betas 0.9 0.95`)."""
    if _ENDS.match(word) or _OPTION.match(word):
        return False
    if not before:
        return True
    return _number(word) and all(map(_number, before))


def _number(word: str) -> bool:
    return bool(re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", word))


def _unquoted(word: str) -> str:
    return re.sub(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'', lambda m: m.group(1) or m.group(2) or "", word)
