#!/usr/bin/env python3
"""CTC training in two stages; the second takes up the last checkpoint of the first."""

import argparse
import logging
import math
import os
import sys
import time

import torch
import torch.nn.functional as F

from data import N_MELS, Dictionary, SpecDataset, batch_iterator, make_corpus
from model import EMA, CtcEncoder

logging.basicConfig(
    format="%(asctime)s | %(levelname)s | %(name)s | %(message)s",
    datefmt="%Y-%m-%d %H:%M:%S",
    level=logging.INFO,
    stream=sys.stdout,
)
logger = logging.getLogger("asr_train")


def get_parser():
    p = argparse.ArgumentParser()
    p.add_argument("--n-train", type=int, default=1000)
    p.add_argument("--n-valid", type=int, default=200)
    p.add_argument("--valid-noise", type=float, default=0.8)
    p.add_argument("--transcripts", choices=["manual", "auto"], default="manual")
    p.add_argument("--max-frames", type=int, default=200)
    p.add_argument("--time-mask", type=int, default=4)
    p.add_argument("--freq-mask", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--update-freq", type=int, default=2)
    p.add_argument("--max-epoch", type=int, default=12)
    p.add_argument("--lr", type=float, default=6e-3)
    p.add_argument("--warmup-updates", type=int, default=40)
    p.add_argument("--total-num-update", type=int, default=384)
    p.add_argument("--weight-decay", type=float, default=1e-3)
    p.add_argument("--clip-norm", type=float, default=5.0)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--ema-decay", type=float, default=0.98)
    p.add_argument("--save-dir", default="checkpoints")
    p.add_argument("--restore-file", default=None)
    p.add_argument("--log-interval", type=int, default=5)
    p.add_argument("--seed", type=int, default=1)
    return p


def polynomial_decay(args):
    def factor(n):
        if n < args.warmup_updates:
            return (n + 1) / args.warmup_updates
        left = (args.total_num_update - n) / max(1, args.total_num_update - args.warmup_updates)
        return max(0.0, left) ** 2

    return factor


def ctc_criterion(model, sample, dictionary):
    """Summed loss of a mini-batch, and the logits."""
    logits, lengths = model(sample["src"], sample["src_lengths"])
    lprobs = F.log_softmax(logits, dim=1).transpose(0, 1)
    loss = F.ctc_loss(
        lprobs,
        sample["target"],
        lengths,
        sample["target_lengths"],
        blank=dictionary.blank,
        reduction="sum",
        zero_infinity=True,
    )
    return loss, logits, lengths


def greedy(logits, length, dictionary):
    best = logits[:length].argmax(-1).tolist()
    out, last = [], None
    for s in best:
        if s != last and s != dictionary.blank:
            out.append(s)
        last = s
    return out


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


class Trainer:
    def __init__(self, args, dictionary):
        self.args, self.dictionary = args, dictionary
        self.model = CtcEncoder(N_MELS, len(dictionary), dropout=args.dropout)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=args.weight_decay
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, polynomial_decay(args))
        self.ema = EMA(self.model, args.ema_decay)
        self.num_updates, self.epoch = 0, 1

    def save(self, path):
        state = {
            "model": self.model.state_dict(),
            "ema": self.ema.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "num_updates": self.num_updates,
            "epoch": self.epoch,
        }
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.ema.model.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.num_updates = state["num_updates"]
        self.epoch = state["epoch"] + 1
        logger.info(f"Loaded checkpoint {path} (epoch {state['epoch']} @ {self.num_updates} updates)")

    def train_step(self, samples):
        """One update from a list of mini-batches; gradients are divided by the tokens of all of them."""
        self.model.train()
        self.optimizer.zero_grad()
        total, ntokens = 0.0, 0
        for sample in samples:
            loss, _, _ = ctc_criterion(self.model, sample, self.dictionary)
            loss.backward()
            total += loss.item()
            ntokens += sample["ntokens"]
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.div_(ntokens)
        gnorm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip_norm or math.inf)
        self.optimizer.step()
        self.scheduler.step()
        self.num_updates += 1
        self.ema.step(self.model, self.num_updates)
        return total, ntokens, gnorm.item()

    @torch.no_grad()
    def validate(self, dataset):
        model = self.ema.model
        model.eval()
        total, ntokens, errors = 0.0, 0, 0
        for sample in batch_iterator(dataset, 50):
            loss, logits, lengths = ctc_criterion(model, sample, self.dictionary)
            total += loss.item()
            ntokens += sample["ntokens"]
            for row, n, ref, m in zip(logits, lengths, sample["target"], sample["target_lengths"]):
                errors += edit_distance(greedy(row, n, self.dictionary), ref[:m].tolist())
        return total / ntokens / math.log(2), 100.0 * errors / ntokens


def main(args):
    torch.manual_seed(args.seed)
    logger.info(args)
    corpus = make_corpus(args.n_train, args.n_valid, args.valid_noise, args.transcripts)
    dictionary = Dictionary([phones for _, phones in corpus["train"]])
    train = SpecDataset(
        corpus["train"], dictionary, True, args.max_frames, args.time_mask, args.freq_mask, args.seed
    )
    valid = SpecDataset(corpus["valid"], dictionary, False)
    logger.info(f"dictionary: {len(dictionary)} types | train: {len(train)} | valid: {len(valid)} utterances")

    trainer = Trainer(args, dictionary)
    logger.info(f"num. model params: {sum(p.numel() for p in trainer.model.parameters()):,}")
    os.makedirs(args.save_dir, exist_ok=True)
    if args.restore_file:
        trainer.load(args.restore_file)

    start, best = time.time(), math.inf
    while trainer.epoch <= args.max_epoch:
        logger.info(f"begin training epoch {trainer.epoch}")
        batches = list(batch_iterator(train, args.batch_size, trainer.epoch, args.seed))
        groups = [batches[i : i + args.update_freq] for i in range(0, len(batches), args.update_freq)]
        sums = [0.0, 0]
        for i, samples in enumerate(groups, 1):
            total, ntokens, gnorm = trainer.train_step(samples)
            sums = [sums[0] + total, sums[1] + ntokens]
            if trainer.num_updates % args.log_interval == 0:
                logging.getLogger("train_inner").info(
                    f"epoch {trainer.epoch:03d}: {i:6d} / {len(groups)} "
                    f"loss={sums[0] / sums[1] / math.log(2):.3f}, wpb={ntokens}, "
                    f"num_updates={trainer.num_updates}, lr={trainer.optimizer.param_groups[0]['lr']:.6g}, "
                    f"gnorm={gnorm:.3f}, wall={time.time() - start:.0f}"
                )
                sums = [0.0, 0]
        loss, uer = trainer.validate(valid)
        best = min(best, loss)
        logging.getLogger("valid").info(
            f"epoch {trainer.epoch:03d} | valid on 'valid' subset | loss {loss:.3f} | uer {uer:.2f} | "
            f"num_updates {trainer.num_updates} | best_loss {best:.3f}"
        )
        trainer.save(os.path.join(args.save_dir, "checkpoint_last.pt"))
        trainer.epoch += 1
    logger.info(f"done training in {time.time() - start:.1f} seconds")


if __name__ == "__main__":
    main(get_parser().parse_args())
