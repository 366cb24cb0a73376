"""Equal rewrites of right Keras programs, held against the original, and what only looks like one."""

from __future__ import annotations

import pytest

from traindoctor.probes.code.against.edits import UNCLEAR, compare, sorted_out
from traindoctor.probes.run import Run, RunInfo

from ._keras_programs import RIGHT

SPARSE = [
    ('batch_size=32, label_mode="categorical")\nval', 'batch_size=32, label_mode="int")\nval'),
    ('label_mode="categorical", shuffle', 'label_mode="int", shuffle'),
    ('Adam(1e-3), loss="categorical', 'Adam(1e-3), loss="sparse_categorical'),
    ('Adam(1e-5), loss="categorical', 'Adam(1e-5), loss="sparse_categorical'),
]
HEAD = """h = kl.Dense(64)(entry)
h = kl.BatchNormalization()(h)
h = kl.Activation("relu")(h)
h = kl.Dropout(0.3)(h)
out = kl.Dense(1, activation="sigmoid")(h)
"""
BUILT = '''

def layers_of(start):
    """A hidden layer and the output."""
    h = kl.Dense(64)(start)
    h = kl.BatchNormalization()(h)
    h = kl.Activation("relu")(h)
    h = kl.Dropout(0.3)(h)
    return kl.Dense(1, activation="sigmoid")(h)


out = layers_of(entry)
'''
MOBILE = RIGHT["finetune"].replace("ResNet50", "MobileNetV2").replace("resnet50", "mobilenet_v2")
LAYER = MOBILE.replace("x = preprocess_input(image)", "x = layers.Rescaling(1 / 127.5, offset=-1)(image)")


def _kinds(theirs: str, mine: str) -> set[str]:
    runs = [
        Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text}) for text in (mine, theirs)
    ]
    return {k for k, found in sorted_out(compare(*runs)).items() if found} - {"", UNCLEAR}


def _edited(text: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (RIGHT["finetune"], _edited(RIGHT["finetune"], SPARSE)),
        (_edited(RIGHT["finetune"], SPARSE), RIGHT["finetune"]),
        (RIGHT["functional"], _edited(RIGHT["functional"], [(HEAD, BUILT)])),
        (
            RIGHT["functional"],
            _edited(RIGHT["functional"], [("shuffle(len(x))", "shuffle(ds.cardinality())")]),
        ),
        (LAYER, MOBILE),
    ],
    ids=["sparse-loss", "one-hot", "layers-in-a-function", "cardinality", "preprocess-input"],
)
def test_equal_ways_are_no_edit(theirs: str, mine: str) -> None:
    assert _kinds(theirs, mine) == set()


@pytest.mark.parametrize(
    ("theirs", "mine", "kind"),
    [
        (RIGHT["finetune"], _edited(RIGHT["finetune"], SPARSE[2:]), "loss-function"),
        (
            RIGHT["functional"],
            _edited(RIGHT["functional"], [("shuffle(len(x))", "shuffle(64)")]),
            "shuffling",
        ),
        (LAYER, LAYER.replace("x = layers.Rescaling(1 / 127.5, offset=-1)(image)", "x = image"), ""),
    ],
    ids=["loss-alone", "small-buffer", "not-scaled"],
)
def test_what_changes_the_program_is_one(theirs: str, mine: str, kind: str) -> None:
    found = _kinds(theirs, mine)
    assert kind in found if kind else found
