"""A run that was started anew in a folder beside its first one, from a checkpoint that lies there.

`exp_2/` whose settings say `load_checkpoint: ./exp_1/checkpoint`, on the same data: what `exp_1/` logged is
the start before it. Another data set is another stage of training, and nothing to go on with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..run import Event, Setting
from .contents import Read

DATA = "beside"
_LOADS = re.compile(
    r"(?i)^(?:load|load_(?:checkpoint|from|dir|path|checkpoint_path|ckpt)|resume|resume_from(?:_checkpoint|_path)?|init_from"
    r"|init_checkpoint|ckpt_path|checkpoint_path|pretrained(?:_checkpoint)?|restore_from)$"
)
_OF_DATA = re.compile(
    r"(?i)(?:^|_)(?:data|dataset|train|corpus)_?(?:dir|path|prefix|files?|set|root)$|^(?:data|dataset|train_data)$"
)


def taken_up(
    unit: str, mine: Iterable[Read], units: Mapping[str, Sequence[Read]]
) -> tuple[str, Event] | None:
    """The folder beside `unit` whose checkpoint its settings name, and the event of it."""
    own = [s for read in mine for s in read.content.settings]
    for setting in own:
        if not _LOADS.match(setting.key.rpartition(".")[2]) or not isinstance(setting.value, str):
            continue
        parts = setting.value.replace("\\", "/").split("/")
        for other in units:
            name = other.rpartition("/")[2]
            if other != unit and name in parts and name not in unit.split("/"):
                text = f"{setting.key} = {setting.value}: training goes on from {other}"
                return other, Event("resume", setting.file, setting.line, text=text, data=DATA)
    return None


def of_one_data_set(a: Iterable[Setting], b: Iterable[Setting]) -> bool:
    """Whether the settings of both name the data, and the same."""
    said = [
        {str(s.value) for s in side if s.value and _OF_DATA.search(s.key.rpartition(".")[2])}
        for side in (a, b)
    ]
    return bool(said[0]) and said[0] == said[1]
