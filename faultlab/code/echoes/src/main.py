import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader
from transformers import HfArgumentParser, get_cosine_schedule_with_warmup

from audio import WORDS, Commands


@dataclass
class Options:
    root: str
    output: str = "echoes"
    epochs: int = 30
    batch: int = 64
    accumulate: int = 2
    lr: float = 1e-3
    decay: float = 1e-2
    warmup: float = 0.05
    clip: float = 2.0
    precision: str = "no"
    seed: int = 42


class Unit(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.depth = nn.Conv2d(c_in, c_in, 3, stride, padding=1, groups=c_in, bias=False)
        self.point = nn.Conv2d(c_in, c_out, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(c_in), nn.BatchNorm2d(c_out)
        self.same = stride == 1 and c_in == c_out

    def forward(self, x):
        h = torch.relu(self.bn1(self.depth(x)))
        h = self.bn2(self.point(h))
        return torch.relu(x + h if self.same else h)


class WordNet(nn.Module):
    def __init__(self, width=64, drop=0.2):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 5, 2, padding=2, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        plan = [(width, 1), (width, 1), (2 * width, 2), (2 * width, 1), (2 * width, 1)]
        units, c = [], width
        for c_out, stride in plan:
            units.append(Unit(c, c_out, stride))
            c = c_out
        self.units = nn.Sequential(*units)
        self.drop = nn.Dropout(drop)
        self.head = nn.Linear(c, len(WORDS))

    def forward(self, spec):
        h = self.units(self.stem(spec)).mean(dim=(2, 3))
        return self.head(self.drop(h))


def worker_seed(worker_id):
    seed = torch.initial_seed() % 2**32
    random.seed(seed)
    np.random.seed(seed)


@torch.no_grad()
def test_accuracy(accelerator, model, loader):
    model.eval()
    right = total = 0
    for batch in loader:
        guess = model(batch["spec"]).argmax(dim=-1)
        guess, word = accelerator.gather_for_metrics((guess, batch["word"]))
        right += (guess == word).sum().item()
        total += word.numel()
    model.train()
    return right / total


def main():
    opts = HfArgumentParser(Options).parse_args_into_dataclasses()[0]
    accelerator = Accelerator(gradient_accumulation_steps=opts.accumulate, mixed_precision=opts.precision)
    set_seed(opts.seed)
    train_set = Commands(opts.root, "train", augment=True)
    stats = (train_set.mean, train_set.std)
    dev_set, test_set = Commands(opts.root, "dev", stats), Commands(opts.root, "test", stats)
    train_loader = DataLoader(train_set, opts.batch, shuffle=True, drop_last=True, num_workers=4,
                              worker_init_fn=worker_seed)
    dev_loader = DataLoader(dev_set, opts.batch, num_workers=2)
    test_loader = DataLoader(test_set, opts.batch, num_workers=2)

    model = WordNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=opts.lr, weight_decay=opts.decay)
    model, optimizer, train_loader, dev_loader, test_loader = accelerator.prepare(
        model, optimizer, train_loader, dev_loader, test_loader)
    updates = opts.epochs * -(-len(train_loader) // opts.accumulate)
    scheduler = get_cosine_schedule_with_warmup(optimizer, int(opts.warmup * updates), updates)

    best, weights = 0.0, Path(opts.output) / "best.pt"
    weights.parent.mkdir(parents=True, exist_ok=True)
    for epoch in range(opts.epochs):
        model.train()
        loss_sum = 0.0
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(batch["spec"]), batch["word"])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), opts.clip)
                optimizer.step()
                optimizer.zero_grad()
                if accelerator.sync_gradients:
                    scheduler.step()
            loss_sum += loss.item()
        accuracy = test_accuracy(accelerator, model, dev_loader)
        accelerator.print(f"epoch {epoch} loss {loss_sum / len(train_loader):.4f} dev {accuracy:.4f}")
        if accuracy > best:
            best = accuracy
            accelerator.save(accelerator.unwrap_model(model).state_dict(), weights)
    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).load_state_dict(torch.load(weights, map_location=accelerator.device))
    accelerator.print(f"test accuracy of the best: {test_accuracy(accelerator, model, test_loader):.4f}")


if __name__ == "__main__":
    main()
