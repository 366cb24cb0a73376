"""Count the faults that are told in programs of the books, one written in at a time by faultlab/mutation.

Usage: python faultlab/idioms/mutants.py [--most N] [--only BOOK] [--operators A,B] [--hand HAND] [--show DIR]

Each operator is tried in at most N programs of a book, at one of the places where it fits, and the script
is judged alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from faultlab.idioms import Book, Choice, books  # noqa: E402
from faultlab.idioms.hands import HANDS, rewritten  # noqa: E402
from faultlab.idioms.score import judged  # noqa: E402
from faultlab.mutants import OPERATORS  # noqa: E402
from faultlab.mutation.code import Code, Operator  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402


def mutants(book: Book, operator: Operator, most: int, seed: int) -> Iterator[tuple[Choice, int, str]]:
    """Choices, the line of the fault, and the faulty program."""
    draw = random.Random(f"{book.name} {operator.name} {seed}")
    left = most
    for choice, text in islice(book.drawn(draw.randrange(1 << 30)), 30):
        code = Code(text)
        sites = list(operator.sites(code))
        if not sites:
            continue
        site = draw.choice(sites)
        try:
            faulty = code.edited(site)
        except (ValueError, SyntaxError):
            continue
        yield choice, code.line(min(site, key=lambda e: e.start)), faulty
        left -= 1
        if not left:
            return


def main() -> None:
    """Print for each operator its mutants, and how many have the right cause first and another at ALARM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=2, help="mutants of an operator in each book")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--hand", choices=HANDS, help="who writes the programs")
    parser.add_argument("--operators", default="")
    parser.add_argument("--show", type=Path, help="a folder for those that are not told rightly")
    asked = parser.parse_args()
    rules, folder = load_rules(), Path(tempfile.mkdtemp())
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    wanted = asked.operators.split(",") if asked.operators else list(OPERATORS)
    for book in books():
        if asked.only not in book.name:
            continue
        for name in wanted:
            operator = OPERATORS[name]
            if operator.pair_only:
                continue
            for choice, line, text in mutants(book, operator, asked.most, asked.seed):
                if asked.hand and (text := rewritten(text, asked.hand) or "") == "":
                    continue
                told = judged(rules, text, folder)
                right = {operator.cause, *operator.also}
                first = bool(told.ranking) and told.ranking[0][0] in right
                other = not first and bool(told.ranking) and told.ranking[0][2] >= 0.5
                row = counts[name]
                row[0] += 1
                row[1] += first
                row[2] += other
                if asked.show and not first:
                    asked.show.mkdir(exist_ok=True)
                    head = " ".join(f"{c} {p:.2f}" for c, _, p in told.ranking[:2])
                    kept = asked.show / f"{name}.{book.name}.{'-'.join(map(str, choice))}.py"
                    kept.write_text(text)
                    print(f"{kept.name}:{line}: {operator.cause}: {head or 'nothing'}", flush=True)
    for name, (n, first, other) in sorted(counts.items()):
        print(f"{name:40s} {n:4d} {first:4d} {other:4d}")
    n, first, other = (sum(c[i] for c in counts.values()) for i in range(3))
    print(f"{'all':40s} {n:4d} {first:4d} {other:4d}")


if __name__ == "__main__":
    main()
