import argparse
import json
import string

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import MulticlassAccuracy

LETTERS = {c: i + 1 for i, c in enumerate(string.ascii_lowercase + string.digits + " .,-/:&")}
TAGS = ["date", "payee", "amount", "purpose", "other"]


class Ledger(Dataset):
    """Lines of an account book: words with a tag for each, and the account of the whole line."""

    def __init__(self, path):
        with open(path) as f:
            self.rows = [json.loads(line) for line in f]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        words = [torch.tensor([LETTERS.get(c, 0) for c in w.lower()][:16] + [0] * (16 - len(w))) for w in row["words"]]
        return torch.stack(words), torch.tensor([TAGS.index(t) for t in row["tags"]]), torch.tensor(row["account"])


def collate(rows):
    words, tags, accounts = zip(*rows)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=-100), torch.stack(accounts), lengths


class LetterNet(nn.Module):
    def __init__(self, dim, kernels=(2, 3, 4)):
        super().__init__()
        self.table = nn.Embedding(len(LETTERS) + 1, 24, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(24, dim, k) for k in kernels])
        self.out = nn.Linear(dim * len(kernels), dim)

    def forward(self, letters):
        b, t, n = letters.shape
        x = self.table(letters.view(b * t, n)).transpose(1, 2)
        x = torch.cat([F.relu(c(x)).amax(dim=2) for c in self.convs], dim=1)
        return self.out(x).view(b, t, -1)


class LedgerNet(nn.Module):
    def __init__(self, dim, accounts):
        super().__init__()
        self.letters = LetterNet(dim)
        self.lstm = nn.LSTM(dim, dim, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.norm = nn.LayerNorm(2 * dim)
        self.tag_head = nn.Linear(2 * dim, len(TAGS))
        self.account_head = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, accounts))

    def forward(self, letters, lengths):
        x = self.letters(letters)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        line = torch.cat([last[-2], last[-1]], dim=1)
        return self.tag_head(self.norm(states)), self.account_head(self.norm(line))


class LitLedger(L.LightningModule):
    def __init__(self, dim=96, accounts=40, lr=1e-3, account_weight=0.5):
        super().__init__()
        self.save_hyperparameters()
        self.net = LedgerNet(dim, accounts)
        self.tag_acc = MulticlassAccuracy(len(TAGS), average="micro", ignore_index=-100)
        self.account_acc = MulticlassAccuracy(accounts, average="micro")

    def forward(self, letters, lengths):
        return self.net(letters, lengths)

    def _loss(self, batch):
        letters, tags, accounts, lengths = batch
        tag_logits, account_logits = self(letters, lengths)
        tag_loss = F.cross_entropy(tag_logits.transpose(1, 2), tags, ignore_index=-100)
        account_loss = F.cross_entropy(account_logits, accounts)
        return tag_loss + self.hparams.account_weight * account_loss, tag_logits, account_logits

    def training_step(self, batch, batch_idx):
        loss, _, _ = self._loss(batch)
        self.log("train_loss", loss, batch_size=len(batch[0]))
        return loss

    def validation_step(self, batch, batch_idx):
        loss, tag_logits, account_logits = self._loss(batch)
        self.tag_acc(tag_logits.transpose(1, 2), batch[1])
        self.account_acc(account_logits, batch[2])
        self.log_dict({"val_loss": loss, "val_tags": self.tag_acc, "val_account": self.account_acc}, batch_size=len(batch[0]), on_epoch=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.max_epochs)
        return {"optimizer": optimizer, "lr_scheduler": schedule}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    L.seed_everything(4, workers=True)
    train = DataLoader(Ledger("train.jsonl"), args.batch, shuffle=True, collate_fn=collate)
    valid = DataLoader(Ledger("valid.jsonl"), args.batch, collate_fn=collate)
    keep = ModelCheckpoint(monitor="val_tags", mode="max")
    trainer = L.Trainer(max_epochs=args.epochs, gradient_clip_val=1.0, callbacks=[keep], deterministic=True)
    trainer.fit(LitLedger(lr=args.lr), train, valid)
