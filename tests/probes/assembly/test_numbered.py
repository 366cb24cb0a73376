"""Files of one evaluation each become curves by the number in their names; folds and seeds do not."""

import json
import math
from pathlib import Path

from traindoctor.probes.assembly.assemble import open_run


def written(tmp_path: Path, name: str, count: int, first: int = 0) -> Path:
    for at in range(first, first + count):
        figures = {
            "training_loss": 2 / (at + 1),
            "validation_accuracy": 0.5 + 0.04 * at,
            "best_validation_loss": 0.1,
        }
        (tmp_path / name.format(at)).write_text(json.dumps(figures))
    return tmp_path


def test_a_file_to_each_epoch(tmp_path: Path) -> None:
    """AllenNLP writes the metrics of each epoch to a file of its own; the best so far are no curve."""
    run = open_run(written(tmp_path, "metrics_epoch_{}.json", 6))

    assert run.series["train/loss"].steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert run.series["train/loss"].unit == "epoch"
    assert run.series["eval/accuracy"].values[-1] == 0.7
    assert not any("best" in s.raw for s in run.all_series)


def test_numbers_in_the_order_of_their_steps(tmp_path: Path) -> None:
    """Step 1000 comes after step 200."""
    for step, loss in ((200, 3.0), (1000, 1.0), (600, 2.0)):
        (tmp_path / f"eval_results_step_{step}.json").write_text(json.dumps({"eval_loss": loss}))

    assert open_run(tmp_path).series["eval/loss"].values.tolist() == [3.0, 2.0, 1.0]


def test_folds_are_no_epochs(tmp_path: Path) -> None:
    """Results of folds, seeds and a pair of files stay results."""
    (tmp_path / "log.csv").write_text("epoch,loss\n" + "".join(f"{e},{1 / (e + 1)}\n" for e in range(9)))
    written(tmp_path, "metrics_fold_{}.json", 5)
    written(tmp_path, "metrics_seed{}.json", 5)
    written(tmp_path, "metrics_epoch_{}.json", 2)

    assert "eval/accuracy" not in open_run(tmp_path).series


LINE = (
    "LOG (nnet3-compute-prob[5.5.1~1-71f3]:PrintTotalStats():nnet-diagnostics.cc:{}) Overall {} for 'output'"
    " is {} per frame, over 4000 frames.\n"
)


def test_kaldi_writes_a_log_to_each_iteration(tmp_path: Path) -> None:
    """The log-likelihood of a frame is a loss turned round, the file tells the iteration and the side."""
    for at in range(12):
        for side, off in (("valid", 0.1), ("train", 0.0)):
            text = LINE.format(165, "log-likelihood", -4 / (at + 1) - off) + LINE.format(
                186, "accuracy", at / 20
            )
            (tmp_path / f"compute_prob_{side}.{at}.log").write_text(text)
    run = open_run(tmp_path)

    assert run.series["eval/loss"].values[0] == 4.1
    assert run.series["train/loss"].values[-1] < run.series["eval/loss"].values[-1] < 1
    assert run.series["eval/accuracy"].steps.tolist() == list(range(12))


def test_a_summed_loss_beside_its_perplexity(tmp_path: Path) -> None:
    """A loss over all tokens of the set is brought to that of one where the perplexity tells it."""
    rows = [(1000 * i, 40 / i) for i in range(1, 9)]
    for name, tokens in (("summed", 21000), ("mean", 1)):
        (tmp_path / name).mkdir()
        text = "".join(
            f"step {s} valid loss: {math.log(p) * tokens:.4f} valid ppl: {p:.5f}\n" for s, p in rows
        )
        (tmp_path / name / "train.log").write_text(text)
        found = open_run(tmp_path / name).series["eval/loss"].values
        assert abs(found[0] - math.log(40)) < 1e-3
