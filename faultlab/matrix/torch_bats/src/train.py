"""Train a recurrent network with CTC on bat calls."""

import os
import random

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader

from calls import BLANK, SYLLABLES, BatCalls, collate, list_recordings, mean_and_deviation, seed_worker

DATA = os.environ.get("BAT_DATA", "data/bats")
EPOCHS = 50
BATCH = 24
WORKERS = 3
LR = 1e-3
SEED = 2021


class CallNet(nn.Module):
    def __init__(self, bins=129, hidden=192, layers=3, dropout=0.2):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv1d(bins, hidden, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.Conv1d(hidden, hidden, kernel_size=3, padding=1),
            nn.ReLU(),
        )
        self.rnn = nn.LSTM(hidden, hidden, num_layers=layers, dropout=dropout, bidirectional=True, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(2 * hidden, len(SYLLABLES) + 1)
        for name, p in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(p)
            elif "bias" in name:
                nn.init.zeros_(p)

    def forward(self, features, frames):
        x = self.front(features.transpose(1, 2)).transpose(1, 2)
        packed = pack_padded_sequence(x, frames.cpu(), batch_first=True)
        y, _ = self.rnn(packed)
        y, _ = pad_packed_sequence(y, batch_first=True)
        return self.out(self.drop(y)).log_softmax(dim=-1)


def greedy(log_probs, frames):
    found = []
    for row, n in zip(log_probs.argmax(dim=-1).cpu(), frames):
        ids, last = [], BLANK
        for k in row[: int(n)].tolist():
            if k != last and k != BLANK:
                ids.append(k)
            last = k
        found.append(ids)
    return found


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def run_validation(model, loader, criterion, device):
    model.eval()
    loss_sum, batches, wrong, length = 0.0, 0, 0, 0
    with torch.no_grad():
        for features, frames, labels, counts in loader:
            log_probs = model(features.to(device), frames)
            loss = criterion(log_probs.transpose(0, 1), labels.to(device), frames, counts)
            loss_sum += loss.item() * len(counts)
            batches += len(counts)
            for ids, truth in zip(greedy(log_probs, frames), labels.split(counts.tolist())):
                wrong += distance(ids, truth.tolist())
                length += len(truth)
    model.train()
    return loss_sum / batches, wrong / max(1, length)


def main():
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_paths, val_paths = list_recordings(DATA)
    mean, std = mean_and_deviation(train_paths)
    train_set = BatCalls(train_paths, mean, std, training=True)
    val_set = BatCalls(val_paths, mean, std, training=False)
    train_loader = DataLoader(train_set, batch_size=BATCH, num_workers=WORKERS,
                              collate_fn=collate, worker_init_fn=seed_worker)
    val_loader = DataLoader(val_set, batch_size=BATCH, num_workers=1, collate_fn=collate)

    model = CallNet().to(device)
    criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-8)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.5)

    start, best = 0, float("inf")
    if os.path.exists("last.ckpt"):
        state = torch.load("last.ckpt", map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        start, best = state["epoch"] + 1, state["best"]

    model.train()
    for epoch in range(start, EPOCHS):
        train_set.set_epoch(epoch)
        loss_sum, n = 0.0, 0
        for features, frames, labels, counts in train_loader:
            features, labels = features.to(device), labels.to(device)
            log_probs = model(features, frames)
            loss = criterion(log_probs.transpose(0, 1), labels, frames, counts)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
            optimizer.step()
            loss_sum += loss.item() * len(counts)
            n += len(counts)
        scheduler.step()
        val_loss, error_rate = run_validation(model, val_loader, criterion, device)
        print(f"epoch {epoch}: train {loss_sum / n:.4f}, val {val_loss:.4f}, error rate {error_rate:.4f}")
        if error_rate < best:
            best = error_rate
            torch.save(model.state_dict(), "best.ckpt")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch, "best": best}, "last.ckpt")

    model.load_state_dict(torch.load("best.ckpt", map_location=device))
    val_loss, error_rate = run_validation(model, val_loader, criterion, device)
    print(f"best weights: val {val_loss:.4f}, error rate {error_rate:.4f}")


if __name__ == "__main__":
    main()
