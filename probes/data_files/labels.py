"""Labels in data files: their range, balance and noise."""

from __future__ import annotations

import re
from functools import lru_cache

from ...engine.model import Place
from ..dataset import flips, neighbours
from ..dataset.model import DataSet, Part
from ..registry import Finding, View, absent, present, unknown
from .common import FINAL, NUMBERED, RAW, looked_at, many, needs_data, said_of

LISTS_IGNORED = 0.01
SPREAD_OVER, ONE_WAY = 5, 0.12  # classes, and the share of one pair of them among suspects
LEAST_WORDED = 10  # samples whose class is named where that of others is numbered
LEAST_TORN = 3  # pictures of two classes that were saved anew: one may be a chance


@needs_data
def labels_out_of_range(data: DataSet, view: View) -> Finding:
    """Class numbers that are negative, or as large as the number of classes that the run records."""
    setting = view.run.settings.get("num_classes")
    classes = setting.value if setting is not None else None
    looked = [p for p in data.parts if p.labels is not None and p.labels.integral and p.labels.classes]
    for part in looked:
        labels = part.labels
        if labels is None or part.kind == "images":
            continue
        scores = labels.low == -labels.high  # -1 and 1, or grades about zero: no class numbers
        if labels.low < 0 and not scores:
            where = (labels.low_at,) if labels.low_at else ()
            return present(
                f"{labels.name} goes down to {labels.low:g}", value=labels.low, threshold=0, where=where
            )
        told = part.named_classes.get(labels.name, 0)
        if told > 1 and labels.high >= told:
            where = (labels.high_at,) if labels.high_at else ()
            why = f"{labels.name} goes up to {labels.high:g}; the data set names {told} classes, from 0 on"
            return present(why, value=labels.high, threshold=told, where=where)
        if not isinstance(classes, int) or isinstance(classes, bool) or not labels.high >= classes > 1:
            continue
        if part.kind not in FINAL and labels.low == 1 and labels.high == classes:
            return unknown(f"{labels.name} goes from 1 to {classes} in the file; the script may subtract one")
        where = (labels.high_at,) if labels.high_at else ()
        why = (
            f"{labels.name} goes up to {labels.high:g}; the model has {many(classes, 'class')}, numbered "
            "from 0"
        )
        return present(why, value=labels.high, threshold=classes, where=where)
    whole = [p for p in looked if p.whole and p.labels is not None and _contiguous(p)]
    if whole:
        return absent(f"labels are 0 to {whole[0].labels.high:g} without a gap")  # type: ignore[union-attr]
    return unknown("no class numbers were read whole among the data files")


def _contiguous(part: Part) -> bool:
    labels = part.labels
    return labels is not None and labels.low == 0 and labels.high == len(labels.counts) - 1


def _valid(part: Part) -> dict[str, int]:
    """Class -> samples, without numbers that are no class of the others.

    Below zero, or far above where the others stand without a gap: labels that are wrong, which another
    finding tells, are no small class.
    """
    labels = part.labels
    if labels is None or not labels.classes or labels.maps:
        return {}
    counts = dict(labels.counts)
    if not labels.integral or labels.low == -labels.high:
        return counts
    numbers = sorted(int(c) for c in counts if int(c) >= 0)
    kept = next(
        (numbers[:i] for i in range(2, len(numbers)) if numbers[i] > 3 * (numbers[i - 1] + 1)), numbers
    )
    few = sum(counts[str(n)] for n in numbers if n not in kept) <= 0.01 * sum(counts.values())
    kept = kept if few else numbers
    return {c: n for c, n in counts.items() if int(c) in kept}


@needs_data
def classes_unbalanced(data: DataSet, view: View, ratio: float, least: float) -> Finding:
    """The largest class of the training data has many times the samples of the smallest."""
    del view
    worst: tuple[float, Part] | None = None
    for part in data.training:
        counts = list(_valid(part).values())
        if len(counts) >= 2 and sum(counts) >= least:
            value = max(counts) / min(counts)
            worst = (value, part) if worst is None or value > worst[0] else worst
    if worst is None:
        return unknown("no labels of classes were found in the training data")
    value, part = worst
    counted = _valid(part)
    (most, n_most), (few, n_few) = next(iter(counted.items())), list(counted.items())[-1]
    why = f"{len(counted)} classes with {n_few} ({few}) to {n_most} ({most}) samples of {looked_at(part)}"
    rest = {"value": value, "threshold": ratio, "where": (Place(part.files[0]),)}
    return present(why, **rest) if value >= ratio else absent(why, **rest)


@needs_data
def class_spelled_twice(data: DataSet, view: View) -> Finding:
    """Classes whose names differ in case or spaces alone, or that have a number and a name: one made two."""
    del view
    parts = [p for p in data.parts if p.labels is not None and p.labels.classes]
    named = [(p.labels.counts, p.labels.by_folder, p.files[0]) for p in parts if p.labels is not None]
    named += [(b.names, False, b.file) for b in data.boxes]
    spelled: dict[tuple[str, bool], dict[str, str]] = {}
    for counts, by_folder, file in named:
        for name in counts:
            if len(name.strip()) < 2:
                continue  # letters: a and A are two classes
            key = ("".join(name.casefold().split()), by_folder)
            spelled.setdefault(key, {}).setdefault(name, file)
    twice = [names for names in spelled.values() if len(names) > 1]
    if twice:
        shown = " and ".join(f"“{n}”" for n in sorted(twice[0])[:3])
        more = f"; {many(len(twice) - 1, 'other class')} too" if len(twice) > 1 else ""
        where = tuple(Place(file) for file in list(twice[0].values())[:2])
        why = f"{shown} differ in case or spaces alone{more}"
        return present(why, value=len(twice), threshold=0, where=tuple(dict.fromkeys(where)))
    two = next((found for p in parts if (found := _numbered_and_named(p)) is not None), None)
    if two is not None:
        return two
    if not any(not name.isdigit() for name, _ in spelled):
        return unknown("no classes with names among the data files")
    return absent(f"{many(len(spelled), 'class')}, none spelled in two ways", value=0)


def _numbered_and_named(part: Part) -> Finding | None:
    """The classes of a part are numbers in some samples and as many words in others."""
    counts = part.labels.counts if part.labels is not None else {}
    numbers, words = [n for n in counts if n.isdigit()], [n for n in counts if n.isalpha()]
    if not len(numbers) == len(words) > 1 or len(counts) > 2 * len(words):
        return None
    number, name = (sum(counts[n] for n in some) for some in (numbers, words))
    if min(number, name) < LEAST_WORDED:
        return None
    why = (
        f"{looked_at(part)} of {said_of(part)}: {name} name their class ({', '.join(words[:3])}), {number} "
        f"number it ({', '.join(numbers[:3])}); each class stands there as two"
    )
    return present(why, value=len(words), threshold=0, where=(Place(part.files[0]),))


@needs_data
def classes_unseen(data: DataSet, view: View, share: float) -> Finding:
    """A share of the evaluation data is of classes that the training data do not have.

    Or frequent values of masks are others in evaluation than in training (0 and 255 for 0 and 1).
    """
    del view
    masks = _masks_unseen(data)
    if masks is not None:
        return masks
    train = [p for p in data.training if p.labels is not None and p.labels.classes]
    held = [p for p in data.of("eval", "test") if p.labels is not None and p.labels.classes]
    if not train or not held:
        return unknown("labels of training and of evaluation data are not both there")
    by_folder = any(p.labels.by_folder for p in train if p.labels is not None)
    known = {c for p in train if p.labels is not None for c in p.labels.counts}
    for part in held:
        if part.labels is None or part.labels.by_folder != by_folder:
            continue
        new = [c for c in part.labels.counts if c not in known]
        if by_folder and len(new) == len(part.labels.counts) and len(_stems(known | set(new))) == 1:
            return unknown(
                "folders of one name and a number each, none in two splits: clips or persons, no classes"
            )
        concerned = sum(part.labels.counts[c] for c in new) / max(1, sum(part.labels.counts.values()))
        if concerned >= share and all(p.whole for p in train):
            why = (
                f"{concerned:.1%} of the {part.name} are of {many(len(new), 'class')} that training lacks: "
                f"{', '.join(new[:4])}"
            )
            return present(why, value=concerned, threshold=share, where=(Place(part.files[0]),))
        if new:
            return unknown("single classes of evaluation were not met in training, or training was sampled")
    return absent(f"every class of evaluation is among the {len(known)} of training", value=0)


MASKS, OFTEN = 10, 0.2  # masks of a split that tell its values, and the share of them that hold one


def _masks_unseen(data: DataSet) -> Finding | None:
    """Values of masks that are frequent in one split and never stand in the other, on both sides."""
    for held in data.of("eval", "test"):
        for train in data.training:
            mine, theirs = train.masked, held.masked
            if mine is None or theirs is None or min(mine.looked, theirs.looked) < MASKS:
                continue
            if mine.smoothed or theirs.smoothed:
                continue  # values of their borders are as many as there are
            ours = sorted(v for v, n in mine.values.items() if n >= OFTEN * mine.looked)
            new = [v for v, n in theirs.values.items() if n >= OFTEN * theirs.looked and v not in mine.values]
            gone = [v for v in ours if v not in theirs.values]
            if new and gone:
                there = ", ".join(map(str, sorted(new)[:4]))
                why = (
                    f"{said_of(held)} hold {there}, which those of training ("
                    f"{', '.join(map(str, ours[:4]))}) never do, and lack {', '.join(map(str, gone[:4]))}"
                )
                where = (Place(held.files[0]), Place(train.files[0]))
                return present(why, value=len(new), threshold=0, where=where)
    return None


@needs_data
def classes_absent(data: DataSet, view: View, share: float, least: float) -> Finding:
    """A class of a share of the training data, of which evaluation should hold `least` samples, is gone."""
    del view
    looked = 0
    for held in data.of("eval", "test"):
        for train in data.training:
            known, there = _valid(train), _valid(held)
            alike = known and there and train.labels is not None and held.labels is not None
            if (
                not alike
                or train.kind != held.kind
                or not (train.whole and held.whole)
                or not set(known) & set(there)
            ):
                continue  # none in both: other names, or classes that are to be new
            looked += 1
            rows, count = sum(known.values()), sum(there.values())
            gone = [
                c
                for c, n in known.items()
                if c not in there and n >= share * rows and n / rows * count >= least
            ]
            if gone and len(known) > 2 and len(gone) >= len(known) / 2:
                return unknown("evaluation holds few of the classes of training, as if it were to be so")
            if gone:
                said = f"{many(len(gone), 'class')} of the training data ({', '.join(gone[:4])})"
                part = sum(known[c] for c in gone) / rows
                why = f"none of {looked_at(held)} of {said_of(held)} is of {said}, {part:.0%} of them"
                return present(why, value=part, threshold=share, where=(Place(held.files[0]),))
    if not looked:
        return unknown("labels of training and of evaluation data were not both read whole")
    return absent("evaluation holds every frequent class of training", value=0)


FLAT = 1.5  # the largest class in samples of the smallest, up to which a split was balanced


@needs_data
def splits_classed_differently(data: DataSet, view: View, share: float, least: int) -> Finding:
    """The largest class of evaluation is another than that of training, and shares have moved by `share`.

    Not where one of the splits was balanced: that is done on purpose.
    """
    del view
    looked = ""
    for held in data.of("eval", "test"):
        for train in data.training:
            known, there = _valid(train), _valid(held)
            if held.kind != train.kind or not known or set(known) != set(there) or len(known) < 2:
                continue
            if min(sum(known.values()), sum(there.values())) < least:
                continue
            if any(max(c.values()) < FLAT * min(c.values()) for c in (known, there)):
                continue
            mine, theirs = ({k: n / sum(c.values()) for k, n in c.items()} for c in (known, there))
            moved = sum(abs(mine[k] - theirs[k]) for k in mine) / 2
            most, other = max(mine, key=mine.__getitem__), max(theirs, key=theirs.__getitem__)
            if moved >= share and most != other:
                why = (
                    f"{other} is {theirs[other]:.0%} of {said_of(held)} and {mine[other]:.0%} of training, "
                    f"{most} {theirs[most]:.0%} and {mine[most]:.0%}"
                )
                where = (Place(held.files[0]), Place(train.files[0]))
                return present(why, value=moved, threshold=share, where=where)
            looked = looked or said_of(held)
    if not looked:
        return unknown("no classes of training and evaluation data to hold against each other")
    return absent(f"classes have alike shares in training and in {looked}", threshold=share)


def _stems(names: set[str]) -> set[str]:
    """Names without their number; a name without one stays apart from all others."""
    return {NUMBERED.sub("", n) if len(NUMBERED.sub("", n)) > 1 else n for n in names}


@needs_data
def label_noise(
    data: DataSet,
    view: View,
    share: float,
    agreement: float,
    pictures: float,
    wrong: float,
    tail: float,
    flat: float,
    own: float,
    least: int,
) -> Finding:
    """Samples whose nearest neighbours nearly all carry one other label, of tables or pictures: a suspicion.

    Of many wrong labels neighbours tell little; there a linear model errs (at most `wrong`) as often far from
    the border (`tail`, and `flat` times as often as over all) on samples whose neighbours agree with it.
    """
    del view
    found = [(p, s) for p in data.training if (s := _suspects(p, data.bounds.seed)) is not None]
    for part, one in found:
        part_share = one.count / one.looked
        # Pictures of two classes may look alike: their neighbours must tell all the others.
        enough = one.agreement >= agreement
        if neighbours.pictured(part):
            # Wrong labels lie between all classes; those of classes that look alike between a few.
            spread = one.classes >= SPREAD_OVER and one.count >= least and one.one_way <= ONE_WAY
            enough = one.agreement >= (agreement if spread else pictures * (1 - part_share))
        if part_share >= share and enough:
            why = (
                f"{one.count} of {many(one.looked, 'sample')} of {said_of(part)} stand among neighbours of "
                f"one other label ({', '.join(one.examples)}): suspected, not proven"
            )
            return present(why, value=part_share, threshold=share, where=one.places[:5])
    for part in data.training:
        moved = _shifted(part, data.bounds.seed)
        if moved is not None:
            where = "after" if moved[0] > 0 else "before"
            why = (
                f"labels of {said_of(part)} stand one place {where} their samples: so neighbours agree for "
                f"{moved[1]:.0%} of them, as they are for {moved[2]:.0%}"
            )
            return present(why, value=moved[1], threshold=neighbours.BELONG, where=(Place(part.files[0]),))
    for part in data.training:
        far = _flips(part, data.bounds.seed)
        if far is None or far.count < least or far.wrong > wrong or far.own > own:
            continue
        if far.tail >= tail and far.flat >= flat:
            why = (
                f"{many(far.count, 'sample')} of {said_of(part)} that lie far on the side of one class carry "
                f"another label ({far.tail:.0%} or more there on every side): suspected, not proven"
            )
            return present(why, value=far.tail, threshold=tail, where=far.places[:5])
    judged = [one for _, one in found if one.agreement >= agreement]
    if judged:
        shown = judged[0]
        why = f"among neighbours of another label stand {shown.count} of {many(shown.looked, 'sample')}"
        return absent(why, value=shown.count / shown.looked, threshold=share)
    if found:
        return unknown("the classes overlap too much for neighbours to tell wrong labels")
    return unknown("no table of numbers with classes and at least 60 samples among the training data")


@lru_cache(maxsize=8)
def _suspects(part: Part, seed: int) -> neighbours.Suspects | None:
    return neighbours.suspects(part, seed)


@lru_cache(maxsize=8)
def _shifted(part: Part, seed: int) -> tuple[int, float, float] | None:
    return neighbours.shifted(part, seed)


@lru_cache(maxsize=8)
def _flips(part: Part, seed: int) -> flips.Flips | None:
    return flips.flips(part, seed)


# Who gave the label of a row, where several label the same samples: their disagreement is to be seen
_JUDGES = re.compile(
    r"(?:annotator|worker|rater|coder|assessor|labell?er|judge|reviewer)s?(?:[ _-]?(?:id|name|no))?",
    re.IGNORECASE,
)


def _judged_by(part: Part) -> str | None:
    """The column that says who labelled a row; None where no such column is there."""
    return next((c.name for c in part.columns if _JUDGES.fullmatch(c.name)), None)


@needs_data
def labels_contradict(data: DataSet, view: View, share: float) -> Finding:
    """Samples that are equal but for their label."""
    del view
    looked = 0
    for part in data.training:
        one = neighbours.contradicting(part)
        if one is None or not one.looked or not neighbours.telling(part):
            continue
        looked += one.looked
        if one.share >= share and (by := _judged_by(part)):
            return unknown(f"each sample has a row for each of several who labelled it ({by})")
        if one.share >= share:
            held = f"{many(one.looked, 'sample')} of {said_of(part)}"
            why = f"{one.count} of {held} with an equal one that has another label"
            return present(why, value=one.share, threshold=share, where=one.places)
    for part in data.training:
        if part.seen is not None and len(part.seen.torn) >= max(LEAST_TORN, share * part.seen.told):
            mine, other = part.seen.torn[0]
            of = f"{len(part.seen.torn)} of {part.seen.told} pictures of {said_of(part)}"
            why = f"{of} are all but equal to one of another class ({mine.file} and {other.file})"
            where = tuple(m for m, _ in part.seen.torn[:3])
            return present(why, value=len(part.seen.torn) / part.seen.told, threshold=share, where=where)
    if not looked:
        return unknown("no training data with labels whose samples are told apart by their values")
    return absent(
        f"{many(looked, 'sample')}: none or few with an equal one of another label", threshold=share
    )


@needs_data
def labels_all_ignored(data: DataSet, view: View) -> Finding:
    """Dumped label arrays, or lists of labels of samples, that hold nothing but the ignore index.

    Of stored samples a hundredth may: a prompt that fills its whole row.
    """
    del view
    lists = [p for p in data.parts if p.kind in RAW and p.labels is not None and p.labels.batches]
    for part in lists:
        if part.labels is not None and part.labels.ignored > LISTS_IGNORED * part.labels.batches:
            why = (
                f"{part.labels.ignored} of {many(part.labels.batches, 'sample')} of {said_of(part)} have "
                "labels that are all ignored (-100)"
            )
            return present(why, value=part.labels.ignored, threshold=0, where=part.labels.all_ignored[:5])
    parts = [p for p in data.parts if p.kind == "batches" and p.labels is not None and p.labels.batches]
    for part in parts:
        if part.labels is not None and part.labels.all_ignored:
            count = len(part.labels.all_ignored)
            why = f"only the ignore index in {count} of {many(part.labels.batches, 'batch')}"
            return present(why, value=count, threshold=0, where=part.labels.all_ignored[:5])
    if lists and not parts:
        return absent("every sample carries labels that count, or nearly every one", value=0)
    if not parts:
        return unknown("no dumped batches with labels among the data files")
    return absent("every dumped batch carries valid labels", value=0)


@needs_data
def masks_empty(data: DataSet, view: View) -> Finding:
    """Attention masks among dumped batches with a row that leaves nothing to attend to."""
    del view
    masks = sum(p.masks for p in data.parts)
    found = [m for p in data.parts for m in p.masks_empty]
    if found:
        why = f"{len(found)} of {masks} attention masks have a row that hides everything"
        return present(why, value=len(found), threshold=0, where=tuple(found[:5]))
    if not masks:
        return unknown("no attention masks among the data files")
    return absent(f"{masks} attention masks leave something in every row", value=0)
