"""Write docs/checklists.md: for each item of each checklist a run that passes, fails or stays Not checked.

Usage: python tools/checklist_page.py. Needs the package and what tests need; takes about a minute.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.rules.test_checklist_cases import CASES, LISTS, checked, first, told, worked  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402
from traindoctor.engine.model import CheckedItem, Result  # noqa: E402
from traindoctor.reports.text import code, markdown  # noqa: E402

HEAD = """# Every result of every item

For each item of the three checklists a run that passes it, one that fails it and one that leaves it
Not checked, with the sentence that the command gives. `lab/` is [faultlab/runs](../faultlab), `examples/`
[examples](../examples), `built/` are small directories that `tests/rules/_checklist_runs.py` writes.
`tests/rules/test_checklist_cases.py` runs them all. Written by `tools/checklist_page.py`; do not edit.
"""


def cell(case: dict[str, Any], item: CheckedItem) -> str:
    """The run and the sentence."""
    beside = " without script" if case.get("logs") else ""
    return f"{code(case['run'], cell=True)}{beside}: {markdown(case['why'])}.<br>*{told(item)}*"


def main() -> None:
    """Diagnose all cases and write the page."""
    found = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            found.append(checked(worked(case, Path(scratch))))
    rules, lines = load_rules(), [HEAD]
    for name in LISTS:
        lines += [
            f"## {rules.heads[name].title}",
            "",
            "| item | result | run, and why |",
            "| --- | --- | --- |",
        ]
        for rule in rules.checklists[name]:
            for result in (Result.PASSED, Result.FAILED, Result.NOT_CHECKED):
                case = first(name, rule.id, str(result))
                here = found[next(n for n, c in enumerate(CASES) if c is case)]
                lines.append(
                    f"| {rule.id} {markdown(rule.title)} | {result} | {cell(case, here[name][rule.id])} |"
                )
        lines.append("")
    (ROOT / "docs" / "checklists.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
