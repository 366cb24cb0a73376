"""Token ids: padding, length, special tokens, vocabularies, and what masks and labels say beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ._pairs import Ids, retold, sentences, told

THEIRS = sentences()
IDS, MASK = THEIRS["input_ids"], THEIRS["attention_mask"]


@pytest.mark.parametrize(
    ("mine", "kind", "words"),
    [
        (retold(IDS, lambda t: t, left=True), "padding", "on the left here, on the right in the benchmark"),
        (retold(IDS, lambda t: t, pad=1), "padding", "padded with 1 here, with 0"),
        ({k: np.pad(v, ((0, 0), (0, 8))) for k, v in THEIRS.items()}, "padding", "to 32 positions here"),
        ({k: v[:, :9] for k, v in THEIRS.items()}, "truncation", "the beginning is kept, the end is lost"),
        (retold(IDS, lambda t: t[-8:]), "truncation", "the end is kept, the beginning is lost"),
        (retold(IDS, lambda t: t[1:]), "special-tokens", "a start token (101) missing here"),
        (retold(IDS, lambda t: t[:-1]), "special-tokens", "an end token (102) missing here"),
        (retold(IDS, lambda t: t[1:-1]), "special-tokens", "(101) and an end token (102) missing"),
        (retold(IDS, lambda t: [101, *t]), "special-tokens", "it stands there twice"),
        (retold(IDS, lambda t: [v * 3 + 1 for v in t]), "vocabulary", "one to one"),
        (retold(IDS, lambda t: [min(v, 200) for v in t]), "vocabulary", "are all 200 here"),
        (retold(IDS, lambda t: t[::-1]), "flip", "backwards"),
    ],
)  # fmt: skip
def test_ids_and_the_mask_that_follows_them(
    mine: dict[str, Ids], kind: str, words: str, tmp_path: Path
) -> None:
    ((found, said),) = told(tmp_path, mine, THEIRS)

    assert found == kind
    assert words in said


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.ones_like(MASK), "all on padding (0): the mask is all ones"),
        (1 - MASK, "inverted"),
        ((1 - MASK) * -10000, "the same positions, written otherwise"),
    ],
)
def test_masks(mask: Ids, words: str, tmp_path: Path) -> None:
    ((kind, said),) = told(tmp_path, {"input_ids": IDS, "attention_mask": mask}, THEIRS)

    assert kind == "mask"
    assert words in said


def test_a_mask_that_does_not_follow_the_padding_is_told_beside_it(tmp_path: Path) -> None:
    """Padding moved to the left, the mask stayed on the right."""
    mine = {"input_ids": retold(IDS, lambda t: t, left=True)["input_ids"], "attention_mask": MASK}

    assert [kind for kind, _ in told(tmp_path, mine, THEIRS)] == ["padding", "mask"]


@pytest.mark.parametrize(
    ("field", "mine", "theirs", "words"),
    [
        ("position_ids", np.tile(np.arange(1, 25), (12, 1)), np.tile(np.arange(24), (12, 1)), "at 1 here"),
        ("token_type_ids", (np.arange(24) > 9) * MASK, 0 * MASK, "of the segment ids differ"),
    ],
)  # fmt: skip
def test_positions_and_segments(field: str, mine: Ids, theirs: Ids, words: str, tmp_path: Path) -> None:
    ((kind, said),) = told(tmp_path, {**THEIRS, field: mine}, {**THEIRS, field: theirs})

    assert kind == "mask"
    assert words in said


IGNORING = np.where(MASK == 1, IDS, -100)


def chosen(seed: int) -> Ids:
    """Labels at one of seven positions, drawn anew."""
    return np.where(np.random.default_rng(seed).random(IDS.shape) < 0.15, IDS, -100)


@pytest.mark.parametrize(
    ("mine", "theirs", "kind", "words"),
    [
        (IDS, IGNORING, "ignored", "are -100 (ignored) in the benchmark and 0 here, so that they count"),
        (chosen(1), chosen(2), "augmentation", "drawn at random"),  # a masked language model
        (IGNORING, IDS, "ignored", "are -100 (ignored) here and 0 in the benchmark"),
        (np.where(np.arange(24) > 4, IGNORING, -100), IGNORING, "ignored", "(ignored) here and labels"),
        (np.roll(IGNORING, -1, 1), IGNORING, "label-shift", "1 position ahead"),
        (np.roll(IGNORING, 1, 1), IGNORING, "label-shift", "1 position behind"),
        (np.c_[IDS[:, 1:], np.full(12, -100)], IDS, "label-shift", "1 position ahead"),
    ],
)
def test_labels_of_tokens(mine: Ids, theirs: Ids, kind: str, words: str, tmp_path: Path) -> None:
    ((found, said),) = told(tmp_path, {**THEIRS, "labels": mine}, {**THEIRS, "labels": theirs})

    assert found == kind
    assert words in said


@pytest.mark.parametrize(
    ("change", "kinds"),
    [(lambda v: v, ["padding"]), (lambda v: np.roll(v, -1, 1), ["padding", "label-shift"])],
)
def test_labels_follow_ids_that_are_padded_elsewhere(
    change: Callable[[Ids], Ids], kinds: list[str], tmp_path: Path
) -> None:
    left = retold(IDS, lambda t: t, left=True)
    labels = np.where(left["attention_mask"] == 1, left["input_ids"], -100)

    found = told(tmp_path, {**left, "labels": change(labels)}, {**THEIRS, "labels": IGNORING})

    assert [kind for kind, _ in found] == kinds


def test_masked_tokens_are_random(tmp_path: Path) -> None:
    hit = (np.random.default_rng(5).random(IDS.shape) < 0.15) & (IDS > 110)

    ((kind, said),) = told(tmp_path, {**THEIRS, "input_ids": np.where(hit, 103, IDS)}, THEIRS)

    assert kind == "augmentation"
    assert "masked at random" in said


def test_rows_in_another_order_are_told_once(tmp_path: Path) -> None:
    mine = {k: v[::-1] for k, v in {**THEIRS, "label": np.arange(12) % 2}.items()}

    assert [kind for kind, _ in told(tmp_path, mine, {**THEIRS, "label": np.arange(12) % 2})] == ["order"]


def test_few_ids_that_are_others_are_no_vocabulary(tmp_path: Path) -> None:
    """Ids that come once each cannot show that they stand one to one for others."""
    ids = np.arange(110, 110 + 72).reshape(6, 12)

    ((kind, _),) = told(tmp_path, {"input_ids": ids + np.arange(72).reshape(6, 12) % 7}, {"input_ids": ids})

    assert kind in ("values", "other-samples")


def test_marks_that_full_rows_have_no_room_for(tmp_path: Path) -> None:
    """Without start and end tokens a full row holds two more ids of its text."""
    theirs = _full(lambda t: [101, *t[:22], 102])
    ((kind, words),) = told(tmp_path, _full(lambda t: t[:24]), theirs)

    assert kind == "special-tokens"
    assert "(101) and an end token (102) missing here" in words


def test_the_other_end_of_marked_rows(tmp_path: Path) -> None:
    mine, theirs = _full(lambda t: [101, *t[-22:], 102]), _full(lambda t: [101, *t[:22], 102])
    ((kind, words),) = told(tmp_path, mine, theirs)

    assert kind == "truncation"
    assert "the end of long rows is kept here, the beginning in the benchmark" in words


def test_other_texts_between_the_same_marks(tmp_path: Path) -> None:
    mine = _full(lambda t: [101, *t[:22], 102], seed=8)
    ((kind, _),) = told(tmp_path, mine, _full(lambda t: [101, *t[:22], 102]))

    assert kind not in ("truncation", "special-tokens")


def _full(cut: Callable[[list[int]], list[int]], seed: int = 7) -> dict[str, Ids]:
    """24 texts of 8 to 34 ids in rows of 24."""
    draw = np.random.default_rng(seed)
    rows = [cut(draw.integers(200, 900, int(draw.integers(8, 35))).tolist()) for _ in range(24)]
    return {"input_ids": np.array([r + [0] * (24 - len(r)) for r in rows])}
