"""Imports that a pasted snippet leaves out: `nn`, `np`, `Sequential` stand in it and nothing brings them.

A name counts only where nothing in the text binds it: such a text cannot run as it stands, so that no program
that runs is read otherwise. What a name means is what the tutorials of its framework call so.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from .._tree import forget, of, walk
from .calls import LOSSES, last_name

_ANY = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "tf": "import tensorflow as tf",
    "keras": "import keras",
    "torch": "import torch",
    "torchvision": "import torchvision",
    "pl": "import pytorch_lightning as pl",
    "copy": "import copy",
    "time": "import time",
    "os": "import os",
    "math": "import math",
    "random": "import random",
    "tqdm": "from tqdm import tqdm",
    "train_test_split": "from sklearn.model_selection import train_test_split",
    "StandardScaler": "from sklearn.preprocessing import StandardScaler",
    "MinMaxScaler": "from sklearn.preprocessing import MinMaxScaler",
    "LabelEncoder": "from sklearn.preprocessing import LabelEncoder",
    "mindspore": "import mindspore",
    "ms": "import mindspore as ms",
    "paddle": "import paddle",
}
_TORCH = {
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "optim": "from torch import optim",
    "dist": "import torch.distributed as dist",
    "lr_scheduler": "from torch.optim import lr_scheduler",
    "transforms": "from torchvision import transforms",
    "models": "from torchvision import models",
    "Variable": "from torch.autograd import Variable",
    "DDP": "from torch.nn.parallel import DistributedDataParallel as DDP",
    "DistributedDataParallel": "from torch.nn.parallel import DistributedDataParallel",
    "DistributedSampler": "from torch.utils.data.distributed import DistributedSampler",
    "autocast": "from torch.cuda.amp import autocast",
    "GradScaler": "from torch.cuda.amp import GradScaler",
    "clip_grad_norm_": "from torch.nn.utils import clip_grad_norm_",
}
_TORCH_DATA = ("Dataset", "DataLoader", "TensorDataset", "Subset", "ConcatDataset", "random_split")
_TORCH_DATA_MORE = ("WeightedRandomSampler", "RandomSampler", "SequentialSampler", "SubsetRandomSampler")
_OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "NAdam")
_KERAS = {
    "K": "from keras import backend as K",
    "layers": "from keras import layers",
    "models": "from keras import models",
    "optimizers": "from keras import optimizers",
    "losses": "from keras import losses",
    "regularizers": "from keras import regularizers",
    "Sequential": "from keras.models import Sequential",
    "Model": "from keras.models import Model",
    "Input": "from keras.layers import Input",
    "np_utils": "from keras.utils import np_utils",
    "to_categorical": "from keras.utils import to_categorical",
    "ImageDataGenerator": "from keras.preprocessing.image import ImageDataGenerator",
}
_KERAS_CALLBACKS = ("EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau", "LearningRateScheduler")
_OTHER_NN = ("mindspore", "paddle", "flax", "oneflow", "jittor", "mxnet", "tinygrad")


def imply(tree: ast.Module) -> None:
    """Put the imports that a snippet leaves out before its first statement, on line 1."""
    free = _free(tree)
    if not free:
        return
    said = [ast.parse(line).body[0] for line in dict.fromkeys(_lines(tree, free))]
    for statement in said:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
                node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    if said:
        after = len(list(_head(tree)))
        tree.body[after:after] = said
        forget(tree)


def _head(tree: ast.Module) -> Iterator[ast.stmt]:
    """A docstring and imports from `__future__`, which stay first."""
    for n, one in enumerate(tree.body):
        doc = n == 0 and isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        if not doc and not (isinstance(one, ast.ImportFrom) and one.module == "__future__"):
            return
        yield one


def _lines(tree: ast.Module, free: frozenset[str]) -> Iterator[str]:
    brought = _modules(tree)
    yield from (_ANY[name] for name in sorted(free & _ANY.keys()))
    if _is_torch(tree, free, brought):
        yield "import torch"
        yield from (_TORCH[name] for name in sorted(free & _TORCH.keys()))
        for name in sorted(free.intersection(_TORCH_DATA + _TORCH_DATA_MORE)):
            yield f"from torch.utils.data import {name}"
        if "datasets" in free:
            yield f"from {'sklearn' if _loads_of_sklearn(tree) else 'torchvision'} import datasets"
        for name in sorted(free.intersection(_OPTIMIZERS)):
            yield f"from torch.optim import {name}"
        losses = sorted(n for n in free if n[:1].isupper() and n.lower() in LOSSES)
        yield from (f"from torch.nn import {name}" for name in losses)
    elif _is_keras(tree, free, brought):
        if not free & {"keras", "tf"} and not brought & {"keras", "tensorflow"}:
            yield "import keras"
        yield from (_KERAS[name] for name in sorted(free & _KERAS.keys()))
        for name in sorted(free.intersection(_OPTIMIZERS)):
            yield f"from keras.optimizers import {name}"
        for name in sorted(free.intersection(_KERAS_CALLBACKS)):
            yield f"from keras.callbacks import {name}"
        for name in sorted(free.intersection(_layers(tree)) - _KERAS.keys()):
            yield f"from keras.layers import {name}"


def _free(tree: ast.Module) -> frozenset[str]:
    """Names that are read and nowhere bound; none where a star may bring any name."""
    read: set[str] = set()
    bound: set[str] = set(dir(builtins))
    for node in walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            return frozenset()
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bound.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            bound.update(node.names)
    return frozenset(read - bound)


def _modules(tree: ast.Module) -> frozenset[str]:
    """Top modules that a text does import."""
    found = {a.name.partition(".")[0] for n in of(tree, ast.Import) for a in n.names}
    return frozenset(found | {(n.module or "").partition(".")[0] for n in of(tree, ast.ImportFrom)})


def _is_torch(tree: ast.Module, free: frozenset[str], brought: frozenset[str]) -> bool:
    if brought.intersection(_OTHER_NN) or "paddle" in free or "mindspore" in free:
        return False
    if "torch" in free or brought & {"torch", "torchvision"}:
        return True
    called = {last_name(c.func) for c in of(tree, ast.Call) if isinstance(c.func, ast.Attribute)}
    if "clear_grad" in called:  # Paddle's
        return False
    if {"backward", "step"} <= called:
        return True
    return "nn" in free and any(n.attr == "Module" and _owner(n) == "nn" for n in of(tree, ast.Attribute))


def _is_keras(tree: ast.Module, free: frozenset[str], brought: frozenset[str]) -> bool:
    if free & {"keras", "tf"} or brought & {"keras", "tensorflow"}:
        return True
    for call in of(tree, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
            if {"loss", "optimizer"} & {k.arg for k in call.keywords}:
                return True
    return False


def _layers(tree: ast.Module) -> frozenset[str]:
    """What is added to a model, stands in the list of one, or is made and called at once."""
    found: set[str] = set()
    for call in of(tree, ast.Call):
        name = last_name(call.func)
        given = call.args[:1] if name == "add" else []
        if name == "Sequential" and call.args and isinstance(call.args[0], (ast.List, ast.Tuple)):
            given = list(call.args[0].elts)
        if isinstance(call.func, ast.Call):
            given = [call.func]
        for one in given:
            inner = [one, *(one.args[:1] if isinstance(one, ast.Call) else ())]  # Bidirectional(LSTM(..))
            for made in inner:
                if (
                    isinstance(made, ast.Call)
                    and isinstance(made.func, ast.Name)
                    and made.func.id[:1].isupper()
                ):
                    found.add(made.func.id)
    return frozenset(found)


def _loads_of_sklearn(tree: ast.Module) -> bool:
    return any(
        _owner(n) == "datasets" and n.attr.startswith(("load_", "make_")) for n in of(tree, ast.Attribute)
    )


def _owner(node: ast.Attribute) -> str:
    return node.value.id if isinstance(node.value, ast.Name) else ""
