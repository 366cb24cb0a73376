import logging

import torch
from torch import nn
from torch.utils.data import DataLoader

log = logging.getLogger("spindles")


def roc_auc(scores, labels):
    """Rank form of the area under the curve."""
    order = torch.argsort(scores)
    ranks = torch.empty_like(scores)
    ranks[order] = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    pos = labels > 0.5
    n_pos, n_neg = int(pos.sum()), int((~pos).sum())
    if n_pos == 0 or n_neg == 0:
        return float("nan")
    return (ranks[pos].sum().item() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


class Trainer:
    def __init__(self, net, train, valid, lr, weight_decay, batch_size, noise):
        self.net = net
        self.noise = noise
        self.train_loader = DataLoader(train, batch_size=batch_size, shuffle=True)
        self.valid_loader = DataLoader(valid, batch_size=128)
        self.optim = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=weight_decay)
        self.sched = torch.optim.lr_scheduler.MultiStepLR(self.optim, milestones=[14, 20], gamma=0.3)
        self.loss_fn = nn.SmoothL1Loss(beta=0.5)

    def _train_epoch(self):
        self.net.train()
        losses = []
        for (x,) in self.train_loader:
            noisy = x + self.noise * torch.randn_like(x)
            self.optim.zero_grad()
            loss = self.loss_fn(self.net(noisy), x)
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
            self.optim.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def _validate(self):
        self.net.eval()
        errors, labels = [], []
        for x, y in self.valid_loader:
            rec = self.net(x)
            errors.append((rec - x).pow(2).mean(dim=1))
            labels.append(y)
        errors, labels = torch.cat(errors), torch.cat(labels)
        normal = errors[labels < 0.5].mean().item()
        return normal, roc_auc(errors, labels)

    def fit(self, epochs):
        best = float("inf")
        for epoch in range(1, epochs + 1):
            train_mse = self._train_epoch()
            valid_mse, auc = self._validate()
            lr = self.optim.param_groups[0]["lr"]
            self.sched.step()
            log.info(
                "epoch %d/%d train_mse=%.5f valid_mse=%.5f valid_auc=%.4f lr=%.2e",
                epoch, epochs, train_mse, valid_mse, auc, lr,
            )
            if valid_mse < best:
                best = valid_mse
                torch.save(self.net.state_dict(), "autoencoder.pt")
        log.info("done, best valid_mse=%.5f", best)
