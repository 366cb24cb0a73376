"""The line that tells how far reading is: on a terminal only, and a bar only where there is much to read."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from traindoctor.cli import progress

DIAGNOSE = "import sys; from traindoctor.cli import main; sys.exit(main())"


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Put a terminal in the place of stderr."""
    for name in ("CI", "TERM"):
        monkeypatch.delenv(name, raising=False)
    shown = Screen()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [
        (5.0, 10.0, ""),
        (0.0, 1e9, "[........................]   0%  "),
        (5e8, 1e9, "[############............]  50%  "),
        (2e9, 1e9, "[########################] 100%  "),
    ],
)
def test_bar(done: float, total: float, expected: str) -> None:
    """Small inputs have none; it never runs over."""
    assert progress.bar(done, total) == expected


def test_states_are_shown_now_and_then_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten states a second are enough; in the end the line is empty; names are made harmless."""
    seen = screen(monkeypatch)
    with progress.progressing(quiet=False) as shown:
        assert shown is not None
        monkeypatch.setattr(progress, "PAUSE", 1000.0)
        shown.shown = float("-inf")
        shown("a.log", 5e8, 1e9)
        shown("b.log", 6e8, 1e9)
        monkeypatch.setattr(progress, "PAUSE", 0.0)
        shown("c\x1b[2J.log", 7.5e8, 1e9)

    first, third, wiped = seen.getvalue().split("\r\x1b[K")[1:]
    assert first == "reading [############............]  50%  a.log"
    assert third.startswith("reading [##################......]  75%  c") and "\x1b" not in third
    assert wiped == ""


@pytest.mark.parametrize("name", ["CI", "TERM"])
def test_silence_where_nobody_looks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """In CI, on a dumb terminal, into a pipe and with --quiet there is none."""
    seen = screen(monkeypatch)
    assert progress.watched(quiet=False) and not progress.watched(quiet=True)
    with monkeypatch.context() as patched:
        patched.setenv(name, "dumb")
        with progress.progressing(quiet=False) as shown:
            assert shown is None
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progressing(quiet=False) as shown:
        assert shown is None
    assert seen.getvalue() == ""


def test_a_large_log_on_a_real_terminal(tmp_path: Path) -> None:
    """A bar moves while one large file is read; stdout holds none of it."""
    pty = pytest.importorskip("pty")
    line = "2024-05-01 10:00:00 INFO step {0} | loss {1:.4f} | lr 1.0e-03 | grad norm 1.5 | 812 ms/it\n"
    (tmp_path / "train.log").write_text("".join(line.format(k, 0.4 + 2 / k) for k in range(1, 220_000)))
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("CI", "TERM", "COLUMNS")} | {"COLUMNS": "100"}
    command = [sys.executable, "-c", DIAGNOSE, str(tmp_path)]
    done = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    out, _ = done.communicate(timeout=120)

    assert done.returncode == 0
    assert seen.count(b"reading [") >= 2 and b"train.log" in seen
    assert seen.endswith(b"\r\x1b[K")
    assert b"reading [" not in out
