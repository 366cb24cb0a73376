"""Count false alarms over right programs put together of idioms.

Usage: python faultlab/idioms/score.py [--programs N] [--seed N] [--only BOOK] [--hand HAND] [--show]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from faultlab.idioms import books  # noqa: E402
from faultlab.idioms.hands import HANDS, rewritten  # noqa: E402
from traindoctor.cli.script_work import report  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402
from traindoctor.engine.model import RuleBase  # noqa: E402
from traindoctor.probes.scripts import files  # noqa: E402
from traindoctor.reports.script_report import ScriptReport  # noqa: E402

ALARM = 0.5


def judged(rules: RuleBase, text: str, folder: Path) -> ScriptReport:
    """What is said of a program, alone."""
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return report(rules, files.read(path), path.name)


def claimed(rules: RuleBase, text: str, folder: Path) -> list[tuple[str, float]]:
    """The causes that a program is given at ALARM and more."""
    found = judged(rules, text, folder)
    return [(cause, round(p, 2)) for cause, _, p in found.ranking if p >= ALARM]


def main() -> None:
    """Print for each book how many of its programs are given a cause."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=60, help="of each book")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--hand", choices=HANDS, help="who writes the programs")
    parser.add_argument("--show", action="store_true", help="each program that is given a cause")
    asked = parser.parse_args()
    rules, folder = load_rules(), Path(tempfile.mkdtemp())
    for book in books():
        if asked.only not in book.name:
            continue
        named = count = 0
        for choice, text in islice(book.drawn(asked.seed), asked.programs):
            if asked.hand and (text := rewritten(text, asked.hand) or "") == "":
                continue
            count += 1
            if causes := claimed(rules, text, folder):
                named += 1
                if asked.show:
                    print(f"{book.name} {choice}: {causes}")
        print(f"{book.name}: {named} of {count} programs are given a cause")


if __name__ == "__main__":
    main()
