"""Count how often known mistakes are told in programs put together of idioms.

Usage: python faultlab/idioms/faulty.py [--programs N] [--seed N] [--only BOOK]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from faultlab.idioms.composed import Fault, Kit  # noqa: E402
from faultlab.idioms.kits import FAULTS  # noqa: E402
from faultlab.idioms.score import claimed  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402

DRAWN = 300  # programs among which one is looked for that a mistake fits into


def faulty(kit: Kit, fault: Fault, seed: int) -> Iterator[str]:
    """Programs of a book with one mistake in them."""
    for _, text in islice(kit.book.drawn(seed), DRAWN):
        if (changed := fault.made(text)) is not None:
            yield changed


def main() -> None:
    """Print for each mistake how often its cause comes first, and within three, at ALARM and more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=3, help="of each mistake")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    rules, folder = load_rules(), Path(tempfile.mkdtemp())
    total: Counter[str] = Counter()
    for kit, faults in FAULTS.items():
        if asked.only not in kit.name:
            continue
        for fault in faults:
            told: Counter[str] = Counter()
            for text in islice(faulty(kit, fault, asked.seed), asked.programs):
                found = [cause for cause, _ in claimed(rules, text, folder)[:3]]
                told.update(programs=1, first=found[:1] != [] and found[0] in fault.causes)
                told.update(three=any(c in fault.causes for c in found))
            total += told
            if told["three"] < told["programs"]:
                print(f"{kit.name}: {fault.name}: {told['three']} of {told['programs']}")
    print(f"first {total['first']}, within three {total['three']} of {total['programs']}")


if __name__ == "__main__":
    main()
