"""Scripts that somebody named, or that lie in a folder, without the rest of a run: what is to be judged.

Nothing is executed. One file brings the modules of its own project that it imports, a configuration in Python
its bases; of a folder every Python file and notebook is read. Sizes and counts are bounded, and what is left
out is said.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..assembly.assemble import assembled
from ..files import RunFile, RunUnreadable, walk
from ..readers import _python_config, notebook, script
from ..readers.script import imports
from ..run import FileContent, Run
from . import configs as script_configs
from . import project
from .syntax import Script

MAX_SCRIPTS = 2_000  # files of a folder
MAX_MODULES = 40  # that one script brings with it, the nearest first
MAX_TEXT = project.MAX_TOTAL  # characters in all
MAX_PROGRAMS = 300  # that are judged one by one
MAX_NAMED = 8  # folders above a script that are looked at for a package that it imports from
MAX_UP = 3  # folders above a script that are looked at for the top of its project
_TOPS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_SUFFIXES = (".py", notebook.SUFFIX)


@dataclass(frozen=True, eq=False)
class Program:
    """One training program, or configuration written in Python: its entry file and what it was read from."""

    entry: str
    run: Run  # holds nothing but these scripts and what they fix
    trains: bool


@dataclass(frozen=True, eq=False)
class Scripts:
    """Everything that was read at a path, whole (`run`) and program by program."""

    run: Run
    programs: tuple[Program, ...]
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of each file or cell

    def quote(self, file: str, line: int, most: int = 4) -> tuple[str, ...]:
        """The statement that begins at a line, at most `most` lines of it, without secrets."""
        from ..readers._secrets import redact

        below = self.lines.get(file, ())[line - 1 : line - 1 + most]
        end = next((n for n in range(1, len(below) + 1) if _closed(below[:n])), 1)
        return tuple(redact("", text) for text in below[:end])


def read(path: Path) -> Scripts:
    """Read the scripts at `path`: a file, or a folder.

    Raises RunUnreadable with one sentence where there is no training script that can be read.
    """
    try:
        folder = path.is_dir()
    except OSError as error:
        raise RunUnreadable(f"{path}: {error.strerror or 'cannot be read'}") from error
    contents, not_read, notes, root = _folder(path) if folder else _file(path)
    disk = _OnDisk(root)
    configs = script_configs.of_scripts(contents, disk, notes)
    every = {**contents, **{p: c for mine in configs.values() for p, c in mine.items()}}
    run = assembled(root, every, not_read, notes)
    judged = tuple(_programs(run, root, contents, configs, None if folder else next(iter(contents))))
    if not judged:
        raise RunUnreadable(_nothing(path, contents, not_read, folder))
    if len(judged) > MAX_PROGRAMS:
        notes.append(f"{len(judged)} programs; the first {MAX_PROGRAMS} are looked at one by one")
        run = assembled(root, every, not_read, notes)
    lines = dict(_lines(contents)) | {p: disk.lines(p) for p in every if p not in contents}
    return Scripts(run, judged[:MAX_PROGRAMS], lines)


def beside(path: Path) -> tuple[dict[str, FileContent], list[str]]:
    """What scripts that were named beside a run say, by path, and notes.

    Raises RunUnreadable with one sentence where there is none that can be read.
    """
    contents, not_read, notes, _ = _folder(path) if path.is_dir() else _file(path)
    if not contents:
        raise RunUnreadable(_nothing(path, contents, not_read, path.is_dir()))
    notes += [f"{file}: {why}" for file, why in not_read]
    return contents, notes


# ---------------------------------------------------------------------------------------------- reading


_Found = tuple[dict[str, FileContent], tuple[tuple[str, str], ...], list[str], Path]


def _folder(path: Path) -> _Found:
    files, notes = walk(path)
    files = [f for f in files if f.suffix in _SUFFIXES and f.size]
    if len(files) > MAX_SCRIPTS:
        notes.append(f"{len(files)} scripts; only the first {MAX_SCRIPTS} are looked at")
    contents: dict[str, FileContent] = {}
    refused: list[tuple[str, str]] = []
    left = MAX_TEXT
    for file in files[:MAX_SCRIPTS]:
        if left <= 0:
            notes.append(
                f"only the first {len(contents)} scripts are looked at: {MAX_TEXT // 1024**2} MiB of code"
            )
            break
        content = _content(file, refused)
        if content is not None and content.script:
            contents[file.path] = content
            left -= len(content.script)
            notes += [f"{file.path}: {n}" for n in content.notes]
    return contents, tuple(refused), notes, path


def _file(path: Path) -> _Found:
    """One script with the modules of its project that it imports; its own content comes first."""
    path.stat()  # a missing file is told by the name that it was given, not by where its links lead
    given = walk(Path(os.path.realpath(path)))[0][0]
    if given.size == 0:
        raise RunUnreadable(f"{path}: the file is empty")
    root = _top(given.root.absolute(), _modules(given))
    shift = given.root.absolute().relative_to(root).as_posix()
    name = given.path if shift == "." else f"{shift}/{given.path}"
    refused: list[tuple[str, str]] = []
    notes: list[str] = []
    disk = _OnDisk(root)
    contents: dict[str, FileContent] = {}
    left = project.MAX_PROGRAM
    waiting = [name]
    while waiting:
        file = waiting.pop(0)
        if file in contents:
            continue
        found = disk.file(file)
        content = _content(found, refused) if found is not None else None
        if content is None or not content.script:
            continue
        left -= len(content.script)
        if contents and (left < 0 or len(contents) > MAX_MODULES):
            notes.append(
                f"of the modules that {name} imports only the first {len(contents) - 1} are looked at"
            )
            break
        contents[file] = content
        notes += [f"{file}: {n}" for n in content.notes]
        tree = script.parsed(content.script)
        waiting += [*project.needed(file, content.script, disk), *_bases(file, tree)]
    if name not in contents:
        raise RunUnreadable(f"{path}: {refused[0][1] if refused else 'cannot be read'}")
    return contents, tuple(refused), notes, root


def _content(file: RunFile, refused: list[tuple[str, str]]) -> FileContent | None:
    try:
        return _as_script(file)
    except (ValueError, RecursionError) as error:
        refused.append((file.path, str(error)[:160] or type(error).__name__))
    except OSError as error:
        refused.append((file.path, error.strerror or "cannot be read"))
    return None


def _as_script(file: RunFile) -> FileContent:
    """What the script reader makes of a file. Raises ValueError, OSError with one sentence."""
    if (
        file.suffix != notebook.SUFFIX
        and b"\0" in file.head
        and not file.head.startswith((b"\xff\xfe", b"\xfe\xff"))
    ):
        raise ValueError("binary, no Python source")
    try:
        return script.read(file)
    except RecursionError as error:
        raise ValueError("nested too deeply to be read") from error


def _modules(given: RunFile) -> list[tuple[str, ...]]:
    """The modules that a script imports by their whole names, in parts: `from data.rows import read`."""
    content = _content(given, [])
    found = imports(content.script) if content is not None and content.script else ()
    return [tuple(one.module.split(".")) for one in found if one.module and not one.level]


def _is_there(base: Path, module: Sequence[str]) -> bool:
    """Whether a module, or a package, lies below a folder."""
    path = base.joinpath(*module)
    return len(module) > 1 and (path.is_dir() or path.with_suffix(".py").is_file())


def _top(folder: Path, modules: Sequence[tuple[str, ...]] = ()) -> Path:
    """The folder that a script's project imports from: the nearest above that looks like one, or its own.

    A script that imports from a package by the name of a folder that it lies in is of that package, with
    `__init__.py` or without.
    """
    above = folder
    while above.parent != above and any((f / "__init__.py").is_file() for f in (above, above.parent)):
        above = above.parent  # a folder of a package needs no __init__.py of its own
    home = Path("~").expanduser()
    for held in (folder, *list(folder.parents)[:MAX_NAMED]):
        if any(m[0] == held.name and _is_there(held.parent, m) for m in modules) and held.parent != home:
            above = held.parent if above.is_relative_to(held) else above
    for candidate in (above, *list(above.parents)[:MAX_UP]):
        if candidate in (home, candidate.parent):
            break
        if any((candidate / name).exists() for name in _TOPS):
            return candidate
    return above


class _OnDisk(Mapping[str, object]):
    """The files below a folder by path, each looked up when it is asked for; no link leads out."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.seen: dict[str, RunFile | None] = {}

    def file(self, path: str) -> RunFile | None:
        """The regular file at a path below the root."""
        if path not in self.seen:
            self.seen[path] = self._file(path)
        return self.seen[path]

    def _file(self, path: str) -> RunFile | None:
        at = self.root / path
        if not os.path.lexists(at):  # nearly always: quicker than to follow every folder on the way
            return None
        real = os.path.realpath(at)
        if not real.startswith(str(self.root).rstrip(os.sep) + os.sep) or not Path(real).is_file():
            return None
        info = Path(real).stat()
        return RunFile(self.root, path, info.st_size, info.st_mtime)

    def inside(self, folder: str) -> list[str]:
        """The names in a folder below the root, sorted."""
        try:
            return sorted(at.name for at in (self.root / folder).iterdir())
        except OSError:
            return []

    def lines(self, path: str) -> tuple[str, ...]:
        """The lines of a file of text."""
        found = self.file(path)
        try:
            return tuple(found.read_text().splitlines()) if found is not None else ()
        except OSError:
            return ()

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.file(path) is not None

    def __getitem__(self, path: str) -> object:
        found = self.file(path)
        if found is None:
            raise KeyError(path)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _bases(path: str, tree: ast.Module) -> Iterator[str]:
    """The files that a configuration in Python builds on: `_base_ = ["../_base_/schedule.py"]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_base_":
            for part in ast.walk(node.value):
                if (
                    isinstance(part, ast.Constant)
                    and isinstance(part.value, str)
                    and part.value.endswith(".py")
                ):
                    folder = path.rsplit("/", 1)[0] if "/" in path else ""
                    yield os.path.normpath(f"{folder}/{part.value}" if folder else part.value).replace(
                        os.sep, "/"
                    )


# --------------------------------------------------------------------------------------------- programs


def _programs(
    whole: Run,
    root: Path,
    contents: Mapping[str, FileContent],
    configs: Mapping[str, Mapping[str, FileContent]],
    only: str | None,
) -> Iterator[Program]:
    """What is judged by itself: each program that trains, or else any; configurations that none imports."""
    texts = {path: c.script or "" for path, c in contents.items()}
    framed = project.programs(texts)
    found = sorted(framed or project.unframed_programs(texts), key=lambda s: (not s.trains, s.path))
    if only is not None:
        found = [s for s in found if only in _files(s)] or found
    seen = {path for s in found for path in _files(s)}
    if any(s.trains for s in found):
        found = [s for s in found if s.trains]
    for one in found:
        mine = {path: contents[path] for path in _files(one)}
        alone = len(mine) == len(contents)
        mine |= {p: c for path in _files(one) for p, c in configs.get(path, {}).items()}
        yield Program(one.path, whole if alone else assembled(root, mine, (), []), one.trains or not framed)
    for path, content in contents.items():
        if path not in seen and content.settings and _is_config(path, content):
            if only is None or path == only:
                chosen = contents if only is not None else {path: content}
                yield Program(path, assembled(root, chosen, (), []), False)


def _files(program: Script) -> list[str]:
    return [path for _, path in program.pieces] or [program.path]


def _is_config(path: str, content: FileContent) -> bool:
    return content.script is not None and _python_config.is_config(script.parse(content.script), path)


def _lines(contents: Mapping[str, FileContent]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for path, content in contents.items():
        lines = Script(path, content.script or "", ast.Module([], [])).lines
        yield path, lines
        if path.endswith(notebook.SUFFIX):
            heads = [n for n in range(1, len(lines) + 1) if notebook.cell_at(lines, n)[1] == 0]
            for begin, end in zip(heads, [*(h - 1 for h in heads[1:]), len(lines)], strict=True):
                cell, _ = notebook.cell_at(lines, begin)
                yield notebook.label(path, cell), lines[begin:end]


def _closed(lines: Iterable[str]) -> bool:
    """Whether every bracket that is opened in these lines is closed; strings are taken as they come."""
    text = "\n".join(lines)
    return all(text.count(a) <= text.count(b) for a, b in ("()", "[]", "{}"))


def _nothing(
    path: Path,
    contents: Mapping[str, FileContent],
    not_read: tuple[tuple[str, str], ...],
    folder: bool,
) -> str:
    """Why there is nothing to judge, in one sentence."""
    known = ", ".join(dict.fromkeys(script.FRAMEWORKS_SAID))
    if not contents:
        if not not_read:
            return f"{path}: no Python file or notebook here"
        first = f"{not_read[0][0]}: {not_read[0][1]}"
        more = f" (and {len(not_read) - 1} more)" if len(not_read) > 1 else ""
        return f"{path}: no script that can be read: {first}{more}"
    what = f"none of the {len(contents)} scripts" if folder and len(contents) > 1 else "the script does not"
    s = "s" if what.startswith("none") else ""
    return f"{path}: no training script: {what} use{s} a training framework ({known}) or train{s} without one"
