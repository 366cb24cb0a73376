"""Line charts as SVG, without a dependency: the same text for the same curves, small, and fit for the dark.

Long curves are thinned so that every spike survives (lowest and highest point of each bucket). Points that
are no finite number are drawn as what they are: a gap with a shaded band and a cross, never a bridge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .model import Curve, Mark
from .text import number, plain

WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 46, 40
MOST_POINTS = 600
DECADES = 1.5  # spread of positive values from which the axis is logarithmic
MOST_BANDS = 40
LARGEST, FURTHEST = 1e300, 1e15  # beyond these a value, a step is drawn at the edge
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
DENSE = 150  # points from which dashes would only blur a curve

# Okabe-Ito blue and orange: told apart with any colour vision; the benchmark is dashed as well.
STYLE = """
.bg{fill:#fff}.grid{stroke:#e3e6ea}.axis{stroke:#8a929b}.ink{fill:#30363d}.soft{fill:#5b646e}
.run{stroke:#0072b2;fill:none;stroke-width:1.8;stroke-linejoin:round}
.benchmark{stroke:#d55e00;fill:none;stroke-width:1.6;stroke-dasharray:6 4;stroke-linejoin:round}
.dense{stroke-width:1.3;stroke-dasharray:none}
.run-dot{fill:#0072b2}.benchmark-dot{fill:#d55e00}
.bad{stroke:#b3261e;stroke-width:1.4;stroke-dasharray:2 3}.bad-ink{fill:#b3261e}
.band{fill:#b3261e;fill-opacity:.12}.cross{stroke:#b3261e;stroke-width:1.6;fill:none}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.title{font-size:14px;font-weight:600}.small{font-size:11px}
@media (prefers-color-scheme:dark){
.bg{fill:#0d1117}.grid{stroke:#262c34}.axis{stroke:#6b7580}.ink{fill:#e6edf3}.soft{fill:#a5afba}
.run{stroke:#56b4e9}.benchmark{stroke:#e69f00}.run-dot{fill:#56b4e9}.benchmark-dot{fill:#e69f00}
.bad{stroke:#ff8078}.bad-ink{fill:#ff8078}.band{fill:#ff8078}.cross{stroke:#ff8078}}
""".replace("\n", "")


@dataclass(frozen=True, slots=True)
class Axis:
    """A mapping from values to pixels: `low` is drawn at `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value, held inside the axis."""
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            place = math.log10(max(value, self.low)) if value > 0 else low
        else:
            low, high, place = self.low, self.high, value
        share = (place - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


Point = tuple[float, float]


def chart(title: str, curves: Sequence[Curve], unit: str = "step") -> str:
    """Draw curves of one quantity over one axis (`unit` names it), as an SVG document."""
    drawn = [(c, _points(c)) for c in curves]
    x = _horizontal([p for _, points in drawn for p in points])
    y = _vertical([v for _, points in drawn for _, v in points if math.isfinite(v)])
    parts = [*_head(title, curves), *_grid(x, y, unit)]
    for curve, points in drawn:
        parts += _bands(curve, points, x)
    for mark in (m for c in curves for m in c.marks):
        parts += _mark(mark, x)
    for curve, points in drawn:
        parts += _line(curve, points, x, y)
    parts += _legend(title, curves)
    if not any(math.isfinite(v) for _, points in drawn for _, v in points):
        middle = f'x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT / 2:g}" text-anchor="middle"'
        parts.append(f'<text class="soft" {middle}>no finite value was logged</text>')
    return "\n".join([*parts, "</svg>", ""])


# ------------------------------------------------------------------------------------------------ data


def _points(curve: Curve) -> list[Point]:
    """Return the points in order of steps; those without a finite step cannot be drawn."""
    pairs = zip(curve.steps, curve.values, strict=True)
    held = ((_held(s, FURTHEST), _held(v, LARGEST)) for s, v in pairs if math.isfinite(s))
    return sorted(held, key=lambda p: p[0])


def _held(value: float, limit: float) -> float:
    """Hold a number inside limits that axes can calculate with; NaN and infinities stay."""
    return max(-limit, min(limit, float(value))) if math.isfinite(value) else float(value)


def thin(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """Return at most `most` of these finite points: the lowest and the highest of each bucket, in order."""
    if len(points) <= most:
        return list(points)
    buckets = max(1, most // 2)
    kept: list[Point] = []
    for i in range(buckets):
        part = points[i * len(points) // buckets : (i + 1) * len(points) // buckets]
        low = min(range(len(part)), key=lambda j: part[j][1])
        high = max(range(len(part)), key=lambda j: part[j][1])
        kept += [part[j] for j in sorted({low, high})]
    return kept


def _runs(points: Sequence[Point]) -> Iterator[tuple[bool, list[Point]]]:
    """Cut points where they change between finite and not finite."""
    part: list[Point] = []
    for point in points:
        if part and math.isfinite(point[1]) != math.isfinite(part[-1][1]):
            yield math.isfinite(part[0][1]), part
            part = []
        part.append(point)
    if part:
        yield math.isfinite(part[0][1]), part


# ------------------------------------------------------------------------------------------------ axes


def _horizontal(points: Sequence[Point]) -> Axis:
    steps = [s for s, _ in points] or [0.0, 1.0]
    low, high = min(steps), max(steps)
    return Axis(low, high if high > low else low + 1.0, LEFT, WIDTH - RIGHT)


def _vertical(values: Sequence[float]) -> Axis:
    bottom, top = HEIGHT - BOTTOM, TOP
    if not values:
        return Axis(0.0, 1.0, bottom, top)
    low, high = min(values), max(values)
    positive = [v for v in values if v > 0]
    if low >= 0 and positive and len(positive) >= 0.5 * len(values):
        least = min(positive)
        if high / least >= 10**DECADES:
            return Axis(least / 1.15, high * 1.15, bottom, top, log=True)
    room = 0.05 * (high - low) or abs(high) * 0.1 or 1.0
    floor = 0.0 if 0 <= low < 0.25 * high else low - room
    return Axis(floor, high + room, bottom, top)


def ticks(axis: Axis, about: int = 5) -> list[float]:
    """Return round values inside an axis."""
    if axis.log:
        first, last = math.ceil(math.log10(axis.low)), math.floor(math.log10(axis.high))
        every = max(1, math.ceil((last - first + 1) / (about + 1)))
        found = [10.0**e for e in range(first, last + 1, every) if -300 < e < 300]
        return found if len(found) >= 2 else _between(axis)
    raw = (axis.high - axis.low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
    first = math.ceil(axis.low / step - 1e-9)
    return [k * step for k in range(first, math.floor(axis.high / step + 1e-9) + 1)]


def _between(axis: Axis) -> list[float]:
    """Ticks 1, 2, 5 for a logarithmic axis of less than two decades."""
    exponents = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    return [m * 10.0**e for e in exponents for m in (1, 2, 5) if axis.low <= m * 10.0**e <= axis.high]


def _tick_label(value: float) -> str:
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    return number(round(value, 10))


# --------------------------------------------------------------------------------------------- drawing


def _head(title: str, curves: Sequence[Curve]) -> list[str]:
    described = "; ".join(_described(c) for c in curves)
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-labelledby="t d">',
        f'<title id="t">{_xml(title)}</title>',
        f'<desc id="d">{_xml(described)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="bg" width="{WIDTH}" height="{HEIGHT}"/>',
    ]


def _described(curve: Curve) -> str:
    values = [float(v) for v in curve.values]
    finite = [v for v in values if math.isfinite(v)]
    said = f"{curve.side}: {len(values)} points"
    if finite:
        said += f", from {number(finite[0])} to {number(finite[-1])}"
        said += f", lowest {number(min(finite))}, highest {number(max(finite))}"
    if len(finite) < len(values):
        said += f", {len(values) - len(finite)} not finite"
    return said


def _grid(x: Axis, y: Axis, unit: str) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for value in ticks(y):
        at = f"{y(value):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(
            f'<text class="soft small" x="{LEFT - 8}" y="{at}" dy=".35em" text-anchor="end">'
            f"{_xml(_tick_label(value))}</text>"
        )
    for value in ticks(x, 7):
        at = f"{x(value):.1f}"
        parts.append(f'<line class="axis" x1="{at}" x2="{at}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(
            f'<text class="soft small" x="{at}" y="{bottom + 17}" text-anchor="middle">'
            f"{_xml(_tick_label(value))}</text>"
        )
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    label = _xml(f"{unit} (vertical axis: logarithmic)" if y.log else unit)
    parts.append(
        f'<text class="soft small" x="{middle:g}" y="{HEIGHT - 8}" text-anchor="middle">{label}</text>'
    )
    return parts


def _line(curve: Curve, points: Sequence[Point], x: Axis, y: Axis) -> list[str]:
    """Draw the finite stretches of a curve; a lone point is a dot."""
    total = max(1, len(points))
    parts = []
    for finite, part in _runs(points):
        if not finite:
            continue
        kept = thin(part, max(2, MOST_POINTS * len(part) // total))
        pixels = [(f"{x(s):.1f}", f"{y(v):.1f}") for s, v in kept]
        if len(pixels) == 1:
            parts.append(
                f'<circle class="{curve.side}-dot" cx="{pixels[0][0]}" cy="{pixels[0][1]}" r="2.5"/>'
            )
        else:
            path = " ".join(",".join(p) for p in pixels)
            parts.append(f'<polyline class="{_style(curve)}" points="{path}"/>')
        if len(parts) >= MOST_POINTS:
            break
    return parts


def _style(curve: Curve) -> str:
    return f"{curve.side} dense" if len(curve.steps) > DENSE else curve.side


def _bands(curve: Curve, points: Sequence[Point], x: Axis) -> list[str]:
    """Shade where the values are not finite, with a cross at the start and the word at the first place."""
    stretches = [part for finite, part in _runs(points) if not finite]
    parts = []
    for number_of, part in enumerate(_merged(stretches, x)):
        start, end = x(part[0][0]), x(part[-1][0])
        width = max(3.0, end - start)
        height = HEIGHT - BOTTOM - TOP
        parts.append(f'<rect class="band" x="{start:.1f}" y="{TOP}" width="{width:.1f}" height="{height}"/>')
        low = HEIGHT - BOTTOM - 7
        parts.append(f'<path class="cross" d="M{start - 4:.1f},{low - 4} l8,8 m0,-8 l-8,8"/>')
        if number_of == 0:
            word = "NaN" if math.isnan(part[0][1]) else "infinite"
            word = word if curve.side == "run" else f"{word} (benchmark)"
            parts.append(_beside(start + 4, low - 9, word, "bad-ink small"))
    return parts


def _merged(stretches: Sequence[list[Point]], x: Axis) -> list[list[Point]]:
    """Join stretches less than four pixels apart: they could not be told apart."""
    joined: list[list[Point]] = []
    for part in stretches:
        if joined and (x(part[0][0]) - x(joined[-1][-1][0]) < 4 or len(joined) >= MOST_BANDS):
            joined[-1] = [joined[-1][0], part[-1]]
        else:
            joined.append(list(part))
    return joined


def _mark(mark: Mark, x: Axis) -> list[str]:
    if not math.isfinite(mark.step):
        return []
    at = x(mark.step)
    return [
        f'<line class="bad" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 14}" y2="{HEIGHT - BOTTOM}"/>',
        _beside(at + 5, TOP - 6, plain(mark.label, 70), "bad-ink small"),
    ]


def _beside(at: float, y: float, text: str, style: str) -> str:
    """Put text right of a place, or left of it where it would run out of the picture."""
    width = 6.2 * len(text)
    anchor = ""
    if at + width > WIDTH - RIGHT:
        at, anchor = max(at - 10, width), ' text-anchor="end"'
    return f'<text class="{style}" x="{at:.1f}" y="{y:.1f}"{anchor}>{_xml(text)}</text>'


def _legend(title: str, curves: Sequence[Curve]) -> list[str]:
    parts = [f'<text class="ink title" x="{LEFT}" y="22">{_xml(plain(title, 60))}</text>']
    at = WIDTH - RIGHT
    for side in ("benchmark", "run"):
        found = [c for c in curves if c.side == side]
        if found:
            at -= 7 * len(side)
            parts.append(f'<text class="ink small" x="{at}" y="22">{side}</text>')
            at -= 34
            parts.append(f'<line class="{_style(found[0])}" x1="{at}" x2="{at + 28}" y1="18" y2="18"/>')
            at -= 16
    return parts


def _xml(text: str) -> str:
    return plain(text).translate(ESCAPES)
