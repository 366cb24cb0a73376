"""Logs and columns in other languages."""

from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.assembly import languages
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.assembly.names import canonical
from traindoctor.probes.readers._values import step_kind


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("Trainingsverlust", "train/loss"),
        ("Validierungs-Verlust", "eval/loss"),
        ("perte (entraînement)", "train/loss"),
        ("perte de validation", "eval/loss"),
        ("pérdida_val", "eval/loss"),
        ("perda (treino)", "train/loss"),
        ("потери на валидации", "eval/loss"),
        ("Точность", "train/accuracy"),
        ("検証損失", "eval/loss"),
        ("学習率", "learning_rate"),
        ("검증 손실", "eval/loss"),
        ("taux d’apprentissage", "learning_rate"),
    ],
)
def test_names_in_other_languages(raw: str, name: str) -> None:
    """A column or a key is known by its translation."""
    assert canonical(raw) == name


@pytest.mark.parametrize("raw", ["loss", "val_loss", "Test Loss", "expertenrunde", "pass", "training_loss"])
def test_english_stays_as_it_is(raw: str) -> None:
    """Words that are English, or only hold a foreign one, are not touched."""
    assert languages.name(raw) == raw


def test_counts_in_other_languages() -> None:
    """A column of epochs is an axis."""
    assert step_kind("Époque") == step_kind("Epoche") == step_kind("epoch")


@pytest.mark.parametrize(
    "line",
    [
        "Epoche {e} beendet: Trainingsverlust {a}, Validierungsverlust {b}, Genauigkeit {c} %",
        "Époque {e:02d} — perte (entraînement) : {a} — perte (validation) : {b} — précision : {c} %",
        "Época {e}: pérdida de entrenamiento {a}, pérdida de validación {b}, exactitud {c}%",
        "Época {e} | perda treino: {a} | perda validação: {b} | acurácia: {c}%",
        "Epoca {e} - perdita addestramento: {a} - perdita validazione: {b} - accuratezza: {c}%",
        "Эпоха {e}/9: потери на обучении={a}, потери на валидации={b}, точность={c}%",
        "エポック {e} 訓練損失 {a} 検証損失 {b} 正解率 {c}%",
        "에포크 {e} 훈련 손실: {a} 검증 손실: {b} 정확도: {c}%",
    ],
)
@pytest.mark.parametrize("comma", [False, True])
def test_logs_in_other_languages(tmp_path: Path, line: str, comma: bool) -> None:
    """Losses, accuracy and epochs are read, with decimal points and with decimal commas."""
    rows = []
    for e in range(1, 10):
        told = [f"{v:.4f}" for v in (2.3 / e, 2.5 / e, 99.0 - 60 / e)]
        a, b, c = [t.replace(".", ",") for t in told] if comma else told
        rows.append("2025-05-01 12:00:00,123 " + line.format(e=e, a=a, b=b, c=c))
    (tmp_path / "training.log").write_text("\n".join(rows) + "\n", encoding="utf-8")

    curves = open_run(tmp_path).series

    assert curves["train/loss"].values == pytest.approx([round(2.3 / e, 4) for e in range(1, 10)])
    assert curves["eval/loss"].values == pytest.approx([round(2.5 / e, 4) for e in range(1, 10)])
    accuracy = next(s for n, s in curves.items() if n.endswith("/accuracy"))
    assert accuracy.values[-1] == pytest.approx(0.92333, abs=1e-4)
    assert np.array_equal(curves["train/loss"].steps, np.arange(1, 10))


def test_one_foreign_word_in_an_english_log_changes_nothing() -> None:
    """A log has to name quantities with numbers, more than once."""
    assert not languages.speaks(b"step 1 loss 2.0 # perte is French for it\nstep 2 loss 1.0\n" * 50)
    assert not languages.speaks("█ 10/10 loss 2.0\n".encode() * 50)


def test_commas_that_are_no_decimal_commas() -> None:
    """Lists, thousands and the milliseconds of clocks stay."""
    assert not languages.with_commas(b"12:00:00,123 step 1,200 loss 0.5 shape (0,1)\n" * 20)
    assert not languages.with_commas(b"loss 0,512 lr 0,001\n" * 2)
    assert languages.with_commas(b"12:00:00,123 loss: 0,512 at 1,5\n" * 9)
    assert (
        languages.with_points(b"12:00:00,123 loss: 0,512 at 1,5\n" * 9)
        == b"12:00:00,123 loss: 0.512 at 1.5\n" * 9
    )
