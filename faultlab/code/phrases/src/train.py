import argparse
import math
import os
import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import Seq2Seq
from scores import bleu
from text import PAD, TokenBatches, Vocab, read_lines, read_pairs, tokenise

ap = argparse.ArgumentParser()
ap.add_argument("root")
ap.add_argument("--sl", default="de")
ap.add_argument("--tl", default="en")
ap.add_argument("--vocab", type=int, default=12000)
ap.add_argument("--vectors", help="tensor file, one row per source word")
ap.add_argument("--dim", type=int, default=256)
ap.add_argument("--hid", type=int, default=512)
ap.add_argument("--max-tok", type=int, default=2500)
ap.add_argument("--lr", type=float, default=1e-3)
ap.add_argument("--warm", type=int, default=2000)
ap.add_argument("--eps", type=float, default=0.1, help="label smoothing")
ap.add_argument("--force", type=float, default=0.9, help="share of teacher forcing")
ap.add_argument("--clip", type=float, default=1.0)
ap.add_argument("--epochs", type=int, default=30)
ap.add_argument("--every", type=int, default=1000)
ap.add_argument("--dir", default="exp")
ap.add_argument("--seed", type=int, default=1)


def lr_at(step, peak, warm):
    return peak * min(step / warm, math.sqrt(warm / step))


def smoothed_nll(logits, gold, eps):
    """Sum over the real tokens, and their number."""
    lp = logits.float().log_softmax(-1)
    keep = gold != PAD
    nll = -lp.gather(-1, gold[..., None])[..., 0]
    smooth = -lp.mean(-1)
    loss = (1 - eps) * nll + eps * smooth
    return loss[keep].sum(), keep.sum()


@torch.no_grad()
def valid_nll(model, batches, dev):
    model.eval()
    tot = n = 0
    for src, slen, tgt in batches:
        src, tgt = src.to(dev), tgt.to(dev)
        loss, k = smoothed_nll(model(src, slen, tgt[:, :-1]), tgt[:, 1:], 0.0)
        tot, n = tot + loss.item(), n + k.item()
    return tot / n


@torch.no_grad()
def translate(model, lines, vs, vt, dev):
    model.eval()
    hyps = []
    for line in lines:
        ids = torch.tensor([vs.encode(line)], device=dev)
        hyps.append(vt.decode(model.beam(ids, torch.tensor([ids.size(1)]))))
    return hyps


def main():
    a = ap.parse_args()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    cuda = torch.cuda.is_available()
    dev = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo")
    os.makedirs(a.dir, exist_ok=True)
    torch.manual_seed(a.seed + rank)
    random.seed(a.seed)

    vs = Vocab.build(read_lines(a.root, "train", a.sl), a.vocab)
    vt = Vocab.build(read_lines(a.root, "train", a.tl), a.vocab)
    train = read_pairs(a.root, "train", a.sl, a.tl, vs, vt, 80)
    valid = read_pairs(a.root, "valid", a.sl, a.tl, vs, vt, 80)
    batches = TokenBatches(train, a.max_tok, rank, world, shuffle=True, seed=a.seed)
    vbatches = TokenBatches(valid, a.max_tok)

    vec = torch.load(a.vectors) if a.vectors else None
    model = Seq2Seq(len(vs), len(vt), a.dim, a.hid, vectors=vec).to(dev)
    net = DDP(model, device_ids=[dev.index] if cuda else None) if world > 1 else model
    opt = torch.optim.Adam(net.parameters(), lr=a.lr, betas=(0.9, 0.98), eps=1e-9)
    step, first, best = 0, 0, float("inf")
    last = os.path.join(a.dir, "last.pt")
    if os.path.exists(last):
        ck = torch.load(last, map_location=dev)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["opt"])
        step, first, best = ck["step"], ck["epoch"], ck["best"]

    for ep in range(first, a.epochs):
        batches.epoch = ep
        net.train()
        for src, slen, tgt in batches:
            src, tgt = src.to(dev), tgt.to(dev)
            step += 1
            for g in opt.param_groups:
                g["lr"] = lr_at(step, a.lr, a.warm)
            opt.zero_grad()
            loss, ntok = smoothed_nll(net(src, slen, tgt[:, :-1], a.force), tgt[:, 1:], a.eps)
            n_all = ntok.clone()
            if world > 1:
                dist.all_reduce(n_all)
            # DDP averages over ranks, the loss is per token of the whole step
            (loss * world / n_all).backward()
            gn = torch.nn.utils.clip_grad_norm_(net.parameters(), a.clip)
            opt.step()
            if rank == 0 and step % 50 == 0:
                print(f"ep {ep} step {step} lr {g['lr']:.2e} nll {loss.item() / ntok.item():.3f} gn {gn:.2f}", flush=True)
            if rank == 0 and step % a.every == 0:
                v = valid_nll(model, vbatches, dev)
                net.train()
                print(f"valid step {step} nll {v:.4f} ppl {math.exp(v):.2f}", flush=True)
                if v < best:
                    best = v
                    torch.save({"model": model.state_dict(), "src": vs.itos, "tgt": vt.itos}, os.path.join(a.dir, "best.pt"))
        if rank == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step, "epoch": ep + 1,
                        "best": best}, last)

    if rank == 0:
        model.load_state_dict(torch.load(os.path.join(a.dir, "best.pt"), map_location=dev)["model"])
        hyps = translate(model, read_lines(a.root, "test", a.sl), vs, vt, dev)
        refs = [tokenise(l) for l in read_lines(a.root, "test", a.tl)]
        print(f"test bleu {bleu(hyps, refs):.2f}")
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
