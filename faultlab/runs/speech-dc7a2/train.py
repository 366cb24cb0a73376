"""Keyword spotting: eight spoken commands, log-spectrogram, convolution and GRU. Logs to TensorBoard."""
import itertools
import json
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter

from audio import WORDS, log_spectrogram, record

hp = json.load(open("hparams.json"))
torch.set_num_threads(1)
torch.manual_seed(hp["seed"])
np.random.seed(hp["seed"])


class Commands(Dataset):
    def __init__(self, count, seed, masking=0):
        clips, words = record(count, seed, hp["noise"])
        self.spectra, self.words = log_spectrogram(clips), torch.from_numpy(words)
        self.masking = masking

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        spectrum = self.spectra[i]
        if self.masking:
            spectrum = spectrum.clone()
            start = int(torch.randint(0, spectrum.shape[0] - self.masking, (1,)))
            spectrum[start : start + self.masking] = 0.0
        return spectrum, self.words[i]


class Spotter(nn.Module):
    def __init__(self, bins, hidden, classes, dropout):
        super().__init__()
        self.encoder = nn.ModuleDict(
            {
                "norm": nn.BatchNorm1d(bins),
                "conv": nn.Conv1d(bins, hidden, kernel_size=5, stride=2, padding=2),
                "gru": nn.GRU(hidden, hidden, batch_first=True),
            }
        )
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(hidden, classes)

    def encode(self, spectra):
        x = self.encoder["norm"](spectra.transpose(1, 2))
        x = F.gelu(self.encoder["conv"](x))
        return self.encoder["gru"](x.transpose(1, 2))[0]

    def forward(self, spectra):
        return self.classifier(self.dropout(self.encode(spectra).mean(dim=1)))


def warm_start(model, loader, steps):
    """Teach the encoder to tell the next frame from the present one, and keep it as a checkpoint."""
    predictor = nn.Linear(hp["hidden"], model.encoder["norm"].num_features)
    opt = torch.optim.Adam([*model.encoder.parameters(), *predictor.parameters()], lr=2e-3)
    for spectra, _ in itertools.islice(itertools.cycle(loader), steps):
        guess = predictor(model.encode(spectra))[:, :-1]
        target = spectra[:, 2::2][:, : guess.shape[1]]
        opt.zero_grad()
        F.mse_loss(guess[:, : target.shape[1]], target).backward()
        opt.step()
    torch.save(model.encoder.state_dict(), "encoder.pt")


def endless(loader):
    while True:
        yield from loader


def rate(step):
    if step < hp["warmup_steps"]:
        return (step + 1) / hp["warmup_steps"]
    progress = (step - hp["warmup_steps"]) / max(1, hp["total_steps"] - hp["warmup_steps"])
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))


def validate(model, loader):
    model.eval()
    loss = correct = total = 0
    with torch.inference_mode():
        for spectra, words in loader:
            correct = 0
            scores = model(spectra)
            loss += F.cross_entropy(scores, words, reduction="sum").item()
            correct += int((scores.argmax(dim=-1) == words).sum())
            total += len(words)
    model.train()
    return loss / total, correct / total


train_set = Commands(hp["clips"], seed=31, masking=hp["time_mask"])
valid_set = Commands(480, seed=32)
train_loader = DataLoader(train_set, hp["batch_size"], shuffle=True, drop_last=True)
valid_loader = DataLoader(valid_set, 120)

model = Spotter(train_set.spectra.shape[-1], hp["hidden"], len(WORDS), hp["dropout"])
if hp["warm_start_steps"]:
    warm_start(Spotter(train_set.spectra.shape[-1], hp["hidden"], len(WORDS), hp["dropout"]), train_loader, hp["warm_start_steps"])
    model.encoder.load_state_dict(torch.load("encoder.pt"))
optimizer = torch.optim.AdamW(model.parameters(), lr=hp["peak_lr"], weight_decay=hp["weight_decay"])
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
writer = SummaryWriter("tb")
writer.add_text("hparams", "```json\n" + json.dumps(hp, indent=2) + "\n```")
running = []
batches = endless(train_loader)
for step in range(1, hp["total_steps"] + 1):
    spectra, words = next(batches)
    scores = model(spectra)
    loss = F.cross_entropy(scores, words, label_smoothing=hp["label_smoothing"])
    model.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), hp["max_grad_norm"])
    optimizer.step()
    running.append(loss.item())
    if step % hp["log_every"] == 0:
        writer.add_scalar("Loss/train", sum(running) / len(running), step)
        writer.add_scalar("Accuracy/train", (scores.argmax(-1) == words).float().mean().item(), step)
        writer.add_scalar("lr", scheduler.get_last_lr()[0], step)
        writer.add_scalar("grad_norm", norm.item(), step)
        running.clear()
    scheduler.step()
    if step % hp["eval_every"] == 0:
        valid_loss, valid_accuracy = validate(model, valid_loader)
        writer.add_scalar("Loss/valid", valid_loss, step)
        writer.add_scalar("Accuracy/valid", valid_accuracy, step)
writer.close()
