# Ported from the CUDA version: torch.npu, hccl and apex of the NPU.
import argparse
import os
import random
import time

import numpy as np
import torch
import torch_npu
import torch.distributed as dist
import torch.nn as nn
from apex import amp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from unet import UNet
from weld_data import IGNORE, WeldSeams

CLASSES = 4


def parse_args():
    parser = argparse.ArgumentParser(description="weld seam segmentation on NPU")
    parser.add_argument("--data-root", default="./welds")
    parser.add_argument("--work-dir", default="./work")
    parser.add_argument("--epochs", default=80, type=int)
    parser.add_argument("--batch-size", default=8, type=int, help="of one device")
    parser.add_argument("--lr", default=0.02, type=float)
    parser.add_argument("--momentum", default=0.9, type=float)
    parser.add_argument("--weight-decay", default=1e-4, type=float)
    parser.add_argument("--warmup-iters", default=300, type=int)
    parser.add_argument("--workers", default=8, type=int)
    parser.add_argument("--opt-level", default="O2", type=str)
    parser.add_argument("--loss-scale", default=128.0, type=float)
    parser.add_argument("--seed", default=11, type=int)
    parser.add_argument("--resume", default="", type=str)
    parser.add_argument("--local_rank", default=int(os.getenv("LOCAL_RANK", "0")), type=int)
    return parser.parse_args()


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.npu.manual_seed_all(seed)


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    random.seed(seed)
    np.random.seed(seed)


class ConfusionMatrix(object):
    def __init__(self, classes, device):
        self.n = classes
        self.mat = torch.zeros((classes, classes), dtype=torch.float32, device=device)

    def update(self, truth, predicted):
        keep = truth != IGNORE
        index = self.n * truth[keep].int() + predicted[keep].int()
        self.mat += torch.bincount(index, minlength=self.n**2).reshape(self.n, self.n).float()

    def reduce(self):
        dist.barrier()
        dist.all_reduce(self.mat)

    def mean_iou(self):
        hit = torch.diag(self.mat)
        union = self.mat.sum(0) + self.mat.sum(1) - hit
        return (hit / union.clamp(min=1)).mean().item()


def train(model, loader, criterion, optimizer, scheduler, epoch, args, device):
    model.train()
    began, total = time.time(), 0.0
    for i, (image, target) in enumerate(loader):
        image = image.to(device, non_blocking=True)
        target = target.to(torch.int32).to(device, non_blocking=True)
        output = model(image)
        loss = criterion(output, target.long())
        optimizer.zero_grad()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        nn.utils.clip_grad_norm_(amp.master_params(optimizer), 10.0)
        optimizer.step()
        scheduler.step()
        total += loss.item()
        if i % 50 == 0 and args.rank == 0:
            fps = (i + 1) * args.batch_size * args.world / (time.time() - began)
            print("epoch {} [{}/{}] loss {:.4f} lr {:.5f} fps {:.1f}".format(
                epoch, i, len(loader), total / (i + 1), optimizer.param_groups[0]["lr"], fps), flush=True)


def validate(model, loader, device):
    model.eval()
    matrix = ConfusionMatrix(CLASSES, device)
    with torch.no_grad():
        for image, target in loader:
            image, target = image.to(device), target.to(device)
            output = model(image)
            matrix.update(target.flatten(), output.argmax(1).flatten())
    matrix.reduce()
    return matrix.mean_iou()


def main():
    args = parse_args()
    torch.npu.set_device(args.local_rank)
    device = torch.device("npu:{}".format(args.local_rank))
    dist.init_process_group(backend="hccl")
    args.rank, args.world = dist.get_rank(), dist.get_world_size()
    seed_everything(args.seed + args.rank)

    train_set = WeldSeams(args.data_root, "train", training=True)
    valid_set = WeldSeams(args.data_root, "val")
    train_sampler = DistributedSampler(train_set)
    valid_sampler = DistributedSampler(valid_set, shuffle=False)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, sampler=train_sampler, num_workers=args.workers,
                              pin_memory=False, drop_last=True, worker_init_fn=seed_worker)
    valid_loader = DataLoader(valid_set, batch_size=1, sampler=valid_sampler, num_workers=args.workers)

    model = UNet(CLASSES).to(device)
    weight = torch.tensor([0.3, 1.0, 1.5, 1.0], device=device)
    criterion = nn.CrossEntropyLoss(weight=weight, ignore_index=IGNORE).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level, loss_scale=args.loss_scale)
    model = DistributedDataParallel(model, device_ids=[args.local_rank], broadcast_buffers=False)

    iters = args.epochs * len(train_loader)

    def poly(step):
        if step < args.warmup_iters:
            return (step + 1) / args.warmup_iters
        return (1 - (step - args.warmup_iters) / max(1, iters - args.warmup_iters)) ** 0.9

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, poly)

    start, best = 0, 0.0
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")
        model.module.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler.load_state_dict(checkpoint["scheduler"])
        amp.load_state_dict(checkpoint["amp"])
        start, best = checkpoint["epoch"], checkpoint["best_iou"]

    for epoch in range(start, args.epochs):
        train_sampler.set_epoch(epoch)
        train(model, train_loader, criterion, optimizer, scheduler, epoch, args, device)
        iou = validate(model, valid_loader, device)
        is_best = iou > best
        best = max(iou, best)
        if args.rank == 0:
            print("epoch {} mIoU {:.4f} best {:.4f}".format(epoch, iou, best), flush=True)
            os.makedirs(args.work_dir, exist_ok=True)
            state = {
                "epoch": epoch + 1,
                "state_dict": model.module.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "amp": amp.state_dict(),
                "best_iou": best,
            }
            torch.save(state, os.path.join(args.work_dir, "checkpoint.pth.tar"))
            if is_best:
                torch.save(state, os.path.join(args.work_dir, "model_best.pth.tar"))

    dist.barrier()
    checkpoint = torch.load(os.path.join(args.work_dir, "model_best.pth.tar"), map_location="cpu")
    model.module.load_state_dict(checkpoint["state_dict"])
    iou = validate(model, valid_loader, device)
    if args.rank == 0:
        print("best epoch {} mIoU {:.4f}".format(checkpoint["epoch"], iou), flush=True)


if __name__ == "__main__":
    main()
