"""Signposts from one dialect into another: GRU encoder and decoder in Lightning, word vocabularies of its own."""
import csv
from collections import Counter

import lightning as L
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]
PAD, BOS, EOS, UNK = range(4)


class Vocabulary:
    def __init__(self, lines, least=2):
        counts = Counter(w for line in lines for w in line.split())
        self.words = SPECIAL + sorted(w for w, n in counts.items() if n >= least)
        self.number = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, line):
        return torch.tensor([self.number.get(w, UNK) for w in line.split()] + [EOS])

    def decode(self, ids):
        words = []
        for i in ids.tolist():
            if i == EOS:
                break
            words.append(self.words[i])
        return " ".join(words)


class Signposts(L.LightningDataModule):
    def __init__(self, folder="signposts", batch_size=64):
        super().__init__()
        self.folder, self.batch_size = folder, batch_size

    def read(self, part):
        with open(f"{self.folder}/{part}.tsv", encoding="utf-8") as f:
            return [tuple(row) for row in csv.reader(f, delimiter="\t")]

    def setup(self, stage=None):
        self.rows = {part: self.read(part) for part in ("train", "valid", "test")}
        self.source = Vocabulary(a for a, _ in self.rows["train"])
        self.target = Vocabulary(b for _, b in self.rows["train"])

    def collate(self, rows):
        a = pad_sequence([self.source.encode(x) for x, _ in rows], batch_first=True, padding_value=PAD)
        b = pad_sequence([self.target.encode(y) for _, y in rows], batch_first=True, padding_value=PAD)
        return a, b

    def loader(self, part):
        return DataLoader(self.rows[part], self.batch_size, shuffle=part == "train", collate_fn=self.collate)

    def train_dataloader(self):
        return self.loader("train")

    def val_dataloader(self):
        return self.loader("valid")

    def test_dataloader(self):
        return self.loader("test")


class Translator(L.LightningModule):
    def __init__(self, source, target, width=256, rate=1e-3):
        super().__init__()
        self.target_words, self.rate = target, rate
        self.source_table = nn.Embedding(len(source), width, padding_idx=PAD)
        self.target_table = nn.Embedding(len(target), width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.mix = nn.Linear(3 * width, width)
        self.out = nn.Linear(width, len(target))
        self.loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)

    def encode(self, a):
        memory, last = self.encoder(self.source_table(a))
        start = torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=1))).unsqueeze(0)
        return self.bridge(memory), start, a == PAD

    def decode(self, before, memory, state, padded):
        h, state = self.decoder(self.target_table(before), state)
        near = h @ memory.transpose(1, 2) / memory.size(2) ** 0.5
        near = near.masked_fill(padded.unsqueeze(1), float("-inf"))
        seen = near.softmax(dim=2) @ memory
        return self.out(torch.tanh(self.mix(torch.cat([h, seen, self.target_table(before)], dim=2)))), state

    def shared(self, batch):
        a, b = batch
        memory, state, padded = self.encode(a)
        start = torch.full((b.size(0), 1), BOS, dtype=torch.long, device=b.device)
        before = torch.cat([start, b[:, :-1]], dim=1)
        logits, _ = self.decode(before, memory, state, padded)
        return self.loss(logits.flatten(0, 1), b.flatten())

    def training_step(self, batch, batch_idx):
        loss = self.shared(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.shared(batch), batch_size=len(batch[0]), prog_bar=True)

    def test_step(self, batch, batch_idx):
        a, b = batch
        right = [self.target_words.decode(g) == self.target_words.decode(t) for g, t in zip(self.greedy(a), b)]
        self.log("exact", sum(right) / len(right), batch_size=len(right))

    def greedy(self, a, longest=40):
        memory, state, padded = self.encode(a)
        word = torch.full((a.size(0), 1), BOS, dtype=torch.long, device=a.device)
        words = []
        for _ in range(longest):
            logits, state = self.decode(word, memory, state, padded)
            word = logits[:, -1:].argmax(dim=2)
            words.append(word)
        return torch.cat(words, dim=1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.rate)


def main():
    L.seed_everything(8)
    data = Signposts()
    data.setup()
    model = Translator(data.source, data.target)
    keep = L.pytorch.callbacks.ModelCheckpoint(monitor="val_loss", mode="min")
    trainer = L.Trainer(max_epochs=20, gradient_clip_val=1.0, callbacks=[keep])
    trainer.fit(model, datamodule=data)
    trainer.test(model, datamodule=data, ckpt_path="best")


if __name__ == "__main__":
    main()
