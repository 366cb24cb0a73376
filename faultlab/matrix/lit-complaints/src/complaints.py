# Which department is a complaint for? Bidirectional GRU, pytorch-lightning 1.x
import os
import re
from argparse import ArgumentParser, Namespace
from collections import Counter

import pandas as pd
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from sklearn.metrics import f1_score
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, UNK = 0, 1
DEPARTMENTS = ["billing", "delivery", "product", "staff", "website"]


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def build_vocab(texts, size):
    counts = Counter(w for t in texts for w in words(t))
    return {w: i + 2 for i, (w, _) in enumerate(counts.most_common(size - 2))}


class Complaints(Dataset):
    def __init__(self, table, vocab, max_len=200):
        self.items = []
        for text, department in zip(table["text"], table["department"]):
            ids = [vocab.get(w, UNK) for w in words(text)][:max_len] or [UNK]
            self.items.append((torch.tensor(ids), DEPARTMENTS.index(department)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    ids, labels = zip(*items)
    lengths = torch.tensor([len(x) for x in ids])
    return pad_sequence(ids, batch_first=True, padding_value=PAD), lengths, torch.tensor(labels)


class ComplaintModel(pl.LightningModule):
    def __init__(self, hparams):
        super().__init__()
        if isinstance(hparams, dict):
            hparams = Namespace(**hparams)
        self.save_hyperparameters(hparams)
        self.embed = nn.Embedding(hparams.vocab_size, hparams.dim, padding_idx=PAD)
        self.rnn = nn.GRU(
            hparams.dim, hparams.hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.3
        )
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(2 * hparams.hidden, len(DEPARTMENTS))
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, ids, lengths):
        x = self.dropout(self.embed(ids))
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        h = torch.cat([h[-2], h[-1]], dim=1)
        return self.out(self.dropout(h))

    def training_step(self, batch, batch_idx):
        ids, lengths, labels = batch
        logits = self(ids, lengths)
        loss = self.criterion(logits, labels)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        ids, lengths, labels = batch
        logits = self(ids, lengths)
        loss = self.criterion(logits, labels)
        return {"loss": loss, "preds": logits.argmax(dim=1), "labels": labels}

    def validation_epoch_end(self, outputs):
        preds = torch.cat([o["preds"] for o in outputs])
        labels = torch.cat([o["labels"] for o in outputs])
        n = torch.tensor([len(o["labels"]) for o in outputs], dtype=torch.float)
        losses = torch.stack([o["loss"] for o in outputs]).cpu()
        self.log("val_loss", (losses * n).sum() / n.sum(), prog_bar=True)
        self.log("val_acc", (preds == labels).float().mean(), prog_bar=True)
        self.log("val_f1", f1_score(labels.cpu(), preds.cpu(), average="macro"))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr, weight_decay=1e-5)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=2)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "epoch", "monitor": "val_loss"},
        }


def main(args):
    pl.seed_everything(args.seed)
    table = pd.read_csv(args.csv).dropna(subset=["text", "department"])
    table = table.sample(frac=1, random_state=args.seed).reset_index(drop=True)
    n_val = int(len(table) * 0.15)
    val_table, train_table = table[:n_val], table[n_val:]
    vocab = build_vocab(train_table["text"], args.vocab_size)
    train_loader = DataLoader(
        Complaints(train_table, vocab), batch_size=args.batch_size, shuffle=True, collate_fn=collate, num_workers=2
    )
    val_loader = DataLoader(
        Complaints(val_table, vocab), batch_size=args.batch_size, collate_fn=collate, num_workers=2
    )
    model = ComplaintModel(args)
    checkpoint = ModelCheckpoint(
        dirpath=args.out, filename="{epoch}-{val_f1:.3f}", monitor="val_f1", mode="max", save_top_k=1
    )
    early = EarlyStopping(monitor="val_loss", patience=6, mode="min")
    trainer = pl.Trainer(
        gpus=args.gpus,
        max_epochs=args.epochs,
        gradient_clip_val=5.0,
        callbacks=[checkpoint, early],
        default_root_dir=args.out,
        resume_from_checkpoint=args.resume,
    )
    trainer.fit(model, train_loader, val_loader)
    print("best", checkpoint.best_model_path, checkpoint.best_model_score)

    model = ComplaintModel.load_from_checkpoint(checkpoint.best_model_path)
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for ids, lengths, labels in val_loader:
            hits += (model(ids, lengths).argmax(dim=1) == labels).sum().item()
            total += len(labels)
    with open(os.path.join(args.out, "result.txt"), "w") as f:
        f.write(f"accuracy {hits / total:.4f}\n")


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("csv")
    parser.add_argument("--out", default="out")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--vocab_size", type=int, default=20000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--resume", default=None)
    main(parser.parse_args())
