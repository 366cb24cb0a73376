# torchrun --nproc_per_node=4 main.py --train_csv train.csv --val_csv val.csv --img_dir imgs
import argparse
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.models import resnet18

from dataset import TagDataset

parser = argparse.ArgumentParser()
parser.add_argument('--train_csv', type=str, default='train.csv')
parser.add_argument('--val_csv', type=str, default='val.csv')
parser.add_argument('--img_dir', type=str, default='imgs')
parser.add_argument('--save_dir', type=str, default='ckpt')
parser.add_argument('--pretrain', type=str, default='', help='state dict of resnet18')
parser.add_argument('--resume', type=str, default='')
parser.add_argument('--img_size', type=int, default=224)
parser.add_argument('--batch_size', type=int, default=32, help='of one gpu')
parser.add_argument('--epochs', type=int, default=30)
parser.add_argument('--lr', type=float, default=1e-4)
parser.add_argument('--weight_decay', type=float, default=1e-4)
parser.add_argument('--num_workers', type=int, default=4)
parser.add_argument('--thresh', type=float, default=0.5)


def init_dist():
    use_cuda = torch.cuda.is_available()
    dist.init_process_group('nccl' if use_cuda else 'gloo')
    rank, world, local_rank = dist.get_rank(), dist.get_world_size(), int(os.environ['LOCAL_RANK'])
    if use_cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device('cuda', local_rank) if use_cuda else torch.device('cpu')
    return rank, world, local_rank, device


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def worker_seed(worker_id):
    np.random.seed(torch.initial_seed() % 2 ** 32)


def get_net(num_tags, pretrain):
    net = resnet18(weights=None)
    if pretrain:
        net.load_state_dict(torch.load(pretrain, map_location='cpu'))
    net.fc = nn.Linear(net.fc.in_features, num_tags)
    return net


def train_epoch(net, loader, criterion, optimizer, scaler, device, epoch, rank):
    net.train()
    sum_loss = 0.
    for it, (img, gt) in enumerate(loader):
        img, gt = img.to(device), gt.to(device)
        with torch.autocast(device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
            pred = net(img)
            loss = criterion(pred, gt)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        sum_loss += loss.item()
        if rank == 0 and it % 20 == 0:
            print('epoch %d iter %d/%d loss %.4f' % (epoch, it, len(loader), loss.item()))
    return sum_loss / len(loader)


@torch.no_grad()
def eval_epoch(net, loader, device, thresh):
    net.eval()
    # tp, fp, fn of each tag over all gpus
    count = 0
    for img, gt in loader:
        prob = torch.sigmoid(net(img.to(device)))
        pred = (prob > thresh).float()
        gt = gt.to(device)
        tp = (pred * gt).sum(0)
        fp = (pred * (1 - gt)).sum(0)
        fn = ((1 - pred) * gt).sum(0)
        count = count + torch.stack([tp, fp, fn])
    dist.all_reduce(count)
    tp, fp, fn = count
    f1 = 2 * tp / (2 * tp + fp + fn + 1e-8)
    return f1.mean().item()


def main():
    args = parser.parse_args()
    rank, world, local_rank, device = init_dist()
    set_seed(42 + rank)
    os.makedirs(args.save_dir, exist_ok=True)

    train_set = TagDataset(args.train_csv, args.img_dir, args.img_size, is_train=True)
    val_set = TagDataset(args.val_csv, args.img_dir, args.img_size, is_train=False)
    assert train_set.tags == val_set.tags
    train_sampler = DistributedSampler(train_set, shuffle=True, seed=0)
    val_sampler = DistributedSampler(val_set, shuffle=False)
    train_loader = DataLoader(train_set, args.batch_size, sampler=train_sampler, num_workers=args.num_workers,
                              worker_init_fn=worker_seed, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size, sampler=val_sampler, num_workers=args.num_workers)

    net = get_net(len(train_set.tags), args.pretrain)
    if device.type == 'cuda':
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    net = net.to(device)
    net = DDP(net, device_ids=[local_rank] if device.type == 'cuda' else None)

    criterion = nn.BCEWithLogitsLoss(pos_weight=train_set.get_pos_weight().to(device))
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr * world, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [int(args.epochs * 0.6), int(args.epochs * 0.85)])
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == 'cuda')

    start_epoch, best_f1 = 0, 0.
    if args.resume:
        ckpt = torch.load(args.resume, map_location=device)
        net.module.load_state_dict(ckpt['net'])
        optimizer.load_state_dict(ckpt['optimizer'])
        scheduler.load_state_dict(ckpt['scheduler'])
        scaler.load_state_dict(ckpt['scaler'])
        start_epoch, best_f1 = ckpt['epoch'] + 1, ckpt['best_f1']

    for epoch in range(start_epoch, args.epochs):
        train_sampler.set_epoch(epoch)
        loss = train_epoch(net, train_loader, criterion, optimizer, scaler, device, epoch, rank)
        scheduler.step()
        f1 = eval_epoch(net, val_loader, device, args.thresh)
        is_best = f1 > best_f1
        best_f1 = max(f1, best_f1)
        if rank == 0:
            print('epoch %d train loss %.4f val f1 %.4f best %.4f' % (epoch, loss, f1, best_f1))
            ckpt = {'net': net.module.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': epoch,
                    'scheduler': scheduler.state_dict(), 'scaler': scaler.state_dict(),
                    'best_f1': best_f1, 'tags': train_set.tags}
            torch.save(ckpt, os.path.join(args.save_dir, 'last.pth'))
            if is_best:
                torch.save(ckpt, os.path.join(args.save_dir, 'best.pth'))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
