"""seabed segmentation on Ascend NPU, bash run_8p.sh"""
import argparse
import os
import random
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch_npu
from apex import amp
from torch.nn.parallel import DistributedDataParallel as DDP

import cfg_seabed as cfg
from dataset import build_loaders
from net import SegNet, load_backbone


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument('--work_dir', default='./work_dir')
    parser.add_argument('--resume', default='')
    parser.add_argument('--seed', type=int, default=2024)
    return parser.parse_args()


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def build_optimizer(model):
    base_lr, wd = cfg.optimizer['lr'], cfg.optimizer['weight_decay']
    groups = {}
    for name, p in model.named_parameters():
        mult = 1.0 if name.startswith('backbone') else cfg.head_lr_mult
        decay = 0.0 if p.ndim == 1 else wd
        groups.setdefault((mult, decay), []).append(p)
    params = [dict(params=ps, lr=base_lr * m, weight_decay=d, lr_mult=m) for (m, d), ps in groups.items()]
    return torch_npu.optim.NpuFusedSGD(params, lr=base_lr, momentum=cfg.optimizer['momentum'])


def adjust_lr(optimizer, it, max_iters):
    lr = (cfg.optimizer['lr'] - cfg.min_lr) * (1 - it / max_iters) ** cfg.poly_power + cfg.min_lr
    if it < cfg.warmup_iters:
        k = (1 - it / cfg.warmup_iters) * (1 - cfg.warmup_ratio)
        lr = lr * (1 - k)
    for group in optimizer.param_groups:
        group['lr'] = lr * group['lr_mult']
    return lr


def fast_hist(pred, label, n):
    keep = label != cfg.ignore_index
    idx = label[keep] * n + pred[keep]
    return torch.bincount(idx, minlength=n * n).reshape(n, n)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hist = torch.zeros(cfg.num_classes, cfg.num_classes, dtype=torch.int64, device=device)
    for img, seg in loader:
        img, seg = img.to(device), seg.to(device)
        pred = model(img).argmax(dim=1)
        hist += fast_hist(pred.flatten(), seg.flatten(), cfg.num_classes)
    if dist.is_initialized():
        dist.all_reduce(hist)
    hist = hist.cpu().double()
    tp = hist.diag()
    iou = tp / (hist.sum(0) + hist.sum(1) - tp).clamp(min=1)
    acc = tp.sum() / hist.sum().clamp(min=1)
    return iou.mean().item() * 100, acc.item() * 100


def main():
    args = parse_args()
    rank = int(os.environ.get('RANK', 0))
    local_rank = int(os.environ.get('LOCAL_RANK', 0))
    world_size = int(os.environ.get('WORLD_SIZE', 1))
    torch.npu.set_device(local_rank)
    device = torch.device('npu', local_rank)
    if world_size > 1:
        dist.init_process_group('hccl', rank=rank, world_size=world_size)
    set_seed(args.seed)
    os.makedirs(args.work_dir, exist_ok=True)

    train_loader, sampler, val_loader = build_loaders(cfg, rank, world_size, args.seed)
    model = SegNet(**cfg.model)
    load_backbone(model, cfg.pretrained)
    if world_size > 1:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = model.to(device)
    optimizer = build_optimizer(model)
    model, optimizer = amp.initialize(model, optimizer, opt_level=cfg.opt_level, loss_scale=cfg.loss_scale,
                                      combine_grad=True)
    weight = torch.tensor(cfg.class_weight, device=device)
    criterion = nn.CrossEntropyLoss(weight=weight, ignore_index=cfg.ignore_index)

    start_epoch, best = 0, 0.0
    if args.resume:
        ckpt = torch.load(args.resume, map_location='cpu')
        model.load_state_dict(ckpt['model'])
        optimizer.load_state_dict(ckpt['optimizer'])
        amp.load_state_dict(ckpt['amp'])
        start_epoch, best = ckpt['epoch'], ckpt['best']
    net = DDP(model, device_ids=[local_rank], broadcast_buffers=False) if world_size > 1 else model

    iters = len(train_loader)
    max_iters = cfg.epochs * iters
    for epoch in range(start_epoch, cfg.epochs):
        sampler.set_epoch(epoch)
        net.train()
        end = time.time()
        for i, (img, seg) in enumerate(train_loader):
            lr = adjust_lr(optimizer, epoch * iters + i, max_iters)
            img = img.to(device, non_blocking=True)
            seg = seg.to(device, non_blocking=True)
            out, aux = net(img)
            loss_seg = criterion(out.float(), seg)
            loss_aux = criterion(aux.float(), seg)
            loss = loss_seg + cfg.aux_weight * loss_aux
            optimizer.zero_grad()
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            optimizer.step()
            if rank == 0 and (i + 1) % cfg.log_interval == 0:
                print('epoch [%d][%d/%d] lr %.5f loss %.4f seg %.4f aux %.4f time %.3f' % (
                    epoch + 1, i + 1, iters, lr, loss.item(), loss_seg.item(), loss_aux.item(),
                    (time.time() - end) / cfg.log_interval), flush=True)
                end = time.time()
        if (epoch + 1) % cfg.val_interval == 0 or epoch + 1 == cfg.epochs:
            miou, acc = evaluate(model, val_loader, device)
            if rank == 0:
                print('epoch [%d] mIoU %.2f aAcc %.2f' % (epoch + 1, miou, acc), flush=True)
                is_best = miou > best
                best = max(best, miou)
                ckpt = dict(model=model.state_dict(), optimizer=optimizer.state_dict(), amp=amp.state_dict(),
                            epoch=epoch + 1, best=best)
                torch.save(ckpt, os.path.join(args.work_dir, 'latest.pth'))
                if is_best:
                    torch.save(ckpt, os.path.join(args.work_dir, 'best.pth'))
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == '__main__':
    main()
