"""What books of single tasks in PyTorch share: how a program begins, and its optimizer."""

from __future__ import annotations

from collections.abc import Sequence

from . import Book, Choice

HEAD = """import copy
import math
import os
import random
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
"""
OPTIM = (
    "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)",
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=1e-2)",
)


def book(name: str, tasks: Sequence[str]) -> Book:
    """A book of whole programs; some have an optimizer of their own, in the others OPTIM stands for one."""

    def write(choice: Choice) -> str | None:
        task, optim = choice
        if optim and "OPTIM" not in tasks[task]:
            return None
        return HEAD + tasks[task].replace("OPTIM", OPTIM[optim]) + "\n"

    return Book(name, (len(tasks), len(OPTIM)), write)
