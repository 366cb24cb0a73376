"""Eight landmarks on fish photos, direct coordinate regression.

frames.npz holds   images (N, H, W, 3) uint8   points (N, 8, 3) float: x, y in pixels, visible 0/1
                   clip (N,) int: the video a frame is from
"""
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

FRAMES = pathlib.Path("frames.npz")
RESULT = pathlib.Path("fishpose.pt")
SIDE = 128
N_POINTS = 8
LEFT_RIGHT = [(2, 3), (4, 5)]  # paired fins
CHANNELS = (24, 48, 96, 192)
BATCH = 32
EPOCHS = 120
PEAK_LR = 1e-3
WARM_STEPS = 200
WEIGHT_DECAY = 1e-2
GRAD_NORM = 5.0
EMA_DECAY = 0.998
MAX_SHIFT = 12
PCK_RADIUS = 0.05
VAL_SHARE = 0.2
SEED = 4
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


# ---------------------------------------------------------------- data

def read_frames(path):
    raw = np.load(path)
    return torch.from_numpy(raw["images"]), torch.from_numpy(raw["points"]).float(), raw["clip"]


def split_by_clip(clip, share, rng):
    clips = rng.permutation(np.unique(clip))
    held = clips[: max(1, int(len(clips) * share))]
    is_val = np.isin(clip, held)
    return np.flatnonzero(~is_val), np.flatnonzero(is_val)


def to_input(images):
    """(B, H, W, 3) bytes -> (B, 3, H, W) around zero."""
    return (images.permute(0, 3, 1, 2).float() / 255.0 - 0.45) / 0.22


def to_target(points):
    """Pixel coordinates -> 0..1."""
    return points[..., :2] / SIDE


def swap_sides(points):
    points = points.clone()
    for a, b in LEFT_RIGHT:
        points[[a, b]] = points[[b, a]]
    return points


def mirror(image, points):
    points = points.clone()
    points[:, 0] = SIDE - 1 - points[:, 0]
    return image.flip(1), swap_sides(points)


def shift(image, points, rng):
    dx, dy = (int(v) for v in rng.integers(-MAX_SHIFT, MAX_SHIFT + 1, size=2))
    padded = F.pad(image.permute(2, 0, 1), (MAX_SHIFT,) * 4)
    top, left = MAX_SHIFT - dy, MAX_SHIFT - dx
    image = padded[:, top:top + SIDE, left:left + SIDE].permute(1, 2, 0)
    points = points.clone()
    points[:, 0] += dx
    points[:, 1] += dy
    inside = ((points[:, :2] >= 0) & (points[:, :2] < SIDE)).all(dim=1)
    points[:, 2] *= inside
    return image, points


def augment(image, points, rng):
    if rng.random() < 0.5:
        image, points = mirror(image, points)
    image, points = shift(image, points, rng)
    gain = rng.uniform(0.8, 1.2)
    return (image.float() * gain).clamp(0, 255), points


def batches(images, points, index, rng=None):
    """Training batches in random order with augmentation when rng is given, else everything as it is."""
    order = index if rng is None else rng.permutation(index)
    for k in range(0, len(order), BATCH):
        part = order[k:k + BATCH]
        if rng is None:
            yield images[part].to(DEVICE), points[part].to(DEVICE)
            continue
        pairs = [augment(images[i], points[i], rng) for i in part]
        yield torch.stack([p[0] for p in pairs]).to(DEVICE), torch.stack([p[1] for p in pairs]).to(DEVICE)


# ---------------------------------------------------------------- model

def stage(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(),
        nn.Conv2d(c_out, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(),
    )


def build_model():
    stages = [stage(a, b) for a, b in zip((3,) + CHANNELS, CHANNELS)]
    model = nn.Sequential(
        *stages,
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(CHANNELS[-1] * 16, 256),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(256, N_POINTS * 2),
        nn.Sigmoid(),
        nn.Unflatten(1, (N_POINTS, 2)),
    )
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
    return model


def landmark_loss(predicted, points):
    visible = points[..., 2]
    distance = F.smooth_l1_loss(predicted, to_target(points), beta=0.05, reduction="none").sum(dim=-1)
    return (distance * visible).sum() / visible.sum().clamp(min=1.0)


# ---------------------------------------------------------------- training

def ema_start(model):
    return {k: v.detach().clone() for k, v in model.state_dict().items()}


@torch.no_grad()
def ema_update(ema, model, step):
    decay = min(EMA_DECAY, (1 + step) / (10 + step))
    for k, v in model.state_dict().items():
        if v.dtype.is_floating_point:
            ema[k].lerp_(v, 1 - decay)
        else:
            ema[k].copy_(v)


def lr_at(step, total):
    if step < WARM_STEPS:
        return PEAK_LR * (step + 1) / WARM_STEPS
    return PEAK_LR * 0.5 * (1 + math.cos(math.pi * (step - WARM_STEPS) / max(1, total - WARM_STEPS)))


def set_lr(optimizer, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr


def train_step(model, optimizer, images, points):
    loss = landmark_loss(model(to_input(images)), points)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), GRAD_NORM)
    optimizer.step()
    return loss.item()


@torch.no_grad()
def score(model, weights, images, points, index):
    """Mean loss and share of visible landmarks within PCK_RADIUS of the image side."""
    model.eval()
    losses, hits, seen = [], 0.0, 0.0
    for x, p in batches(images, points, index):
        predicted = functional_call(model, weights, (to_input(x),))
        losses.append(landmark_loss(predicted, p).item())
        near = (predicted - to_target(p)).norm(dim=-1) < PCK_RADIUS
        hits += (near * p[..., 2]).sum().item()
        seen += p[..., 2].sum().item()
    return sum(losses) / len(losses), hits / max(seen, 1.0)


def run():
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    images, points, clip = read_frames(FRAMES)
    train_index, val_index = split_by_clip(clip, VAL_SHARE, rng)
    model = build_model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_LR, weight_decay=WEIGHT_DECAY)
    ema = ema_start(model)
    total = EPOCHS * math.ceil(len(train_index) / BATCH)
    step, best = 0, 0.0
    for epoch in range(EPOCHS):
        model.train()
        losses = []
        for x, p in batches(images, points, train_index, rng):
            set_lr(optimizer, lr_at(step, total))
            losses.append(train_step(model, optimizer, x, p))
            step += 1
            ema_update(ema, model, step)
        val_loss, pck = score(model, ema, images, points, val_index)
        print(f"{epoch:3d}  train {np.mean(losses):.5f}  val {val_loss:.5f}  pck {pck:.3f}")
        if pck > best:
            best = pck
            torch.save(ema, RESULT)
    print(f"best pck {best:.3f}")


if __name__ == "__main__":
    run()
