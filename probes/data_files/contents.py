"""Recordings of other rates or channels, silent ones, and pictures of one single colour."""

from __future__ import annotations

from ...engine.model import Place
from ..dataset.model import DataSet
from ..registry import Finding, View, absent, present, unknown
from .common import needs_data


@needs_data
def recordings_mixed(data: DataSet, view: View, share: float) -> Finding:
    """Recordings differ in sampling rate or in number of channels, within a split or between two."""
    del view
    parts = [p for p in data.parts if p.kind == "audio" and p.shapes]
    counts: dict[str, int] = {}
    for part in parts:
        for shape, count in part.shapes.items():
            if "Hz" in shape:
                counts[shape] = counts.get(shape, 0) + count
    if not counts:
        return unknown("no recordings with a sampling rate among the data files")
    total, most = sum(counts.values()), max(counts.values())
    other = (total - most) / total
    if other >= share:
        said = ", ".join(f"{n} of {s}" for s, n in sorted(counts.items(), key=lambda kv: -kv[1])[:4])
        where = tuple(Place(p.files[0]) for p in parts[:3])
        return present(f"recordings differ: {said}", value=other, threshold=share, where=where)
    if other:
        return unknown("single recordings have another sampling rate or number of channels")
    return absent(f"all recordings have {next(iter(counts))}", value=0)


@needs_data
def samples_blank(data: DataSet, view: View, share: float, least: int) -> Finding:
    """Pictures of one colour or silent recordings, in a share of those that were looked at."""
    del view
    parts = [p for p in data.parts if p.filled]
    for part in parts:
        count = len(part.blank)
        if count >= least and count >= share * part.filled:
            what = "hold one single colour" if part.kind == "images" else "are silent throughout"
            why = f"{count} of {part.filled} {part.name} that were looked at {what}"
            return present(why, value=count / part.filled, threshold=share, where=part.blank[:5])
    if not parts:
        return unknown("no pictures or recordings were looked into")
    if any(p.blank for p in parts):
        return unknown("single pictures or recordings are empty")
    return absent(f"something is to be seen or heard in all {parts[0].filled} that were looked at", value=0)


@needs_data
def recordings_clipped(data: DataSet, view: View, share: float, least: int) -> Finding:
    """Recordings that stay at full scale again and again, in a share of those that were listened to."""
    del view
    parts = [p for p in data.parts if p.kind == "audio" and p.filled]
    for part in parts:
        count = len(part.clipped)
        if count >= least and count >= share * part.filled:
            why = f"{count} of {part.filled} {part.name} that were listened to stay at full scale, often"
            return present(why, value=count / part.filled, threshold=share, where=part.clipped[:5])
    if not parts:
        return unknown("no recordings were listened to")
    if any(p.clipped for p in parts):
        return unknown("single recordings are clipped")
    return absent(
        f"none of {parts[0].filled} recordings that were listened to is cut off at full scale", value=0
    )
