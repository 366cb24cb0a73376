import json
import logging
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from corpus import build_vocab, encode, make_pairs
from siamese import PairClassifier

logging.basicConfig(filename="pairs.log", filemode="w", level=logging.INFO, format="[%(levelname)s] %(message)s")
logger = logging.getLogger("pairs")


def collate(rows):
    left, right, label = zip(*rows)
    pad = lambda seqs: pad_sequence([torch.tensor(s) for s in seqs], batch_first=True, padding_value=0)
    return pad(left), pad(right), torch.tensor(label, dtype=torch.float32)


class PairTrainer:
    def __init__(self, cfg, model, train_rows, dev_rows):
        self.cfg, self.model = cfg, model
        self.train_loader = DataLoader(train_rows, cfg["micro_batch"], shuffle=True, drop_last=True, collate_fn=collate)
        self.dev_loader = DataLoader(dev_rows, 120, collate_fn=collate)
        self.loss_fn = torch.nn.BCEWithLogitsLoss()
        self.optim = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
        self.updates = cfg["epochs"] * (len(self.train_loader) // cfg["accumulate"])
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.optim, self.factor)
        s = cfg["scale"]
        self.scaler = torch.amp.GradScaler(
            "cpu", init_scale=s["init"], growth_factor=s["growth"], backoff_factor=s["backoff"], growth_interval=s["interval"]
        )
        self.dtype = getattr(torch, cfg["half"])
        self.update = 0

    def factor(self, k):
        up = min(1.0, (k + 1) / self.cfg["warmup_updates"])
        return up * max(0.02, 1 - k / self.updates)

    def forward(self, left, right, label):
        with torch.autocast("cpu", dtype=self.dtype):
            logit = self.model(left, right)
        return self.loss_fn(logit.float(), label), logit.float()

    def train_epoch(self):
        self.model.train()
        window = []
        for k, batch in enumerate(self.train_loader, start=1):
            loss, _ = self.forward(*batch)
            window.append(loss.item())
            self.scaler.scale(loss / self.cfg["accumulate"]).backward()
            if k % self.cfg["accumulate"]:
                continue
            self.scaler.unscale_(self.optim)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["max_norm"])
            self.scaler.step(self.optim)
            self.scaler.update()
            self.optim.zero_grad()
            self.update += 1
            if self.update % self.cfg["log_updates"] == 0:
                logger.info(
                    "update %d/%d loss=%.4f grad=%.3f scale=%g lr=%.2e", self.update, self.updates,
                    sum(window) / len(window), norm, self.scaler.get_scale(), self.sched.get_last_lr()[0],
                )
                window = []
            self.sched.step()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total, right, seen = 0.0, 0, 0
        for batch in self.dev_loader:
            loss, logit = self.forward(*batch)
            label = batch[-1]
            total += loss.item() * len(label)
            right += ((logit > 0).float() == label).sum().item()
            seen += len(label)
        return total / seen, right / seen

    def fit(self):
        for epoch in range(1, self.cfg["epochs"] + 1):
            self.train_epoch()
            loss, acc = self.evaluate()
            logger.info("epoch %d dev_loss=%.4f dev_accuracy=%.4f (update %d)", epoch, loss, acc, self.update)


def main():
    cfg = json.load(open("settings.json"))
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    rnd = random.Random(cfg["seed"])
    pairs = make_pairs(cfg["pairs"], rnd)
    cut = int(len(pairs) * (1 - cfg["dev_share"]))
    train_text, dev_text = pairs[:cut], pairs[cut:]
    vocab = build_vocab(train_text)
    ids = lambda text: encode(text, vocab, cfg["max_words"])
    train_rows = [(ids(a), ids(b), y) for a, b, y in train_text]
    dev_rows = [(ids(a), ids(b), y) for a, b, y in dev_text]
    model = PairClassifier(len(vocab), cfg)
    logger.info("%d train pairs, %d dev pairs, %d words, %s", len(train_rows), len(dev_rows), len(vocab), cfg["half"])
    PairTrainer(cfg, model, train_rows, dev_rows).fit()


if __name__ == "__main__":
    main()
