"""Fit a one-object detector. Usage: python train.py --epochs 30 --batch-size 32 --hyp hyp.yaml"""
import argparse
import math
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import yaml

NAMES = ["bolt", "nut", "ring", "plate"]
SIZE = 24


def make_images(n, seed):
    """Parts on a conveyor: images n x SIZE x SIZE, boxes (cx, cy, w, h) in 0..1, classes."""
    rng = np.random.default_rng(seed)
    images = rng.normal(90, 18, (n, SIZE, SIZE))
    boxes, classes = np.zeros((n, 4)), rng.integers(0, len(NAMES), n)
    ys, xs = np.mgrid[0:SIZE, 0:SIZE]
    for i, c in enumerate(classes):
        w, h = rng.uniform(7, 13, 2)
        cx, cy = rng.uniform(w / 2, SIZE - w / 2), rng.uniform(h / 2, SIZE - h / 2)
        u, v = (xs + 0.5 - cx) / (w / 2), (ys + 0.5 - cy) / (h / 2)
        inside = (abs(u) < 1) & (abs(v) < 1)
        radius = np.hypot(u, v)
        part = {
            0: inside & ((abs(u) < 0.35) | (v < -0.4)),
            1: inside & (abs(u) + abs(v) < 1.35) & (radius > 0.45),
            2: (radius < 1) & (radius > 0.6),
            3: inside,
        }[int(c)]
        images[i] += np.where(part, rng.uniform(50, 110), 0.0)
        boxes[i] = np.array([cx, cy, w, h]) / SIZE
    return np.clip(images, 0, 255).astype(np.uint8), boxes.astype(np.float32), classes


def create_dataloader(n, seed, batch_size, shuffle, hyp=None):
    images, boxes, classes = make_images(n, seed)
    images = torch.from_numpy(images).unsqueeze(1)
    boxes, classes = torch.from_numpy(boxes), torch.from_numpy(classes)

    def collate(indices):
        index = torch.as_tensor(indices)
        return images[index], boxes[index], classes[index]

    return torch.utils.data.DataLoader(range(n), batch_size, shuffle=shuffle, collate_fn=collate)


def augment(imgs, boxes, hyp):
    """Flip and shift; the boxes move along."""
    flip = torch.rand(len(imgs)) < 0.5
    imgs[flip] = imgs[flip].flip(-1)
    boxes = boxes.clone()
    boxes[flip, 0] = 1 - boxes[flip, 0]
    limit = int(hyp["translate"] * SIZE)
    for i in range(len(imgs) if limit else 0):
        left = math.ceil((boxes[i, 0] - boxes[i, 2] / 2).item() * SIZE)
        right = math.ceil((1 - boxes[i, 0] - boxes[i, 2] / 2).item() * SIZE)
        shift = int(torch.randint(-min(limit, max(0, left)), min(limit, max(0, right)) + 1, (1,)))
        imgs[i] = imgs[i].roll(shift, -1)
        boxes[i, 0] += shift / SIZE
    if hyp["mixup"]:
        imgs = (1 - hyp["mixup"]) * imgs + hyp["mixup"] * imgs[torch.randperm(len(imgs))]
    return imgs, boxes


class Conv(nn.Module):
    def __init__(self, c1, c2, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, 3, s, 1, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Model(nn.Module):
    def __init__(self, ch, nc):
        super().__init__()
        self.backbone = nn.Sequential(Conv(1, ch), Conv(ch, 2 * ch, 2), Conv(2 * ch, 4 * ch, 2), Conv(4 * ch, 4 * ch, 2))
        self.box = nn.Sequential(nn.Flatten(), nn.Linear(36 * ch, 48), nn.SiLU(), nn.Linear(48, 4))
        self.cls = nn.Sequential(nn.Flatten(), nn.Linear(36 * ch, nc))

    def forward(self, x):
        x = self.backbone(x)
        return self.box(x).sigmoid(), self.cls(x)


class ModelEMA:
    def __init__(self, model, decay=0.98, tau=50):
        self.ema = deepcopy(model).eval()
        self.updates = 0
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))

    def update(self, model):
        self.updates += 1
        d = self.decay(self.updates)
        state = model.state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v.mul_(d).add_((1 - d) * state[k].detach())


def box_iou(a, b):
    x1 = torch.maximum(a[:, 0] - a[:, 2] / 2, b[:, 0] - b[:, 2] / 2)
    x2 = torch.minimum(a[:, 0] + a[:, 2] / 2, b[:, 0] + b[:, 2] / 2)
    y1 = torch.maximum(a[:, 1] - a[:, 3] / 2, b[:, 1] - b[:, 3] / 2)
    y2 = torch.minimum(a[:, 1] + a[:, 3] / 2, b[:, 1] + b[:, 3] / 2)
    inter = (x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)
    return inter / (a[:, 2] * a[:, 3] + b[:, 2] * b[:, 3] - inter + 1e-7)


class ComputeLoss:
    def __init__(self, hyp):
        self.hyp = hyp
        self.bce = nn.BCEWithLogitsLoss()

    def __call__(self, pred, boxes, classes):
        pbox, pcls = pred
        lbox = (1.0 - box_iou(pbox, boxes)).mean() * self.hyp["box"]
        lcls = self.bce(pcls, nn.functional.one_hot(classes, len(NAMES)).float()) * self.hyp["cls"]
        return lbox + lcls, torch.stack((lbox, lcls)).detach()


@torch.no_grad()
def val(model, loader, compute_loss):
    model.eval()
    losses, hits, seen, correct = torch.zeros(2), [], 0, 0
    for imgs, boxes, classes in loader:
        pred = model(imgs.float() / 255)
        losses += compute_loss(pred, boxes, classes)[1] * len(imgs)
        iou = box_iou(pred[0], boxes)
        right = pred[1].argmax(1) == classes
        thresholds = torch.arange(0.5, 1.0, 0.05)
        hits.append(((iou[:, None] > thresholds) & right[:, None]).float())
        seen += len(imgs)
        correct += right.sum().item()
    hits = torch.cat(hits).mean(0)
    return correct / seen, hits[0].item(), hits[0].item() * correct / seen, hits.mean().item(), (losses / seen).tolist()


def smart_optimizer(model, hyp):
    g = [], [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            g[2 if name == "bias" else 1 if isinstance(module, nn.BatchNorm2d) else 0].append(p)
    optimizer = torch.optim.SGD(g[2], lr=hyp["lr0"], momentum=hyp["momentum"], nesterov=True)
    optimizer.add_param_group({"params": g[0], "weight_decay": hyp["weight_decay"]})
    optimizer.add_param_group({"params": g[1], "weight_decay": 0.0})
    return optimizer


def train(hyp, opt):
    save_dir = Path(opt.project) / opt.name
    save_dir.mkdir(parents=True, exist_ok=True)
    (save_dir / "hyp.yaml").write_text(yaml.safe_dump(hyp, sort_keys=False))
    (save_dir / "opt.yaml").write_text(yaml.safe_dump(vars(opt), sort_keys=False))
    train_loader = create_dataloader(opt.train_images, 100, opt.batch_size, True, hyp)
    val_loader = create_dataloader(500, 200, 100, False)
    model = Model(opt.width, len(NAMES))
    optimizer = smart_optimizer(model, hyp)
    lf = lambda x: (1 - x / opt.epochs) * (1.0 - hyp["lrf"]) + hyp["lrf"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lf)
    ema = ModelEMA(model)
    compute_loss = ComputeLoss(hyp)
    nb = len(train_loader)
    nw = max(round(hyp["warmup_epochs"] * nb), 1)
    keys = ["train/box_loss", "train/cls_loss", "metrics/precision", "metrics/recall", "metrics/mAP_0.5",
            "metrics/mAP_0.5:0.95", "val/box_loss", "val/cls_loss", "x/lr0", "x/lr1", "x/lr2"]
    best = 0.0
    for epoch in range(opt.epochs):
        model.train()
        mloss = torch.zeros(2)
        for i, (imgs, boxes, classes) in enumerate(train_loader):
            ni = i + nb * epoch
            imgs = imgs.float() / 255
            imgs, boxes = augment(imgs, boxes, hyp)
            if ni <= nw:
                for j, group in enumerate(optimizer.param_groups):
                    start = hyp["warmup_bias_lr"] if j == 0 else 0.0
                    group["lr"] = float(np.interp(ni, [0, nw], [start, group["initial_lr"] * lf(epoch)]))
            loss, items = compute_loss(model(imgs), boxes, classes)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            ema.update(model)
            mloss = (mloss * i + items) / (i + 1)
        lr = [group["lr"] for group in optimizer.param_groups]
        scheduler.step()
        precision, recall, map50, map_all, vloss = val(ema.ema, val_loader, compute_loss)
        best = max(best, map_all)
        row = [*mloss.tolist(), precision, recall, map50, map_all, *vloss, *lr]
        csv = save_dir / "results.csv"
        head = "" if csv.exists() else ("%20s," * (len(keys) + 1)).rstrip(",") % tuple(["epoch", *keys]) + "\n"
        with open(csv, "a") as f:
            f.write(head + ("%20.5g," * (len(row) + 1)).rstrip(",") % tuple([epoch, *row]) + "\n")
    print(f"{opt.epochs} epochs completed, best mAP_0.5:0.95 {best:.3f}")


def parse_opt():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hyp", default="hyp.yaml")
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--train-images", type=int, default=40)
    parser.add_argument("--width", type=int, default=4)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--project", default="runs/train")
    parser.add_argument("--name", default="exp")
    return parser.parse_args()


if __name__ == "__main__":
    opt = parse_opt()
    torch.set_num_threads(1)
    torch.manual_seed(opt.seed)
    np.random.seed(opt.seed)
    train(yaml.safe_load(open(opt.hyp)), opt)
