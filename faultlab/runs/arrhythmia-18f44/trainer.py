import csv
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, train_set, valid_set, settings):
        self.s = settings
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=settings.batch_size, shuffle=True, drop_last=True)
        self.valid_loader = DataLoader(valid_set, batch_size=200)
        counts = np.bincount(train_set.labels, minlength=len(settings.class_names))
        weights = (counts.sum() / np.maximum(counts, 1)) ** settings.weight_power
        self.class_weights = torch.tensor(weights / weights.mean(), dtype=torch.float32)
        self.loss_fn = nn.CrossEntropyLoss(weight=self.class_weights)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=settings.epochs)
        self.best_f1 = 0.0

    def train_epoch(self):
        self.model.train()
        total, hits, seen = 0.0, 0, 0
        for beats, kinds in self.train_loader:
            self.optimizer.zero_grad()
            scores = self.model(beats)
            loss = self.loss_fn(scores, kinds)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.s.max_grad_norm)
            self.optimizer.step()
            total += loss.item() * len(kinds)
            hits += (scores.argmax(dim=1) == kinds).sum().item()
            seen += len(kinds)
        return total / seen, hits / seen

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        k = len(self.s.class_names)
        confusion = np.zeros((k, k), dtype=int)
        total = 0.0
        weight = 0.0
        for beats, kinds in self.valid_loader:
            scores = self.model(beats)
            w = self.class_weights[kinds].sum().item()
            total += self.loss_fn(scores, kinds).item() * w
            weight += w
            for truth, guess in zip(kinds.tolist(), scores.argmax(dim=1).tolist()):
                confusion[truth, guess] += 1
        recall = confusion.diagonal() / np.maximum(confusion.sum(axis=1), 1)
        precision = confusion.diagonal() / np.maximum(confusion.sum(axis=0), 1)
        f1 = (2 * recall * precision / np.maximum(recall + precision, 1e-9)).mean()
        return total / weight, confusion.trace() / confusion.sum(), f1, recall

    def fit(self, history_path="history.csv"):
        with open(history_path, "w", newline="") as f:
            writer = csv.writer(f)
            names = [f"se_{c}" for c in self.s.class_names]
            writer.writerow(["epoch", "lr", "train_loss", "train_acc", "valid_loss", "valid_acc", "macro_f1", *names])
            for epoch in range(1, self.s.epochs + 1):
                lr = self.optimizer.param_groups[0]["lr"]
                train_loss, train_acc = self.train_epoch()
                valid_loss, valid_acc, f1, recall = self.validate()
                self.scheduler.step()
                writer.writerow([epoch, f"{lr:.3e}", f"{train_loss:.5f}", f"{train_acc:.4f}", f"{valid_loss:.5f}",
                                 f"{valid_acc:.4f}", f"{f1:.4f}", *[f"{r:.3f}" for r in recall]])
                f.flush()
                if f1 > self.best_f1:
                    self.best_f1 = f1
                    torch.save(self.model.state_dict(), "best_model.pt")
        print(f"best macro F1 {self.best_f1:.4f}")
