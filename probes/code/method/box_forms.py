"""Boxes in scripts that come in another form than the detector takes, or are mirrored about another side."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_DETECTORS = re.compile(
    r"\b(?:fasterrcnn|maskrcnn|keypointrcnn|retinanet|fcos|ssd300|ssdlite320)_\w+\(|\bFasterRCNN\("
)
_WIDTH = re.compile(r"""(?i)(?:^|[._\['"])(?:w|bw|width|box_?w)['"\]]*$""")
_HEIGHT = re.compile(r"""(?i)(?:^|[._\['"])(?:h|bh|height|box_?h)['"\]]*$""")
_COCO = re.compile(r"""^(?:\w+\[['"]bbox['"]\]|\w+\.bbox)$""")
_TURNED = re.compile(r"box_convert|xywh|xyxy|\+=|clip_boxes|\[:, 2:\]|\[2:\]|\[:, 2\]|\[:, 3\]")


def sizes_for_corners(source: Script) -> Finding | None:
    """`[b["x"], b["y"], b["w"], b["h"]]`, COCO's `a["bbox"]`: torchvision's detectors take two corners."""
    if not _DETECTORS.search(source.code):
        return None
    seen: ast.AST | None = None
    mine = flow(source)
    for node in source.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and key.value == "boxes"):
                continue
            for end in (value, *mine.values(value, 4)):
                for made in of(end, ast.ListComp):
                    box = made.elt
                    sides = (
                        box.elts if isinstance(box, (ast.List, ast.Tuple)) and len(box.elts) == 4 else None
                    )
                    if sides is None and not _COCO.match(unparse(box)):
                        continue
                    seen = seen or made
                    scope = source.function_around(made) or source.tree
                    if sides is not None and _are_sizes(sides[2], sides[3]):
                        if not _TURNED.search(unparse(scope)):
                            return at(
                                source,
                                box,
                                "the detector takes two corners, and is given a corner and a size",
                            )
                    if (
                        sides is None
                        and not _TURNED.search(source.code)
                        and re.search(r"(?i)coco", source.code)
                    ):
                        return at(
                            source,
                            box,
                            "COCO's boxes are a corner and a size, and the detector takes two corners",
                        )
    return ok(source, seen, "boxes are two corners") if seen is not None else None


def _are_sizes(third: ast.expr, fourth: ast.expr) -> bool:
    plain = all(isinstance(s, (ast.Name, ast.Subscript, ast.Attribute)) for s in (third, fourth))
    return plain and bool(_WIDTH.search(unparse(third)) and _HEIGHT.search(unparse(fourth)))


def mirrored_about_other_side(source: Script) -> Finding | None:
    """`boxes[:, [0, 2]] = image.height - boxes[:, [2, 0]]`: x is mirrored within the width."""
    seen: ast.AST | None = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or not isinstance(node.right, ast.Subscript):
            continue
        places = sorted(
            int(n) for n in re.findall(r"\[(\d), (\d)\]$", unparse(node.right.slice).strip("()")) for n in n
        )
        axis = {"[0, 2]": "x", "[1, 3]": "y"}.get(str(places))
        side = "x" if _WIDTH.search(unparse(node.left)) else "y" if _HEIGHT.search(unparse(node.left)) else ""
        if not axis or not side:
            continue
        seen = seen or node
        if side != axis:
            told = "the height" if side == "y" else "the width"
            return at(source, node, f"{axis} is mirrored within {told}")
    return ok(source, seen, "places are mirrored within their own side") if seen is not None else None
