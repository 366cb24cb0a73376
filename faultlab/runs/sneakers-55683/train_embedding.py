#!/usr/bin/env python
import argparse
import time

import numpy as np
import torch

from data import ProductPhotos, to_input
from embed import EmbeddingNet, recall_at_1, triplet_loss


def get_args():
    p = argparse.ArgumentParser(description="embeddings of product photos with triplets")
    p.add_argument("--iters", type=int, default=200)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--p", type=int, default=12, help="products in a batch")
    p.add_argument("--k", type=int, default=3, help="photos of each")
    p.add_argument("--margin", type=float, default=0.2)
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--train-products", type=int, default=220)
    p.add_argument("--eval-products", type=int, default=40)
    p.add_argument("--views", type=int, default=5)
    p.add_argument("--print-freq", type=int, default=10)
    p.add_argument("--eval-freq", type=int, default=20)
    p.add_argument("--seed", type=int, default=300)
    return p.parse_args()


@torch.no_grad()
def evaluate(net, photos, args):
    net.eval()
    z = net(to_input(photos.images))
    recall = recall_at_1(z, photos.ids)
    gen = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(4):
        x, ids = photos.batch(args.p, args.k, gen)
        losses.append(triplet_loss(net(to_input(x)), ids, args.margin)[0].item())
    net.train()
    return sum(losses) / len(losses), recall


def main():
    args = get_args()
    print(args)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    catalogue = ProductPhotos(args.train_products, args.views, rng=rng)
    unseen = ProductPhotos(args.eval_products, args.views, rng=rng)
    print(f"train: {len(catalogue.ids)} photos of {args.train_products} products, eval: {len(unseen.ids)} photos")

    net = EmbeddingNet(dim=args.dim, drop=args.dropout)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=args.wd)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, 2.0 * (1 - i / args.iters)))
    gen = torch.Generator().manual_seed(args.seed)

    running, start = [], time.time()
    net.train()
    for it in range(1, args.iters + 1):
        x, ids = catalogue.batch(args.p, args.k, gen)
        z = net(to_input(x))
        loss, d_pos, d_neg = triplet_loss(z, ids, args.margin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        running.append(loss.item())
        if it % args.print_freq == 0:
            avg = sum(running) / len(running)
            running = []
            print(f"[{it:4d}/{args.iters}] triplet {avg:.4f}  d(a,p) {d_pos.item():.3f}  d(a,n) {d_neg.item():.3f}  "
                  f"lr {optimizer.param_groups[0]['lr']:.2e}  {it / (time.time() - start):.1f} it/s", flush=True)
        if it % args.eval_freq == 0:
            val, r1 = evaluate(net, unseen, args)
            print(f"[{it:4d}/{args.iters}] eval triplet {val:.4f}  R@1 {100 * r1:.2f}", flush=True)
    torch.save(net.state_dict(), "embedding.pth")


if __name__ == "__main__":
    main()
