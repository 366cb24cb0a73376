"""Annotations of objects: COCO's JSON, Pascal VOC's XML and the text files of YOLO, box by box.

Formats: cocodataset.org/#format-data (bbox is x, y, width, height in pixels, from the top left corner);
Ultralytics: one line per object, class and then shares of the image's width and height.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ...engine.model import Place
from ..files import RunFile
from .gather import Budget, draw_blocks
from .media import IMAGES
from .model import Listed, Part, Split

SLACK = 0.02  # of an image's side by which a box may reach over it: clipping rounds
PIXEL = 1.0  # by which a box may lie outside: coordinates are rounded
MOST_TXT = 256 * 1024
MOST_YAML = 1024**2
REPEATED = 0.01  # share of boxes that stand there again
_FILE, _NAME = re.compile(r"<filename>([^<]+)</filename>"), re.compile(r"<name>([^<]+)</name>")
TRANSPOSED = 5  # EXIF's orientation from which on width and height are exchanged
LOOK = 20  # text files that are looked at to tell whether these are boxes at all


@dataclass(slots=True)
class Boxes:
    """What is wrong with the boxes of one file or folder: reason -> how many, with the first place."""

    form: str  # "COCO", "YOLO", "Pascal VOC"
    file: str
    count: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[Place, str]] = field(default_factory=dict)
    corners: bool = False  # widths and heights read as corners fit every image
    sizes: bool = False  # corners read as widths and heights fit every image
    pixels: bool = False  # shares of the image are pixels throughout
    whole: bool = True
    sizes_told: dict[str, tuple[int, int]] = field(default_factory=dict)  # image -> width, height
    categories: dict[str, str] = field(default_factory=dict)  # name -> number
    names: Counter[str] = field(default_factory=Counter)  # class as it is written -> boxes

    def note(self, why: str, place: Place, example: str) -> None:
        """Count one box that is wrong."""
        self.wrong[why] += 1
        self.first.setdefault(why, (place, example))


def is_coco(found: Any) -> bool:
    """Whether a JSON document is COCO's: images, and annotations that name them."""
    if not isinstance(found, dict):
        return False
    images, notes = found.get("images"), found.get("annotations")
    return (
        isinstance(images, list)
        and isinstance(notes, list)
        and bool(notes)
        and isinstance(notes[0], dict)
        and "image_id" in notes[0]
        and ("bbox" in notes[0] or "category_id" in notes[0])
    )


def read_coco(
    file: RunFile, found: dict[str, Any], split: Split, files: Mapping[str, RunFile], limit: int
) -> tuple[Part, Boxes, Listed | None]:
    """Judge every box of a COCO file, and whether the images that it names are there."""
    images = {str(i.get("id")): i for i in found["images"] if isinstance(i, dict)}
    kinds = {str(c.get("id")) for c in found.get("categories") or () if isinstance(c, dict)}
    boxes, place = Boxes("COCO", file.path), Place(file.path)
    fits = judged = outside = 0
    for one in found["annotations"][:limit]:
        if not isinstance(one, dict):
            continue
        boxes.count += 1
        name = f"annotation {one.get('id', boxes.count)}"
        if kinds and str(one.get("category_id")) not in kinds:
            boxes.note("of a category that is not listed", place, f"{name}: {one.get('category_id')}")
        image = images.get(str(one.get("image_id")))
        if image is None:
            boxes.note("of an image that is not listed", place, f"{name}: {one.get('image_id')}")
        box = _numbers(one.get("bbox"))
        if box is None:
            continue
        x, y, w, h = box
        if w <= 0 or h <= 0:
            boxes.note("without width or height", place, f"{name}: {_said(box)}")
            continue
        size = _numbers([image.get("width"), image.get("height")], 2) if image is not None else None
        if size is None or min(size) <= 0:
            continue
        if (joint := _joint_outside(one.get("keypoints"), size)) is not None:
            boxes.note("with a visible keypoint out of the image", place, f"{name}: {joint}")
        judged += 1
        fits += w > x and h > y and w <= size[0] + PIXEL and h <= size[1] + PIXEL
        if x < -PIXEL or y < -PIXEL or x + w > size[0] + PIXEL or y + h > size[1] + PIXEL:
            outside += 1
            text = f"{name}: {_said(box)} in {size[0]:g}x{size[1]:g}"
            boxes.note("that reach out of the image", place, text)
    boxes.whole = len(found["annotations"]) <= limit
    _repeated(found["annotations"][:limit], boxes, place)
    boxes.sizes_told = {
        str(i["file_name"]).rpartition("/")[2]: (int(size[0]), int(size[1]))
        for i in images.values()
        if i.get("file_name") and (size := _numbers([i.get("width"), i.get("height")], 2)) and min(size) > 0
    }
    boxes.categories = {
        str(c["name"]): str(c.get("id"))
        for c in found.get("categories") or ()
        if isinstance(c, dict) and c.get("name")
    }
    numbered = {number: name for name, number in boxes.categories.items()}
    used = Counter(str(n.get("category_id")) for n in found["annotations"][:limit] if isinstance(n, dict))
    boxes.names.update({numbered[c]: n for c, n in used.items() if c in numbered})
    boxes.corners = judged >= 30 and fits == judged and outside >= 0.05 * judged
    rows = len(images)
    part = Part(split, "records", "COCO", (file.path,), rows, looked=rows)
    named = [(str(i.get("file_name", "")), file.path) for i in images.values()]
    return part, boxes, listed_images(named, files)


def _joint_outside(told: Any, size: Sequence[float]) -> str | None:
    """The first keypoint (x, y, visibility) that is told to be visible and lies outside of the image."""
    if not isinstance(told, list) or len(told) < 3 or len(told) % 3:
        return None
    values = _numbers(told, len(told)) or []
    for at in range(0, len(values), 3):
        x, y, seen = values[at : at + 3]
        out = x < -PIXEL or y < -PIXEL or x > size[0] + PIXEL or y > size[1] + PIXEL
        if seen == 2 and out:
            return f"keypoint {at // 3 + 1} at {x:g}, {y:g} in {size[0]:g}x{size[1]:g}"
    return None


def _repeated(notes: Sequence[Any], boxes: Boxes, place: Place) -> None:
    """Note boxes of one class and place that an image has again, where these are more than single ones."""
    seen: set[tuple[str, ...]] = set()
    again: list[str] = []
    for one in notes:
        if isinstance(one, dict) and _numbers(one.get("bbox")) is not None and not one.get("iscrowd"):
            key = (str(one.get("image_id")), str(one.get("category_id")), str(one["bbox"]))
            if key in seen:
                again.append(f"annotation {one.get('id')}")
            seen.add(key)
    if len(again) >= REPEATED * len(notes):
        for name in again:
            boxes.note("that stand there twice", place, name)


def held_together(found: Sequence[Boxes], parts: Sequence[Part]) -> None:
    """Hold the sizes that files of boxes tell against the images, and their numbers of classes together."""
    sizes: dict[str, tuple[int, int] | None] = {}
    turned = {
        path.rpartition("/")[2] for part in parts for path, way in part.oriented.items() if way >= TRANSPOSED
    }
    for part in parts:
        for path, size in part.sizes.items() if part.kind == "images" else ():
            name = path.rpartition("/")[2]
            sizes[name] = size if sizes.get(name, size) == size else None  # two images of one name
    for boxes in found:
        for name, told in boxes.sizes_told.items():
            held = sizes.get(name)
            upright = held is not None and name in turned and held[::-1] == told  # readers turn it so
            if held is not None and held != told and not upright:
                lying = ", turned" if held == told[::-1] else ""
                text = f"{name}: {held[0]}x{held[1]}, told as {told[0]}x{told[1]}{lying}"
                boxes.note(
                    "of an image that has another size than the annotations tell", Place(boxes.file), text
                )
    named = [b for b in found if b.categories]
    for boxes in named[1:]:
        first = named[0].categories
        if boxes.categories.keys() == first.keys() and boxes.categories != first:
            name = next(n for n, at in boxes.categories.items() if at != first[n])
            text = f"{name} is {boxes.categories[name]} here, {first[name]} in {named[0].file}"
            for _ in range(boxes.count):
                boxes.note(
                    "of classes that are numbered otherwise than in another file", Place(boxes.file), text
                )


def listed_images(named: Sequence[tuple[str, str]], files: Mapping[str, RunFile]) -> Listed | None:
    """Which images are not there, of (image, file that names it); None where most lie elsewhere."""
    there = {p.rpartition("/")[2] for p, f in files.items() if f.suffix in IMAGES}
    gone = [(n, by) for n, by in named if n and n.rpartition("/")[2] not in there]
    if not named or len(gone) > 0.5 * len(named):
        return None
    lost = tuple((n, 0) for n, _ in gone[:20])
    return Listed((gone or named)[0][1], len(named), lost, len(gone), checked=len(named) - len(gone))


def _numbers(value: Any, count: int = 4) -> list[float] | None:
    if not isinstance(value, list) or len(value) != count:
        return None
    if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in value):
        return None
    return [float(v) for v in value]


def _said(box: Sequence[float]) -> str:
    return "[" + ", ".join(f"{v:.4g}" for v in box) + "]"


# ------------------------------------------------------------------------------------------- Pascal VOC


def read_voc(files: Mapping[str, RunFile], budget: Budget) -> Boxes | None:
    """Judge the boxes of Pascal VOC's XML files, one per image; None where there are none.

    The few tags that are needed are taken by patterns: XML of strangers is not parsed.
    """
    found = [f for f in files.values() if f.suffix == ".xml" and b"<annotation" in f.head[:2048]]
    if not found:
        return None
    found.sort(key=lambda f: f.path)
    boxes = Boxes("Pascal VOC", found[0].path)
    blocks = draw_blocks(len(found), budget.bounds.samples, budget.bounds.seed)
    boxes.whole = sum(b - a for a, b in blocks) == len(found)
    fits = judged = 0
    for file in (found[i] for a, b in blocks for i in range(a, b)):
        if file.size > MOST_TXT or not budget.take(file.size):
            boxes.whole = False
            continue
        text = file.read_text()
        size = _tags(text.partition("<object")[0], ("width", "height"))
        of = _FILE.search(text)
        if of is not None and size is not None and min(size) > 0:
            boxes.sizes_told[of[1].rpartition("/")[2]] = (int(size[0]), int(size[1]))
        for number, one in enumerate(text.split("<object")[1:], 1):
            boxes.count += 1
            kind = _NAME.search(one)
            boxes.names.update([kind[1].strip()] if kind is not None else [])
            box = _tags(one, ("xmin", "ymin", "xmax", "ymax"))
            place, name = Place(file.path), f"object {number}"
            if box is None:
                boxes.note("without four corners", place, name)
                continue
            a, b, c, d = box
            known = size is not None and min(size) > 0
            judged += 1
            fits += c > 0 and d > 0 and (size is None or (a + c <= size[0] + 2 and b + d <= size[1] + 2))
            if c <= a or d <= b:
                boxes.note("turned inside out or without size", place, f"{name}: {_said(box)}")
            elif (
                size is not None
                and known
                and (min(a, b) < -PIXEL or c > size[0] + PIXEL or d > size[1] + PIXEL)
            ):
                text_in = f"{name}: {_said(box)} in {size[0]:g}x{size[1]:g}"
                boxes.note("that reach out of the image", place, text_in)
    boxes.sizes = judged >= 30 and fits == judged and sum(boxes.wrong.values()) >= 0.05 * judged
    return boxes if boxes.count else None


def _outside(box: Sequence[float], size: Sequence[float]) -> bool:
    return min(box[:2]) < -PIXEL or box[2] > size[0] + PIXEL or box[3] > size[1] + PIXEL


def _tags(text: str, names: Sequence[str]) -> list[float] | None:
    """The numbers in these tags; None where one is not there."""
    found = []
    for name in names:
        hit = re.search(rf"<{name}>\s*(-?\d+(?:\.\d+)?)\s*</{name}>", text)
        if hit is None:
            return None
        found.append(float(hit[1]))
    return found


# ------------------------------------------------------------------------------------------------ YOLO


def read_yolo(files: Mapping[str, RunFile], budget: Budget) -> Boxes | None:
    """Judge the boxes of text files that lie in `labels` or beside their image; None where there are none."""
    texts = _label_files(files)
    if not texts or not _are_boxes(texts[:LOOK]):
        return None
    classes = _classes(files)
    boxes = Boxes("YOLO", texts[0].path)
    above = inside = judged = out = ordered = 0
    blocks = draw_blocks(len(texts), budget.bounds.samples, budget.bounds.seed)
    boxes.whole = sum(b - a for a, b in blocks) == len(texts)
    for file in (texts[i] for a, b in blocks for i in range(a, b)):
        if file.size > MOST_TXT or not budget.take(file.size):
            boxes.whole = False
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not line.strip():
                continue
            boxes.count += 1
            place, row = Place(file.path, number), _row(line)
            if row is None or len(row) < 5 or (len(row) == 6 and not 0 <= row[5] <= 1):
                boxes.note("in lines that are not a class and four numbers or more", place, line.strip()[:60])
                continue
            points = row[1:5]
            if max(points) > 1 or min(points) < 0:
                above += min(points) >= 0 and max(points) > 2
                boxes.note("with coordinates outside 0 to 1", place, line.strip()[:60])
            else:
                inside += 1
            if len(row) == 5 and max(points) <= 1 and min(points) >= 0:
                x, y, w, h = points
                judged += 1
                ordered += w >= x and h >= y
                if min(x - w / 2, y - h / 2) < -SLACK or max(x + w / 2, y + h / 2) > 1 + SLACK:
                    out += 1
                    boxes.note("that reach out of the image", place, line.strip()[:60])
            if len(row) == 5 and (row[3] <= 0 or row[4] <= 0):
                boxes.note("without width or height", place, line.strip()[:60])
            if row[0] != int(row[0]) or row[0] < 0 or (classes and row[0] >= classes):
                many = f" of {classes}" if classes else ""
                boxes.note("of a class that is not listed", place, f"class {row[0]:g}{many}")
    boxes.corners = judged >= 30 and ordered == judged and out >= 0.05 * judged
    boxes.pixels = above > 0 and above >= 0.9 * boxes.count and not inside
    return boxes if boxes.count else None


def _label_files(files: Mapping[str, RunFile]) -> list[RunFile]:
    """Text files that share the name of an image, in a folder `labels` or beside it."""
    texts = [f for f in files.values() if f.suffix == ".txt" and f.size]
    if not texts:
        return []
    stems = {p.rpartition(".")[0] for p, f in files.items() if f.suffix in IMAGES}
    names = {s.rpartition("/")[2] for s in stems}
    found = []
    for file in texts:
        stem = file.path.rpartition(".")[0]
        folders = stem.lower().split("/")[:-1]
        if stem in stems or ("labels" in folders and stem.rpartition("/")[2] in names):
            found.append(file)
    return sorted(found, key=lambda f: f.path)


def _row(line: str) -> list[float] | None:
    try:
        row = [float(v) for v in line.split()]
    except ValueError:
        return None
    return row if row and all(map(math.isfinite, row)) else None


def _are_boxes(files: Sequence[RunFile]) -> bool:
    """Whether most lines of these files are a whole number and four or more others: captions are not."""
    lines = [line for f in files for line in f.head_text.splitlines()[:20] if line.strip()]
    good = sum((r := _row(line)) is not None and len(r) >= 4 and r[0] == int(r[0]) for line in lines)
    return bool(lines) and good >= 0.5 * len(lines)


def _classes(files: Mapping[str, RunFile]) -> int:
    """The number of classes that a data.yaml tells; 0 where none does."""
    for path, file in sorted(files.items()):
        if file.suffix not in (".yaml", ".yml") or file.size > MOST_YAML or path.count("/") > 1:
            continue
        try:
            found = yaml.safe_load(file.read_text())
        except (yaml.YAMLError, OSError, ValueError, RecursionError):
            continue
        if not isinstance(found, dict) or not {"train", "val", "names"} & found.keys():
            continue
        names, count = found.get("names"), found.get("nc")
        if isinstance(count, int) and not isinstance(count, bool):
            return max(0, count)
        if isinstance(names, (list, dict)):
            return len(names)
    return 0
