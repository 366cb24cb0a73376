"""Samples that stand in data files twice: within a split, across splits, in several shards."""

from __future__ import annotations

from ...engine.model import Place
from ..dataset import neighbours
from ..dataset.model import Alike, DataSet
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of

LEAST_ALIKE = 3  # pictures that were saved anew: one may be a chance


@needs_data
def duplicates_across_splits(data: DataSet, view: View, share: float) -> Finding:
    """Samples of an evaluation split stand in the training split as well, beyond what chance repeats."""
    del view
    train = [p for p in data.training if p.hashed]
    looked = []
    for part in data.of("eval", "test"):
        one = neighbours.shared(train, part)
        if not one.looked:
            continue
        looked.append((one, part))
        if one.share >= share and one.share > 2 * one.by_chance:
            of = f"{one.count} of {many(one.looked, 'sample')} of {said_of(part)}"
            stand = "stands" if one.count == 1 else "stand"
            why = f"{of} {stand} in the training data too ({one.share:.1%})"
            return present(why, value=one.share, threshold=share, where=one.places)
    for part in data.of("eval", "test"):
        same = part.alike
        if same is not None and same.count >= max(LEAST_ALIKE, share * same.looked, _by_chance(data, same)):
            return _saved_anew(same, said_of(part))
    if not looked:
        return unknown("training and evaluation samples are not both there in one format")
    if (
        all(p.whole for p in train)
        and all(p.whole for _, p in looked)
        and all(not (o.count or o.common) for o, _ in looked)
    ):
        return absent(
            f"none of {looked[0][0].looked} evaluation samples stands in the training data", value=0
        )
    if any(o.count or o.common for o, _ in looked):
        return unknown("some evaluation samples are equal to training samples, no more than chance repeats")
    return unknown("only a part of the samples was compared; none is in both")


def _by_chance(data: DataSet, same: Alike) -> float:
    """Twice the evaluation pictures that are like a training one as often as training pictures are alike."""
    told = sum(p.seen.told for p in data.training if p.seen is not None)
    twins = sum(len(p.seen.twins) for p in data.training if p.seen is not None)
    if told < 2 or not twins:
        return 0.0
    return 2 * (twins + 1) / (told * (told - 1) / 2) * told * same.looked


def _saved_anew(same: Alike, said: str) -> Finding:
    one, other = same.pairs[0]
    of = f"{same.count} of {many(same.looked, 'sample')} of {said}"
    why = f"{of} are all but equal to pictures of the training data ({one.file} and {other.file})"
    why += ": saved anew in another size, format or compression"
    return present(why, value=same.count / same.looked, where=tuple(mine for mine, _ in same.pairs[:3]))


@needs_data
def duplicates(data: DataSet, view: View, share: float) -> Finding:
    """Samples of the training data that repeat an earlier one."""
    del view
    looked, by_chance = [], False
    for part in data.training:
        if not part.hashed or (part.kind == "manifest"):
            continue
        one = neighbours.repeated(part, whole=neighbours.dated(part))
        if one.share >= share and not (neighbours.telling(part) or neighbours.dated(part)):
            by_chance = True
            continue
        looked.append((one, part))
        if one.share >= share:
            held = f"{many(one.looked, 'sample')} of {said_of(part)}"
            repeat = "repeats" if one.count == 1 else "repeat"
            why = f"{one.count} of {held} {repeat} an earlier one ({one.share:.1%})"
            return present(why, value=one.share, threshold=share, where=one.places)
    for part in data.training:
        again = part.seen
        if again is not None and len(again.twins) >= max(LEAST_ALIKE, share * again.told):
            mine, other = again.twins[0]
            of = f"{len(again.twins)} of {again.told} pictures of {said_of(part)}"
            why = f"{of} are all but equal to an earlier one ({mine.file} and {other.file}): saved anew"
            where = tuple(m for m, _ in again.twins[:3])
            return present(why, value=len(again.twins) / again.told, threshold=share, where=where)
    judged = [one for one, _ in looked if one.looked]
    if by_chance and not judged:
        return unknown("rows repeat, as columns of few different values let them by chance")
    if not judged:
        return unknown("no samples were compared")
    return absent(f"repeats among {many(judged[0].looked, 'sample')}: {judged[0].count}", threshold=share)


@needs_data
def shards_overlap(data: DataSet, view: View) -> Finding:
    """Per-rank lists of samples overlap, or leave samples out."""
    del view
    shards = data.shards
    if shards is None:
        return unknown("no lists of the samples of each rank among the data files")
    places = tuple(Place(f) for f in shards.files[:3])
    total = sum(map(len, shards.ranks.values()))
    union = frozenset().union(*shards.ranks.values())
    twice = total - len(union)
    # A sampler that fills up or drops the last round repeats or leaves out fewer than one per rank, and gives
    # all ranks equally many.
    room = len(shards.ranks) if len(set(map(len, shards.ranks.values()))) == 1 else 1
    if twice >= room:
        why = f"{twice} of {total} samples are given to several of {len(shards.ranks)} ranks"
        return present(why, value=twice / total, threshold=0, where=places)
    left = len(shards.universe - union) if shards.universe is not None else 0
    if left >= room:
        why = f"{left} of {len(shards.universe or ())} samples are given to no rank"
        return present(why, value=left / total, threshold=0, where=places)
    return absent(
        f"{len(shards.ranks)} ranks share {len(union)} samples without overlap", value=0, where=places
    )


@needs_data
def shards_uneven(data: DataSet, view: View, ratio: float) -> Finding:
    """Some rank gets clearly more samples than another."""
    del view
    shards = data.shards
    if shards is None:
        return unknown("no lists of the samples of each rank among the data files")
    sizes = {r: len(m) for r, m in shards.ranks.items()}
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    value = sizes[most] / max(1, sizes[least])
    why = f"rank {least} gets {many(sizes[least], 'sample')}, rank {most} {sizes[most]}"
    rest = {"value": value, "threshold": ratio, "where": (Place(shards.files[0]),)}
    return present(why, **rest) if value >= ratio and sizes[most] - sizes[least] > 1 else absent(why, **rest)
