"""msprobe's monitor: one row per parameter and step, one file per step, one folder per rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.events import ranks_diverge
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

SHARED = Path(__file__).resolve().parents[4] / "shared" / "samples" / "ascend" / "msprobe_monitor"
HEADER = "vpp_stage,name,step,min,max,mean,norm,nans,zeros,shape,dtype"
Rows = Mapping[str, Sequence[float]]


def monitor(root: Path, rows: Rows, *, rank: int = 0, zeros: float = 0.0, scale: float = 1.0) -> None:
    """Write gradients of 16 elements each, of these L2 norms by step, one file per step."""
    folder = root / f"Nov21_13-07-05-rank{rank}-95fef64f"
    folder.mkdir(parents=True)
    for step in range(max(map(len, rows.values()))):
        lines = [HEADER]
        for name, norms in rows.items():
            if step < len(norms):
                top = norms[step] / 3
                lines.append(
                    f'0,{name},{step},{-top},{top},0.0,{norms[step] * scale},0,{zeros},"[4, 4]",torch.float32'
                )
        (folder / f"grad_reduced_{step}-{step}.csv").write_text("\n".join(lines) + "\n")


def values(run: Run, name: str) -> list[tuple[float, float]]:
    series = run.series[name]
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def test_the_norm_is_the_root_of_the_summed_squares(tmp_path: Path) -> None:
    monitor(tmp_path, {"a.weight": [3.0, 6.0, 9.0], "a.bias": [4.0, 8.0, 12.0]})

    run = open_run(tmp_path)

    assert values(run, "grad_norm") == [(0.0, 5.0), (1.0, 10.0), (2.0, 15.0)]
    assert values(run, "grad_norm/a.bias") == [(0.0, 4.0), (1.0, 8.0), (2.0, 12.0)]
    assert run.series["grad_norm"].rank == 0
    assert run.info.framework == "pytorch"
    assert len(run.info.files_read) == 3
    assert any("root of the summed squares of the L2 norms of the 2 parameters" in n for n in run.info.notes)


def test_a_step_without_all_parameters_has_no_norm(tmp_path: Path) -> None:
    monitor(tmp_path, {"a.weight": [3.0, 6.0, 9.0], "a.bias": [4.0, 8.0]})

    run = open_run(tmp_path)

    assert values(run, "grad_norm") == [(0.0, 5.0), (1.0, 10.0)]
    assert any("1 of 3 steps lack some parameters" in n for n in run.info.notes)


@pytest.mark.parametrize("scale", [0.25, 4.0])  # the root mean square; the sum of 16 absolute values
def test_what_is_no_l2_norm_is_not_summed(tmp_path: Path, scale: float) -> None:
    monitor(tmp_path, {"a.weight": [3.0, 6.0, 9.0], "a.bias": [4.0, 8.0, 12.0]}, scale=scale)

    run = open_run(tmp_path)

    assert "grad_norm" not in run.series
    assert any("no L2 norm" in n for n in run.info.notes)


def test_a_rounded_zero_is_not_taken_for_zero(tmp_path: Path) -> None:
    monitor(tmp_path / "small", {"a.weight": [3.0, 6.0], "a.bias": [0.0, 0.0]}, zeros=0.1)
    monitor(tmp_path / "zero", {"a.weight": [3.0, 6.0], "a.bias": [0.0, 0.0]}, zeros=1.0)

    assert "grad_norm/a.bias" not in open_run(tmp_path / "small").series
    assert values(open_run(tmp_path / "small"), "grad_norm") == [(0.0, 3.0), (1.0, 6.0)]
    assert values(open_run(tmp_path / "zero"), "grad_norm/a.bias") == [(0.0, 0.0), (1.0, 0.0)]


def test_nan_is_a_value_and_a_placeholder_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "Nov21_13-07-05-rank0-95fef64f"
    monitor(tmp_path, {"a.weight": [3.0]})
    (folder / "grad_reduced_1-1.csv").write_text(
        f'{HEADER}\n0,a.weight,1,nan,nan,nan,nan,16,0.0,"[4, 4]",torch.float32\n'
        "0,b.weight,1,nan,nan,nan,nan,nan,nan,nan,nan\n"
    )

    found = open_run(tmp_path).series["grad_norm"].values

    assert found[0] == 3.0
    assert math.isnan(found[1])


def test_ranks_are_ranks_and_need_not_agree(tmp_path: Path) -> None:
    """Where the model is shared out, each rank has the norm of its part."""
    monitor(tmp_path, {"a.weight": [3.0] * 8}, rank=0)
    monitor(tmp_path, {"a.weight": [4.0] * 8}, rank=1)

    run = open_run(tmp_path)

    assert sorted(run.ranks) == [0, 1]
    assert run.ranks[1]["grad_norm"].values.tolist() == [4.0] * 8
    assert run.info.context["world_size"] == 2
    assert ranks_diverge(View(run), relative=0.01).state.name == "UNKNOWN"


def test_the_norm_that_the_training_logs_comes_first(tmp_path: Path) -> None:
    """The monitor's folder belongs to the run whose log lies above it, whatever the folder is called."""
    monitor(tmp_path / "mon", {"a.weight": [3.0] * 9})
    rows = [f"{step},{1 / step},{step / 10}" for step in range(1, 7)]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,loss,grad_norm", *rows]) + "\n")

    run = open_run(tmp_path)

    assert not run.others
    assert run.series["grad_norm"].values.tolist() == [pytest.approx(s / 10) for s in range(1, 7)]
    assert "grad_norm/a.weight" in run.series


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_the_samples() -> None:
    healthy, spike = (open_run(SHARED / name).series["grad_norm"] for name in ("healthy", "spike"))

    assert healthy.steps.tolist() == [float(s) for s in range(8)]
    assert np.all(np.isfinite(healthy.values))
    assert np.flatnonzero(~np.isfinite(spike.values)).tolist() == [6, 7]
    assert spike.values[5] == pytest.approx(math.hypot(15.50290759, 0.07838014, 23.66378832, 0.15463235))
