"""Which files belong to one run."""

import pytest

from traindoctor.probes.layout import belongs, home, natural, rank


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train.log", ""),
        ("logs/train.log", ""),
        ("exp/logs/train/events.out.tfevents.1.host", "exp"),
        ("checkpoint-500/trainer_state.json", ""),
        ("runs/Dec01_10-00-00_node/events.out.tfevents.1.host", ""),
        ("lightning_logs/version_3/metrics.csv", "lightning_logs/version_3"),
        ("log/rank_2/info.log", ""),
        ("dvclive/plots/metrics/val/synth/loss.tsv", ""),
    ],
)
def test_home(path: str, expected: str) -> None:
    """Neutral folders at the end of the path do not make another run."""
    assert home(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("log/rank_3/info.log", 3),
        ("log.txt.rank1", 1),
        ("worker_12.log", 12),
        ("train.log", None),
        ("frank1.log", None),
    ],
)
def test_rank(path: str, expected: int | None) -> None:
    """Ranks are told from folder and file names."""
    assert rank(path) == expected


def test_configurations_belong_to_the_nearest_run() -> None:
    """A file at the top belongs to all runs, one in a run's folder to that run."""
    units = ["a", "b"]

    assert belongs("config.yaml", "a", units)
    assert belongs("a/config.yaml", "a", units)
    assert not belongs("b/config.yaml", "a", units)


def test_natural_order() -> None:
    """version_10 comes after version_9."""
    assert max(["version_9", "version_10"], key=natural) == "version_10"
