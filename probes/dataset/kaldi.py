"""Kaldi's data folders: wav.scp with text, utt2spk and segments (also ESPnet's, WeNet's and k2's).

Format: kaldi-asr.org/doc/data_prep.html. Each file has an utterance (in wav.scp with segments: a recording)
in its first column; a command that ends in a bar stands in wav.scp where no file does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..files import RunFile
from .gather import Budget
from .model import Listed, Part, Split
from .named import listed
from .rows import TableGather

MOST = 256 * 1024**2
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Folder:
    """What one folder says: its transcripts, the recordings that are missing, and what lacks a line."""

    part: Part
    listed: Listed | None
    gaps: tuple[str, ...]


def is_kaldi(file: RunFile, files: Mapping[str, RunFile]) -> bool:
    """Whether a file is the list of recordings of such a folder."""
    folder = _folder(file)
    return file.name == "wav.scp" and any(f"{folder}{name}" in files for name in ("text", "utt2spk"))


def read_kaldi(file: RunFile, files: Mapping[str, RunFile], split: Split, budget: Budget) -> Folder:
    """Hold the files of the folder of this wav.scp against each other; a transcript is a sample."""
    folder = _folder(file)
    table = TableGather(["utt_id", "speaker", "transcript"], budget.bounds.seed, None, 0)
    told = {
        name: _lines(files.get(f"{folder}{name}"), budget)
        for name in ("wav.scp", "text", "utt2spk", "segments")
    }
    recordings, texts, speakers, segments = told["wav.scp"], told["text"], told["utt2spk"], told["segments"]
    table.files.append(f"{folder}text" if texts else file.path)
    rows = [[name, speakers.get(name, ("", 0))[0], said] for name, (said, _) in texts.items()]
    limit = budget.bounds.samples
    table.add(rows[:limit], [line for _, line in texts.values()][:limit], 0)
    utterances = segments or recordings
    gaps = []
    for other, some in (("text", texts), ("utt2spk", speakers)):
        lost = [name for name in utterances if name not in some] if some else []
        extra = [name for name in some if name not in utterances]
        source = "segments" if segments else "wav.scp"
        for names, has, lacks in ((lost, source, other), (extra, other, source)):
            if names:
                shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
                gaps.append(
                    f"{folder}{lacks}: lacks {len(names)} of the {len(told[has])} lines of {has} ({shown})"
                )
    paths = {
        path.split()[-1].replace("\\", "/"): line
        for path, line in recordings.values()
        if path and not path.rstrip().endswith("|")
    }
    part = table.part(split, "Kaldi", len(texts), len(texts) <= limit and not budget.spent_out, ())
    return Folder(part, listed(file.path, paths, files) if paths else None, tuple(gaps))


def _folder(file: RunFile) -> str:
    folder = file.path.rpartition("/")[0]
    return f"{folder}/" if folder else ""


def _lines(file: RunFile | None, budget: Budget) -> dict[str, tuple[str, int]]:
    """First column -> (the rest of the line, its number)."""
    if file is None or file.size > MOST or not budget.take(file.size):
        return {}
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        name, _, rest = line.strip().partition(" ")
        if name:
            found.setdefault(name, (rest.strip(), number))
    return found
