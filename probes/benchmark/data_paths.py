"""Training data by the names of their files: `alpaca_text_document` here, `enwiki_text_document` there."""

from __future__ import annotations

import re

from ...engine.model import Place
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Setting
from ..script_diff.vocabulary import word_set

_KEY = re.compile(
    r"(?:^|_)(?:train_)?(?:data|dataset|corpus)_?(?:path|file|files|dir|prefix)$|^train_(?:file|files|path)$"
)
_FILE = re.compile(r"(?i)_(?:document|sentence)$|\.(?:mindrecord|jsonl?|parquet|tfrecords?|bin|csv|arrow)$")
_IDLE = word_set(
    "data dataset datasets train training text document sentence content processed preprocessed raw "
    "tokenized tokens packed part shard file files merged all full final new json jsonl parquet mindrecord "
    "tfrecord bin tfrecords csv arrow seq len sft pretrain input inputs output corpus samples"
)


@probe("benchmark")
def data_files_named_otherwise(view: View) -> Finding:
    """The files of the training data have no word of their names in common, nor do the folders above them.

    Only names of files, or the prefixes of Megatron: a folder is called otherwise on every machine.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    mine, theirs = _told(view.run), _told(view.benchmark)
    for key in mine.keys() & theirs.keys():
        a, b = mine[key], theirs[key]
        text = f"{key} = {a.value}, in the benchmark {b.value}"
        last = [_words(str(s.value).rpartition("/")[2]) for s in (a, b)]
        if not all(last):
            continue
        whole = [_words(str(s.value)) for s in (a, b)]
        if any(x in y or y in x for x in whole[0] for y in whole[1]):
            return absent(text)
        return present(text, where=(Place(a.file, a.line),))
    return unknown("both sides name no file of training data under one setting")


def _told(run: Run) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for setting in run.raw_settings:
        key = names.parts_of(setting.key)[-1:]
        value = (
            setting.value[0]
            if isinstance(setting.value, tuple) and len(setting.value) == 1
            else setting.value
        )
        if (
            key
            and _KEY.search(key[0])
            and isinstance(value, str)
            and _FILE.search(value)
            and " " not in value
        ):
            found.setdefault(key[0], setting)
    return found


def _words(path: str) -> set[str]:
    return {w for w in re.findall(r"[a-z]{3,}", path.lower()) if w not in _IDLE}
