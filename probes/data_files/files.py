"""Files that cannot be read, are missing, or were changed."""

from __future__ import annotations

from collections.abc import Iterator

from ...engine.model import Place
from ..dataset.masks import stem
from ..dataset.model import DataSet
from ..dataset.naming import holds_labels
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of


@needs_data
def unreadable(data: DataSet, view: View) -> Finding:
    """Files that are cut off, empty or no such file inside; rows with too few or too many cells."""
    del view
    count = sum(p.problem_count for p in data.parts) + len(data.not_read)
    found = [q for p in data.parts for q in p.problems]
    looked = sum(p.looked for p in data.parts)
    if count:
        first = f"{found[0].place.file}: {found[0].what}" if found else "{}: {}".format(*data.not_read[0])
        places = [q.place for q in found[:5]] or [Place(data.not_read[0][0])]
        what = "file or row" if count == 1 else "files or rows"
        return present(
            f"{count} {what} cannot be read: {first}", value=count, threshold=0, where=tuple(places)
        )
    if not looked:
        said = next((n for p in data.parts for n in p.notes), "")
        return unknown(f"no sample was read ({said})" if said else "no sample was read")
    return absent(f"all of {many(looked, 'sample')} that were looked at can be read", value=0)


@needs_data
def files_missing(data: DataSet, view: View) -> Finding:
    """Files that a manifest, a checksum list or the numbers of shards announce and that are not there."""
    del view
    lost = sum(x.missing_count for x in data.listed if x.checked)
    told = [f"{many(n, 'file')} {'is' if n == 1 else 'are'} missing" for n in [lost] if n] + list(data.gaps)
    if told:
        places = [Place(x.file, line or None) for x in data.listed if x.checked for _, line in x.missing[:2]]
        named = [path for x in data.listed if x.checked for path, _ in x.missing[:3]]
        more = f" ({', '.join(named)})" if named else ""
        return present(f"{told[0]}{more}", value=lost + len(data.gaps), threshold=0, where=tuple(places))
    short = _declared(data)
    if short is not None:
        return short
    checked = sum(x.checked for x in data.listed)
    if checked:
        return absent(f"of {many(checked, 'file')} listed, none is missing", value=0)
    return unknown("no manifest, checksum list or numbered shards tell what should be there")


def _declared(data: DataSet) -> Finding | None:
    """A description of the data set tells more samples than there are."""
    for part in data.parts:
        told = {"train": "train", "eval": "validation", "test": "test"}.get(part.split)
        want = data.declared.get(told or "")
        if want and part.exact and part.rows is not None and part.rows < want:
            why = f"dataset_info.json tells {many(want, 'sample')} of {told}, {part.rows} there"
            return present(why, value=part.rows, threshold=want)
    return None


@needs_data
def files_changed(data: DataSet, view: View) -> Finding:
    """Files whose size or checksum is not what a manifest says."""
    del view
    changed = sum(x.changed_count for x in data.listed)
    checked, sums = sum(x.checked for x in data.listed), sum(x.sums for x in data.listed)
    if changed:
        path, line, what = next(c for x in data.listed for c in x.changed)
        file = next(x.file for x in data.listed if x.changed)
        why = f"{changed} of {many(checked, 'file')} not as the manifest says: {path} has {what}"
        return present(why, value=changed, threshold=0, where=(Place(file, line or None),))
    if not checked:
        return unknown("no manifest names files that are there")
    if not sums:
        return unknown(f"of {many(checked, 'file')} no checksum was computed")
    return absent(f"no checksum of {sums} differs", value=0)


LEAST_MET = 5  # images with a mask of their name


_Sized = dict[str, tuple[str, tuple[int, ...] | None]]


def _pictures(data: DataSet) -> Iterator[tuple[dict[str, tuple[int, ...] | None], _Sized]]:
    """Images of a split with their sizes, and the masks of it by the names that both share."""
    for part in data.parts:
        masks = [m for m in data.parts if m.kind == "masks" and m.split == part.split]
        if part.kind == "images" and masks and part.whole:
            by_stem: _Sized = {stem(p): (p, m.sizes.get(p)) for m in masks for p in m.files}
            yield {p: part.sizes.get(p) for p in part.files}, by_stem


def _volumes(data: DataSet) -> Iterator[tuple[dict[str, tuple[int, ...] | None], _Sized]]:
    """The same of array files, a sample each: in a folder called like labels, and in one that is not."""
    arrays = [p for p in data.parts if p.kind == "array" and len(p.single) == len(p.files) > 1]
    for part in arrays:
        if holds_labels(part.files[0]):
            continue
        beside = [m for m in arrays if m.split == part.split and holds_labels(m.files[0])]
        by_stem: _Sized = {stem(p): (p, one.shape) for m in beside for p, one in m.single.items()}
        if not by_stem:
            continue
        sizes: dict[str, tuple[int, ...] | None] = {}
        for path, one in part.single.items():
            mask = by_stem.get(stem(path))
            like = mask is None or mask[1] is None or len(one.shape) == len(mask[1])
            sizes[path] = one.shape if like else None  # channels of its own: not held against each other
        yield sizes, by_stem


@needs_data
def masks_unlike_images(data: DataSet, view: View) -> Finding:
    """Images without a mask where others have one; masks of another size, of another image, or moved."""
    del view
    pairs = lone = other = 0
    places: list[Place] = []
    example = ""
    for sizes, by_stem in (*_pictures(data), *_volumes(data)):
        found = {p: by_stem.get(stem(p)) for p in sizes}
        met = sum(f is not None for f in found.values())
        if met < 0.5 * len(found):
            if met < LEAST_MET:
                continue  # other names on both sides: who belongs to whom is not known
            # A part of the set has masks, as in Pascal VOC.
            found = {p: f for p, f in found.items() if f is not None}
        for path, mask in found.items():
            pairs += 1
            size = sizes[path]
            if mask is None:
                lone += 1
                example = example or f"{path} has no mask"
            elif size and mask[1] and size != mask[1]:
                other += 1
                ours, theirs = "x".join(map(str, size)), "x".join(map(str, mask[1]))
                example = example or f"{path} has {ours} {_dots(path)}, {mask[0]} {theirs}"
            else:
                continue
            places.append(Place(path))
    wrong = _misfit(data)
    if wrong is not None and not lone + other:
        return wrong
    if not pairs:
        return unknown("no images and masks of the same names among the data files")
    if lone + other:
        told = [
            f"{n} {what}" for n, what in ((lone, "without a mask"), (other, "with one of another size")) if n
        ]
        why = f"of {many(pairs, 'image')} {' and '.join(told)}: {example}"
        return present(why, value=lone + other, threshold=0, where=tuple(places[:5]))
    return absent(f"{many(pairs, 'image')} with a mask of the same size each", value=0)


def _misfit(data: DataSet) -> Finding | None:
    """Masks that fit another image, or their own turned or moved."""
    parts = [(p, p.masked) for p in data.parts if p.masked is not None]
    for part, one in parts:
        if one.elsewhere:
            why = (
                f"borders of {many(one.paired, 'mask')} of {said_of(part)} lie on edges of their images when "
                f"they are {one.elsewhere}, and not as they are"
            )
            if one.elsewhere.startswith("of "):
                why = (
                    f"borders of {many(one.paired, 'mask')} of {said_of(part)} lie on edges {one.elsewhere}, "
                    "and not on those of their own"
                )
            return present(why, value=one.paired, threshold=0, where=(Place(part.files[0]),))
    return None


@needs_data
def masks_smoothed(data: DataSet, view: View, share: float, least: int) -> Finding:
    """Masks of two values that hold single pixels of many others, as interpolation and JPEG make them.

    Worth a look: a loader that cuts them at one half makes up for it, one that takes numbers for classes not.
    """
    del view
    parts = [(p, p.masked) for p in data.parts if p.masked is not None]
    for part, one in parts:
        if len(one.smoothed) >= max(least, share * one.looked):
            why = (
                f"{len(one.smoothed)} of {one.looked} masks of {said_of(part)} that were looked at hold "
                "single pixels of many values between their two: resized with interpolation, or kept as JPEG"
            )
            value = len(one.smoothed) / one.looked
            return present(why, value=value, threshold=share, where=one.smoothed[:5])
    if not parts:
        return unknown("no masks were looked into")
    if any(one.smoothed for _, one in parts):
        return unknown("single masks hold values between their two")
    return absent(f"{parts[0][1].looked} masks that were looked at hold a few values each", value=0)


def _dots(path: str) -> str:
    return "voxels" if path.endswith(".npy") else "pixels"
