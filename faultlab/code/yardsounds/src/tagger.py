import math
from typing import Optional

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn

from features import LogMel, SpecMask


def average_precision(scores: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """AP of one tag, NaN where it never occurs; scores and truth are (N,)."""
    order = scores.argsort(descending=True)
    hits = truth[order]
    if hits.sum() == 0:
        return torch.tensor(float("nan"))
    precision = hits.cumsum(0) / torch.arange(1, len(hits) + 1)
    return (precision * hits).sum() / hits.sum()


class ConvUnit(nn.Module):
    def __init__(self, c_in: int, c_out: int):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.avg_pool2d(x, 2)


class Tagger(nn.Module):
    def __init__(self, n_tags: int, widths=(32, 64, 128, 256), dropout: float = 0.3):
        super().__init__()
        self.units = nn.ModuleList(ConvUnit(a, b) for a, b in zip((1, *widths[:-1]), widths))
        self.dropout = nn.Dropout(dropout)
        self.att = nn.Conv1d(widths[-1], n_tags, 1)
        self.cla = nn.Conv1d(widths[-1], n_tags, 1)
        nn.init.xavier_uniform_(self.att.weight)
        nn.init.xavier_uniform_(self.cla.weight)
        nn.init.constant_(self.cla.bias, -3.0)

    def forward(self, x):
        for unit in self.units:
            x = unit(x)
        x = self.dropout(x.mean(dim=2))  # (N, C, T)
        weight = torch.softmax(self.att(x), dim=-1)
        return (weight * self.cla(x)).sum(dim=-1)


class TaggingTask(L.LightningModule):
    def __init__(self, n_tags: int = 12, lr: float = 1e-3, weight_decay: float = 1e-2, warmup_epochs: int = 2,
                 mixup_alpha: float = 0.3, backbone: Optional[str] = None):
        super().__init__()
        self.save_hyperparameters()
        self.front = LogMel()
        self.mask = SpecMask()
        self.net = Tagger(n_tags)
        if backbone:
            state = torch.load(backbone, map_location="cpu", weights_only=True)
            state = {k.removeprefix("net."): v for k, v in state.items() if k.startswith("net.units.")}
            missing, unexpected = self.net.load_state_dict(state, strict=False)
            assert not unexpected and all(k.startswith(("att", "cla")) for k in missing), (missing, unexpected)
        self._seen = []

    def forward(self, wav):
        return self.net(self.front(wav))

    def mixup(self, x, y):
        a = self.hparams.mixup_alpha
        lam = torch.distributions.Beta(a, a).sample((len(x),)).to(x)
        lam = torch.maximum(lam, 1 - lam)
        perm = torch.randperm(len(x), device=x.device)
        x = lam.view(-1, 1, 1, 1) * x + (1 - lam).view(-1, 1, 1, 1) * x[perm]
        y = lam.view(-1, 1) * y + (1 - lam).view(-1, 1) * y[perm]
        return x, y

    def training_step(self, batch, _):
        wav, y = batch
        x = self.mask(self.front(wav))
        x, y = self.mixup(x, y)
        loss = F.binary_cross_entropy_with_logits(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def _collect(self, batch, stage):
        wav, y = batch
        logits = self(wav)
        self.log(f"{stage}_loss", F.binary_cross_entropy_with_logits(logits, y), batch_size=len(y))
        self._seen.append((torch.sigmoid(logits).float().cpu(), y.cpu()))

    def _finish(self, stage):
        scores, truth = (torch.cat(part) for part in zip(*self._seen))
        self._seen.clear()
        ap = torch.stack([average_precision(scores[:, c], truth[:, c]) for c in range(truth.shape[1])])
        self.log(f"{stage}_map", ap.nanmean(), prog_bar=True)

    def validation_step(self, batch, _):
        self._collect(batch, "val")

    def on_validation_epoch_end(self):
        self._finish("val")

    def test_step(self, batch, _):
        self._collect(batch, "test")

    def on_test_epoch_end(self):
        self._finish("test")

    def configure_optimizers(self):
        hp = self.hparams
        opt = torch.optim.AdamW(self.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
        total = self.trainer.estimated_stepping_batches
        warm = max(1, total * hp.warmup_epochs // self.trainer.max_epochs)

        def factor(step):
            if step < warm:
                return (step + 1) / warm
            return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))

        sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}
