"""Model and training loop."""
import copy
import logging

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from config import ModelConfig, TrainConfig
from features import FeaturePipeline

logger = logging.getLogger(__name__)


class RentModel(nn.Module):
    def __init__(self, n_numeric: int, cardinalities: list[int], cfg: ModelConfig) -> None:
        super().__init__()
        dims = [min(16, (c + 1) // 2) for c in cardinalities]
        self.embeddings = nn.ModuleList([nn.Embedding(c, d) for c, d in zip(cardinalities, dims)])
        layers: list[nn.Module] = []
        width = n_numeric + sum(dims)
        for h in cfg.hidden:
            layers += [nn.Linear(width, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(cfg.dropout)]
            width = h
        self.mlp = nn.Sequential(*layers)
        self.head = nn.Linear(width, 1)

    def forward(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        embedded = [emb(categorical[:, i]) for i, emb in enumerate(self.embeddings)]
        hidden = self.mlp(torch.cat([numeric, *embedded], dim=1))
        return self.head(hidden).squeeze(-1)


class Trainer:
    """Fits a RentModel with early stopping on the validation loss."""

    def __init__(self, model: nn.Module, pipeline: FeaturePipeline, cfg: TrainConfig, device: torch.device) -> None:
        self.model = model.to(device)
        self.pipeline = pipeline
        self.cfg = cfg
        self.device = device
        self.criterion = nn.SmoothL1Loss()
        self.optimizer = self._build_optimizer()
        self.best_loss = float("inf")
        self.best_state: dict[str, Tensor] = {}

    def _build_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), lr=self.cfg.max_lr, weight_decay=self.cfg.weight_decay)

    def _training_step(self, batch: tuple[Tensor, ...]) -> float:
        numeric, categorical, target = (t.to(self.device) for t in batch)
        prediction = self.model(numeric, categorical)
        loss = self.criterion(prediction, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def fit(self, train_loader: DataLoader, val_loader: DataLoader) -> None:
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=self.cfg.max_lr, epochs=self.cfg.max_epochs, steps_per_epoch=len(train_loader)
        )
        stale = 0
        for epoch in range(self.cfg.max_epochs):
            self.model.train()
            for step, batch in enumerate(train_loader):
                loss = self._training_step(batch)
                if step % self.cfg.log_every == 0:
                    logger.info("epoch=%d step=%d loss=%.4f", epoch, step, loss)
            metrics = self.validate(val_loader)
            logger.info("epoch=%d %s", epoch, " ".join(f"{k}={v:.4f}" for k, v in metrics.items()))
            if metrics["val_loss"] < self.best_loss:
                self.best_loss = metrics["val_loss"]
                self.best_state = copy.deepcopy(self.model.state_dict())
                stale = 0
            else:
                stale += 1
            if stale >= self.cfg.patience:
                logger.info("stopping early at epoch %d", epoch)
                break
        self.model.load_state_dict(self.best_state)

    @torch.no_grad()
    def validate(self, loader: DataLoader) -> dict[str, float]:
        self.model.eval()
        predictions, targets = [], []
        for numeric, categorical, target in loader:
            predictions.append(self.model(numeric.to(self.device), categorical.to(self.device)).cpu())
            targets.append(target)
        pred, true = torch.cat(predictions), torch.cat(targets)
        rent_pred, rent_true = self.pipeline.to_rent(pred), self.pipeline.to_rent(true)
        return {
            "val_loss": self.criterion(pred, true).item(),
            "val_mae": (rent_pred - rent_true).abs().mean().item(),
            "val_mape": ((rent_pred - rent_true).abs() / rent_true.clamp(min=1.0)).mean().item(),
        }

    def save(self) -> None:
        self.cfg.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        torch.save(self.model.state_dict(), self.cfg.checkpoint)
