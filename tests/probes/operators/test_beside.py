"""Runs that lie beside one another: which is the run, which its benchmark, which the one without fusion."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators import searched
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of

SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in probes_of(searched)]


def log(end: float) -> str:
    """A log whose loss comes down to `end`."""
    return "".join(f"step {s} loss {end + 3 / (s + 1):.4f}\n" for s in range(120))


def written(folder: Path, **files: str) -> Path:
    """Files by path, "__" for "/"."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".log")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("first", "second", "benchmarks"),
    [
        (
            "device=npu:0 seed=1 lr=0.1 epochs=3 optimizer=sgd",
            "device=cuda:0 seed=1 lr=0.1 epochs=3 optimizer=sgd",
            ["v2"],
        ),
        (
            "device=npu:0 seed=1 lr=0.1 epochs=3 optimizer=sgd",
            "device=npu:0 seed=1 lr=0.2 epochs=3 optimizer=sgd",
            [],
        ),
        ("hello", "device=cuda:0 seed=1 lr=0.1 epochs=3 optimizer=sgd", []),
    ],
)
def test_two_folders_whose_files_name_the_device(
    tmp_path: Path, first: str, second: str, benchmarks: list[str]
) -> None:
    """Names that say nothing: the device that the logs name tells run and benchmark."""
    made = open_run(written(tmp_path, v1__train=f"{first}\n{log(1)}", v2__train=f"{second}\n{log(1)}"))

    assert [b.info.path.rpartition("/")[2] for b in made.beside] == benchmarks


@pytest.mark.parametrize(
    ("names", "benchmarks"),
    [
        (("npu__train", "gpu__train"), ["gpu"]),
        (("npu_8p__train", "gpu_1__train", "gpu_2__train"), ["gpu_1", "gpu_2"]),
        (("train_npu", "train_gpu"), ["train_gpu.log"]),
        (("npu__train", "ablation__train"), []),  # one of neither side
        (("npu__train", "npu__eval"), []),
        (("a__gpu0", "a__gpu1"), []),
    ],
)
def test_sides_by_name(tmp_path: Path, names: tuple[str, ...], benchmarks: list[str]) -> None:
    """The run of the new device is looked at, those of the other are its benchmarks."""
    made = written(tmp_path, **{n: log(0.5 + k) for k, n in enumerate(names)})
    run = open_run(made)

    assert [b.info.path.removeprefix(f"{made}/") for b in run.beside] == benchmarks
    if benchmarks:
        assert run.series["train/loss"].values[-1] == pytest.approx(0.525)
        assert [b.series["train/loss"].file[:9] for b in run.beside] == [
            (b if "." in b else f"{b}/train")[:9] for b in benchmarks
        ]


@pytest.mark.parametrize(
    ("off", "states"),
    [(0.5, ("present", "present")), (0.97, ("present", "absent")), (1.0, ("absent", "absent"))],
)
def test_a_run_without_fusion_beside_it(tmp_path: Path, off: float, states: tuple[str, str]) -> None:
    """Better, far better, or no better without fusion."""
    run = open_run(written(tmp_path, fusion_on__a=log(1.0), fusion_off__a=log(off)))
    found = dict(readings(run, None, SYMPTOMS))

    assert run.unfused is not None and not run.beside
    assert (
        found["fusion-off-better"].state.value,
        found["fusion-off-far-better"].state.value,
    ) == states


@pytest.mark.parametrize(
    ("other", "state"),
    [("--lr 1e-4", "present"), ("--lr 2e-4", "unknown")],  # another rate: fusion is not all that differs
)
def test_a_benchmark_that_differs_in_fusion_alone(tmp_path: Path, other: str, state: str) -> None:
    """Flags of fused operators are all that two launch lines do not share."""
    args = "--num-layers 4 --hidden-size 64 --seq-length 32 --train-iters 120 --seed 1 --clip-grad 1.0 --bf16"
    for name, end, more in (("a", 1.0, "--lr 1e-4 --use-fused-rmsnorm"), ("b", 0.5, other)):
        written(tmp_path / name, train=log(end))
        (tmp_path / name / "run.sh").write_text(
            f"torchrun pretrain_gpt.py {args} --micro-batch-size 2 {more}\n"
        )
    found = dict(readings(open_run(tmp_path / "a"), open_run(tmp_path / "b"), SYMPTOMS))

    assert found["fusion-off-far-better"].state.value == state


def test_a_note_beside_both_is_no_third_run(tmp_path: Path) -> None:
    """A text with one figure tells nothing of which run lies there without fusion."""
    written(tmp_path, log__permute_fusion_on=log(1.0), log__permute_fusion_off=log(0.5))
    (tmp_path / "note.txt").write_text("A100 ref step 100: loss 0.5\n")

    assert open_run(tmp_path).unfused is not None
