"""The names by which parts of training are known."""

from __future__ import annotations

import re

from ...code.shared.roles import split_of, trains
from ..lines import Unit
from ..vocabulary import word_set

LOSS = word_set(
    "cross_entropy mse_loss l1_loss smooth_l1_loss huber_loss nll_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits kl_div triplet_margin_loss cosine_embedding_loss ctc_loss "
    "margin_ranking_loss poisson_nll_loss gaussian_nll_loss softmax_cross_entropy_with_integer_labels "
    "softmax_cross_entropy sigmoid_binary_cross_entropy SoftmaxCrossEntropyWithLogits "
    "sparse_categorical_crossentropy categorical_crossentropy SparseCategoricalCrossentropy "
    "CategoricalCrossentropy BinaryCrossentropy MeanSquaredError criterion loss_fn loss_func loss_function "
    "criterion_fn compute_loss"
)
LOADER = word_set("DataLoader GeneratorDataset batch NumpySlicesDataset DistributedSampler")
LABELS = re.compile(
    r"(?:^|_)(?:y|ys|labels?|targets?|masks?|answers?|gt|boxes|lbl|tgt|cls|classes|tags?)(?:_|$)"
)
INPUTS = re.compile(
    r"(?:^|_)(?:x|xs|imgs?|images?|inputs?|features?|feats?|pixels?|waves?|audio|frames?|ids|tokens)(?:_|$)"
)
PREPARES = re.compile(
    r"augment|transform|preprocess|collate|jitter|normali[sz]e|tokeni[sz]e|^load_|^read_|^encode"
)
MAPS = (
    "map",
    "collate_fn",
    "transform",
    "transforms",
    "preprocess",
    "apply",
    "with_transform",
    "set_transform",
)
HOOK = re.compile(
    r"^(?:training|validation|test|predict|train|eval)_(?:step|epoch)|^configure_|^on_|_dataloader$|^setup$|"
    r"^prepare_data$|^fit$|^compute_loss$"
)
FORWARD = ("forward", "construct", "call")
FLAGS = word_set("split stage phase subset fold is_train training train is_training fit mode is_val is_test")
SHARED = ("forward", "construct", "call", "__init__", "__call__", "__getitem__", "__iter__", "__len__")
SHORT = {
    "tr": "train",
    "trn": "train",
    "va": "eval",
    "vl": "eval",
    "te": "eval",
    "tst": "eval",
    "ev": "eval",
}


def side_named(name: str) -> str:
    """The data that a name tells: "train", "eval" or ""."""
    if (side := trains(split_of(name))) is not None:
        return "train" if side else "eval"
    return next((SHORT[w] for w in name.lower().split("_") if w in SHORT), "")


def is_function(unit: Unit) -> bool:
    """Whether a unit is a function, and neither a class nor the top of a file."""
    return bool(unit.name) and unit.node.__class__.__name__ != "ClassDef"
