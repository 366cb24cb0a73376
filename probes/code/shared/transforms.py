"""What a transform that is fitted learns, by the names it goes by."""

from __future__ import annotations

import re

# the place of a class tells nothing of it: `sklearn.preprocessing.LabelEncoder`
_PLACE = re.compile(r"\b(?:\w+\.)*preprocessing\.(?:\w+\.)*")
# what lists or numbers categories, of the labels as a rule; what is switched off, or handed over as it is
_NO_FIGURES = re.compile(
    r"(?:LabelEncoder|LabelBinarizer|OrdinalEncoder|OneHotEncoder)\b"
    r"|\bpreprocessing_function=[\w.]+|\b(?:featurewise|samplewise|zca)_\w+=False"
)


def telling(made: str) -> str:
    """The names without those that tell of no figure of the samples that is learned.

    `made`: code that makes a transform, and the names it is kept under.
    """
    return _NO_FIGURES.sub("", _PLACE.sub("", made))
