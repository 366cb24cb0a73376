"""Logs that begin after the loss scale has moved, as people paste them: what came before is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.curves import numerics, scaler
from traindoctor.probes.registry import View

ROW = (
    "| epoch 027 | loss 6.343 | ppl 31.65 | num_updates 10198 | lr 0.0006 | gnorm 0.390 | loss_scale 0.500\n"
)
FALL = "".join(f"| WARNING: overflow detected, setting loss scale to: {2.0**-i}\n" for i in range(2, 14))


def excerpt(tmp_path: Path, text: str) -> View:
    (tmp_path / "log.txt").write_text(text)
    return View(open_run(tmp_path), None)


def test_a_fall_that_began_before_the_log(tmp_path: Path) -> None:
    view = excerpt(tmp_path, ROW + FALL)

    assert scaler.loss_scale_collapses(view).state == "present"
    assert scaler.loss_scale_below(view, limit=1.0).state == "present"
    assert scaler.loss_scale_tiny(view, limit=1.0).state == "unknown"
    assert scaler.loss_scale_at_floor(view, share=0.1, floor=1.0).state == "unknown"
    assert scaler.every_step_overflows(view, run_length=8).state == "present"


def test_a_scale_that_is_tiny_from_the_first_step_on(tmp_path: Path) -> None:
    rows = "".join(f"step {i} loss {3 - i / 100} loss_scale {0.25 / 2 ** (i // 20)}\n" for i in range(1, 80))
    view = excerpt(tmp_path, rows)

    assert scaler.loss_scale_tiny(view, limit=1.0).state == "present"


@pytest.mark.parametrize(("after", "state"), [("", "present"), (ROW.replace("10198", "10300"), "absent")])
def test_overflows_below_the_last_row(tmp_path: Path, after: str, state: str) -> None:
    """Training that goes on after them got over them."""
    view = excerpt(tmp_path, ROW + FALL + after)
    assert scaler.every_step_overflows(view, run_length=8).state == state


def test_one_number_says_little_of_a_run(tmp_path: Path) -> None:
    assert numerics.loss_not_finite(excerpt(tmp_path, "step 5 loss 2.0\n")).state == "unknown"


def test_three_numbers_are_read(tmp_path: Path) -> None:
    text = "".join(f"step {i} loss 2.0\n" for i in range(3))
    assert numerics.loss_not_finite(excerpt(tmp_path, text)).state == "absent"


def test_a_scale_above_where_scalers_begin_is_on_its_way_down(tmp_path: Path) -> None:
    """From 2^32 a scale falls for long before it has found its level."""
    rows = [
        f"step {i} loss {2 - i / 100:.3f} loss_scale {2.0 ** (24 - max(0, i - 40) // 8)}"
        for i in range(1, 92)
    ]
    view = excerpt(tmp_path, "\n".join(rows) + "\n")

    assert scaler.loss_scale_collapses(view).state == "absent"
