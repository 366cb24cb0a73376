"""Code as people paste it, made readable line by line: every line keeps its number.

What is not Python 3 as it stands is often Python 2, a transcript with prompts, a cell with shell lines, or a
snippet whose indentation suffered. Only text that does not parse is touched, and what was done is told.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence

_RUN = re.compile(r"^(\s*)%(?:time|timeit|prun|memit)\b(?:\s+-\w+(?:\s*\d+)?)*\s*")
_LINE = re.compile(r"^(\s*)(?:[%!?]|[\w.]+\?{1,2}\s*$)")
_ASSIGNED = re.compile(r"^(\s*[\w, .\[\]]+?=\s*)[%!].*$")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.|In ?\[\d*\]:)(?: |$)")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_DOTS = re.compile(r"^(\s*)(?:\.{2,}|…)\s*(?:#.*)?$")
_PRINT = re.compile(r"^(\s*|.*?:\s+|.*?;\s*)print(?:\s*>>\s*[\w.]+\s*,?|\s+|(?=[\"']))(.*)$")
_EXCEPT = re.compile(r"^(\s*except\s+[\w.()]+|\s*except\s*\([^)]*\))\s*,\s*(\w+)\s*:")
_RAISE = re.compile(r"^(\s*raise\s+[\w.]+)\s*,\s*(.+?)\s*$")
_LONG = re.compile(r"\b(\d+)L\b")
_TAB = 8  # columns, as Python 2 took a tab
_MOST = 128 * 1024  # characters: nobody pastes more, and every try parses all of it
_MOST_SHIFTS = 24  # lines whose indentation is mended; a text with more is no code that slipped in pasting


def readable(text: str) -> tuple[str, str]:
    """The text so that it parses, and what was mended in one sentence ("" where nothing had to be).

    Raises what `ast.parse` raises for the text as it was given where it cannot be made readable.
    """
    try:
        _check(text)
    except (RecursionError, MemoryError):
        raise
    except (SyntaxError, ValueError):
        if "\0" not in text and len(text) <= _MOST:
            for mended, done in _tries(text):
                if _parses(mended):
                    return mended, f"this is no Python 3 as it stands: {done} for reading it"
        raise
    return text, ""


def _tries(text: str) -> Iterator[tuple[str, str]]:
    """The text with more and more mended, and the words for all of it."""
    said: list[str] = []
    for mend, word in _MENDS:
        after = mend(text)
        if after != text:
            text = after
            said.append(word)
            yield text, " and ".join(said)


def _by_line(mend: Callable[[Sequence[str]], Iterator[str]]) -> Callable[[str], str]:
    return lambda text: "\n".join(mend(re.split(r"\r\n|\r|\n", text)))


def without_magics(lines: Sequence[str]) -> Iterator[str]:
    """Lines of a cell with magics (`%matplotlib`) and shell lines (`!pip`) blanked."""
    goes_on = False
    for line in lines:
        if goes_on:
            goes_on = line.rstrip().endswith("\\")
            yield ""
            continue
        run = _RUN.match(line)
        given = _ASSIGNED.match(line)
        found = _LINE.match(line)
        if run and run.end() < len(line):
            yield run.group(1) + line[run.end() :]
        elif given:
            yield f"{given.group(1)}None"
        elif found:
            goes_on = line.rstrip().endswith("\\")
            yield f"{found.group(1)}pass" if found.group(1) else ""
        else:
            yield line


def _unprompted(lines: Sequence[str]) -> Iterator[str]:
    """Without prompts; of a transcript what was printed is left out too."""
    asked = [bool(_PROMPT.match(line)) for line in lines]
    whole = sum(line.lstrip().startswith(">>>") for line in lines) > 1
    for line, prompt in zip(lines, asked, strict=True):
        if prompt and not _DOTS.match(line):
            yield _PROMPT.sub("", line, count=1)
        elif _FENCE.match(line) or whole:
            yield ""
        else:
            yield line


def _dots(lines: Sequence[str]) -> Iterator[str]:
    """What was left out (`....`) as `...`."""
    for line in lines:
        found = _DOTS.match(line)
        yield f"{found.group(1)}..." if found else line


def _python_3(lines: Sequence[str]) -> Iterator[str]:
    """Statements of Python 2 as those of Python 3."""
    open_ = 0  # brackets that a print statement has still open
    for given in lines:
        line = _LONG.sub(r"\1", given).replace(" <> ", " != ")
        line = _EXCEPT.sub(r"\1 as \2:", line)
        line = _RAISE.sub(r"\1(\2)", line)
        found = None if open_ else _PRINT.match(line)
        if found and "#" not in found.group(1) and not found.group(2).startswith(("=", ".")):
            code, comment = _apart(found.group(2))
            if not _balanced_call(line, found.group(2)):
                open_ = _depth(code)
                line = f"{found.group(1)}print({code}" + (")" if open_ <= 0 else "") + comment
        elif open_:
            code, comment = _apart(line)
            open_ += _depth(code)
            line = code + (")" if open_ <= 0 else "") + comment
        open_ = max(open_, 0)
        yield line


def _balanced_call(line: str, given: str) -> bool:
    """`print (x)`: as good as Python 3."""
    code, _ = _apart(given)
    return bool(re.search(r"print\s+\(", line)) and code.endswith(")") and _closes_last(code)


def _closes_last(code: str) -> bool:
    depth = 0
    for place, sign in enumerate(code):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            return place == len(code) - 1
    return False


def _apart(code: str) -> tuple[str, str]:
    """Code and the comment behind it, by quotes that are closed."""
    quote = ""
    for place, sign in enumerate(code):
        if quote:
            quote = "" if sign == quote and code[place - 1] != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            return code[:place].rstrip(), "  " + code[place:]
    return code.rstrip(), ""


def _depth(code: str) -> int:
    bare = re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", "", code)
    return sum(bare.count(s) for s in "([{") - sum(bare.count(s) for s in ")]}")


def _indented(text: str) -> str:
    """Blocks moved to where a block can stand: one that begins too deep, a line between two levels."""
    lines = [line.expandtabs(_TAB) for line in text.split("\n")]
    for _ in range(_MOST_SHIFTS):
        try:
            _check("\n".join(lines))
        except IndentationError as error:
            at = (error.lineno or 1) - 1
            if at >= len(lines) or "expected an indented block" in str(error.msg):
                break
            _shift(lines, at)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            break
        else:
            break
    return "\n".join(lines)


def _shift(lines: list[str], at: int) -> None:
    """Move line `at`, with what stands as deep below it, to the nearest level above it."""
    here = _indent(lines[at])
    levels = _levels(lines[:at])
    before = next((line for line in reversed(lines[:at]) if line.strip()), "")
    if before.rstrip().endswith(":"):
        return
    level = min((one for one in levels if one != here), key=lambda one: (abs(one - here), one), default=0)
    for number in range(at, len(lines)):
        line = lines[number]
        if line.strip() and _indent(line) < here:
            break
        if line.strip():
            lines[number] = " " * max(_indent(line) - here + level, 0) + line.lstrip()


def _levels(above: Sequence[str]) -> list[int]:
    """The levels of indentation that are open after these lines."""
    levels = [0]
    for line in above:
        if line.strip() and not line.lstrip().startswith("#"):
            here = _indent(line)
            levels = [one for one in levels if one < here] + [here]
    return levels


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


_MENDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (_by_line(without_magics), "lines for the shell were left out"),
    (_by_line(_unprompted), "prompts were taken off"),
    (_by_line(_dots), "dots for what was left out were kept as such"),
    (_by_line(_python_3), "Python 2 was taken as Python 3"),
    (_indented, "indentation was mended"),
)


def _check(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(text)


def _parses(text: str) -> bool:
    try:
        _check(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
