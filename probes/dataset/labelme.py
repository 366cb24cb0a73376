"""labelme's JSON: one file per image, with the shapes that were drawn in it.

Format: github.com/wkentaro/labelme (shapes with label, points [x, y] in pixels and shape_type; imagePath,
imageHeight, imageWidth).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.model import Place
from ..files import RunFile
from .boxes import PIXEL, Boxes, listed_images
from .gather import Budget, LabelGather, Problems
from .model import Listed, Part, Split

LEAST_POINTS = {"polygon": 3, "rectangle": 2, "circle": 2, "line": 2, "linestrip": 2, "point": 1}


def is_labelme(file: RunFile) -> bool:
    """Whether a JSON file is labelme's, by its beginning."""
    head = file.head
    return b'"shapes"' in head and (b'"imagePath"' in head or (b'"version"' in head and b'"flags"' in head))


def read_labelme(
    files: Sequence[RunFile], split: Split, all_files: Mapping[str, RunFile], budget: Budget
) -> tuple[Part, Boxes, Listed | None]:
    """Judge every shape of these files, and whether the images that they name are there."""
    shapes, problems, labels = Boxes("labelme", files[0].path), Problems(), LabelGather("label")
    images: dict[str, str] = {}  # image -> the file that names it
    looked = 0
    for file in files:
        if not budget.take(file.size):
            shapes.whole = False
            break
        try:
            found = json.loads(file.read_text())
        except (ValueError, RecursionError):
            problems.add(file.path, "no JSON")
            continue
        if not isinstance(found, dict) or not isinstance(found.get("shapes"), list):
            problems.add(file.path, "no shapes in it")
            continue
        looked += 1
        image = str(found.get("imagePath") or "").replace("\\", "/").rpartition("/")[2]
        width, height = found.get("imageWidth"), found.get("imageHeight")
        told = (width, height) if isinstance(width, int) and isinstance(height, int) else None
        told = told if told is not None and min(told) > 0 else None
        if image:
            images[image] = file.path
            if told is not None:
                shapes.sizes_told[image] = told
        for number, one in enumerate(found["shapes"], 1):
            if isinstance(one, dict):
                _judge(shapes, one, told, Place(file.path), f"shape {number}")
                labels.add_texts([str(one.get("label") or "")])
    part = Part(
        split,
        "records",
        "labelme",
        tuple(f.path for f in files),
        len(files),
        looked=looked + problems.count,
        labels=labels.labels(),
        problems=tuple(problems.found),
        problem_count=problems.count,
    )
    return part, shapes, listed_images(list(images.items()), all_files)


def _judge(
    shapes: Boxes, one: Mapping[str, Any], size: tuple[int, int] | None, place: Place, name: str
) -> None:
    shapes.count += 1
    kind, points = str(one.get("shape_type") or "polygon"), one.get("points")
    if not isinstance(points, list) or not all(_is_point(p) for p in points):
        shapes.note("without points", place, name)
        return
    told = {(float(x), float(y)) for x, y in points}
    said = (
        f"{name}: {', '.join(f'{x:.4g} {y:.4g}' for x, y in points[:3])}{', ...' if len(points) > 3 else ''}"
    )
    if len(told) < LEAST_POINTS.get(kind, 1):
        shapes.note("with too few points for what they are", place, f"{said} ({kind})")
    elif size is not None and kind != "circle":  # a circle has its middle and one point of its border
        across, down = [x for x, _ in told], [y for _, y in told]
        if min(*across, *down) < -PIXEL or max(across) > size[0] + PIXEL or max(down) > size[1] + PIXEL:
            shapes.note("that reach out of the image", place, f"{said} in {size[0]}x{size[1]}")


def _is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, (int, float)) for v in value)
