"""Pencil drawings of kites with their four corners (top, right, bottom, left) in pixels."""
import numpy as np

CANVAS = 24


def _stroke(canvas, p, q, ink):
    n = int(2 * np.hypot(*(q - p))) + 2
    for s in np.linspace(0, 1, n):
        x, y = p + s * (q - p)
        ix, iy = int(np.floor(x)), int(np.floor(y))
        fx, fy = x - ix, y - iy
        for dx, dy, w in ((0, 0, (1 - fx) * (1 - fy)), (1, 0, fx * (1 - fy)), (0, 1, (1 - fx) * fy), (1, 1, fx * fy)):
            if 0 <= ix + dx < CANVAS and 0 <= iy + dy < CANVAS:
                canvas[iy + dy, ix + dx] = max(canvas[iy + dy, ix + dx], ink * w)


def draw_kite(rng):
    canvas = np.zeros((CANVAS, CANVAS))
    size = rng.uniform(4.0, 6.5)
    tilt = rng.uniform(-0.7, 0.7)
    centre = CANVAS / 2 + rng.uniform(-3.5, 3.5, size=2)
    wing = rng.uniform(0.55, 0.8)
    shape = np.array([[0, -0.8], [wing, -0.1], [0, 1.15], [-wing, -0.1]]) + rng.normal(scale=0.04, size=(4, 2))
    turn = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
    corners = shape @ turn.T * size + centre
    ink = rng.uniform(0.6, 1.0)
    for i in range(4):
        _stroke(canvas, corners[i], corners[(i + 1) % 4], ink)
    _stroke(canvas, corners[1], corners[3], 0.6 * ink)
    if rng.random() < 0.5:  # a bird or a cloud's edge
        a = rng.uniform(1, CANVAS - 2, size=2)
        _stroke(canvas, a, a + rng.uniform(-3, 3, size=2), 0.7 * ink)
    canvas += rng.normal(scale=0.06, size=canvas.shape)
    return np.clip(canvas, 0, 1).astype(np.float32), corners.astype(np.float32)


def album(count, seed):
    rng = np.random.default_rng(seed)
    pages = [draw_kite(rng) for _ in range(count)]
    return np.stack([p[0] for p in pages]), np.stack([p[1] for p in pages])
