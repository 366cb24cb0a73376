import argparse
import csv
import json
import math
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader

from data import Bursts
from networks import Denoiser, charbonnier, psnr

parser = argparse.ArgumentParser()
parser.add_argument('--name', default='base')
parser.add_argument('--seed', type=int, default=5)
parser.add_argument('--n_train', type=int, default=192)
parser.add_argument('--n_val', type=int, default=24)
parser.add_argument('--iso', type=int, default=800)
parser.add_argument('--frames', type=int, default=2)
parser.add_argument('--patch', type=int, default=20)
parser.add_argument('--jitter', type=float, default=2.)
parser.add_argument('--batch', type=int, default=12)
parser.add_argument('--width', type=int, default=10)
parser.add_argument('--blocks', type=int, default=3)
parser.add_argument('--lr', type=float, default=2e-3)
parser.add_argument('--beta1', type=float, default=0.9)
parser.add_argument('--beta2', type=float, default=0.99)
parser.add_argument('--epochs', type=int, default=25)
parser.add_argument('--print_every', type=int, default=10)
args = parser.parse_args()


@torch.no_grad()
def validate(net, loader):
    net.eval()
    loss, db, n = 0., 0., 0
    for noisy, clean in loader:
        pred = net(noisy)
        loss += charbonnier(pred, clean).item() * len(noisy)
        db += psnr(pred, clean).sum().item()
        n += len(noisy)
    net.train()
    return loss / n, db / n


def main():
    out = os.path.join('exp', args.name)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, 'args.json'), 'w') as f:
        json.dump(vars(args), f, indent=2)
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    train_set = Bursts(args.n_train, iso=args.iso, n_frames=args.frames, patch=args.patch,
                       jitter=args.jitter, seed=1)
    val_set = Bursts(args.n_val, iso=args.iso, n_frames=args.frames, seed=2)
    test_set = Bursts(args.n_val, iso=args.iso, n_frames=args.frames, seed=3)
    train_loader = DataLoader(train_set, batch_size=args.batch, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=8)
    test_loader = DataLoader(test_set, batch_size=8)

    net = Denoiser(args.width, args.blocks)
    n_params = sum(p.numel() for p in net.parameters())
    opt = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(args.beta1, args.beta2))
    total = args.epochs * len(train_loader)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda it: 0.5 * (1 + math.cos(math.pi * it / total)) + 0.01)
    noisy_db = np.mean([psnr(x[None], y[None]).item() for x, y in val_set])
    print(f'{n_params / 1e3:.1f}k parameters, {len(train_set)} scenes, noisy input {noisy_db:.2f} dB')

    log = csv.writer(open(os.path.join(out, 'metrics.csv'), 'w', newline='', buffering=1))
    log.writerow(['epoch', 'iter', 'lr', 'train_loss', 'val_loss', 'val_psnr', 'sec'])
    best, it, t0 = 0., 0, time.time()
    for epoch in range(1, args.epochs + 1):
        net.train()
        losses = []
        for noisy, clean in train_loader:
            opt.zero_grad()
            pred = net(noisy)
            loss = charbonnier(pred, clean)
            loss.backward()
            opt.step()
            sched.step()
            it += 1
            losses.append(loss.item())
            if it % args.print_every == 0:
                print(f'ep {epoch:02d} it {it:04d}/{total} loss {loss.item():.5f} lr {sched.get_last_lr()[0]:.2e}')
        val_loss, db = validate(net, val_loader)
        log.writerow([epoch, it, f'{sched.get_last_lr()[0]:.3e}', f'{np.mean(losses):.6f}', f'{val_loss:.6f}',
                      f'{db:.3f}', f'{time.time() - t0:.1f}'])
        if db > best:
            best = db
            torch.save(net.state_dict(), os.path.join(out, 'best.pth'))
        print(f'== ep {epoch:02d} train {np.mean(losses):.5f} val {val_loss:.5f} psnr {db:.2f} best {best:.2f}')
    net.load_state_dict(torch.load(os.path.join(out, 'best.pth')))
    print('test loss %.5f psnr %.2f dB' % validate(net, test_loader))


if __name__ == '__main__':
    main()
