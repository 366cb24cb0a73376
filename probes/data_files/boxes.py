"""Boxes around objects: outside their image, without size, of classes or images that are not listed."""

from __future__ import annotations

from ..dataset.model import DataSet
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data


@needs_data
def boxes_invalid(data: DataSet, view: View, share: float) -> Finding:
    """Boxes that cannot be right, in a share of all from `share` on; fewer are called rounding."""
    del view
    if not data.boxes:
        return unknown("no boxes (COCO's JSON, Pascal VOC's XML, YOLO's text files) among the data files")
    few = 0
    for one in data.boxes:
        if not one.wrong:
            continue
        reason, count = one.wrong.most_common(1)[0]
        if count < share * one.count:
            few += count
            continue
        place, example = one.first[reason]
        more = len(one.wrong) - 1
        others = f"; {many(more, 'other reason')} beside it" if more else ""
        guess = ""
        if one.corners:
            guess = f": read as two corners all of them fit, where {one.form} has a width and a height"
        if one.sizes:
            guess = ": read as a corner, a width and a height all fit, where Pascal VOC has two corners"
        if one.pixels:
            guess = ": these are pixels, not shares of the image"
        why = f"{count} of {many(one.count, 'box')} {reason} ({example}){guess}{others}"
        where = tuple(p for p, _ in one.first.values())[:5]
        return present(why, value=count, threshold=share, where=where or (place,))
    if few or not all(b.whole for b in data.boxes):
        return unknown("only single boxes are odd, or not all were looked at")
    total = sum(b.count for b in data.boxes)
    return absent(f"{many(total, 'box')}: each within its image and of a listed class", value=0)
