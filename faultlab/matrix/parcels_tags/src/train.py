"""Training of the damage tagger: several kinds of damage may be on one photograph of a parcel."""
from __future__ import annotations

import csv
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

logger = logging.getLogger(__name__)
DAMAGES = ("dent", "tear", "wet", "open", "label", "crushed")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class OptimConfig:
    learning_rate: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 15
    warmup_steps: int = 200


@dataclass(frozen=True)
class TrainingConfig:
    root: Path = Path("/data/parcels")
    image_size: int = 224
    batch_size: int = 32
    num_workers: int = 4
    backbone: str = "resnet34"
    threshold: float = 0.5
    seed: int = 11
    output: Path = Path("runs/parcels")
    optim: OptimConfig = field(default_factory=OptimConfig)


BACKBONES: dict[str, Callable[[], tuple[nn.Module, int]]] = {}


def register_backbone(name: str):
    def wrap(function):
        BACKBONES[name] = function
        return function
    return wrap


@register_backbone("resnet34")
def resnet34() -> tuple[nn.Module, int]:
    net = models.resnet34(weights=models.ResNet34_Weights.IMAGENET1K_V1)
    width = net.fc.in_features
    net.fc = nn.Identity()
    return net, width


class DamageTagger(nn.Module):
    def __init__(self, backbone: str, num_labels: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.backbone, width = BACKBONES[backbone]()
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(width, num_labels)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.dropout(self.backbone(images)))


class ParcelDataset(Dataset):
    def __init__(self, root: Path, split: str, transform: Callable) -> None:
        self.root = root
        self.transform = transform
        with (root / f"{split}.csv").open(newline="") as handle:
            self.rows = list(csv.DictReader(handle))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        row = self.rows[index]
        image = Image.open(self.root / "images" / row["file"]).convert("RGB")
        target = torch.tensor([float(row[name]) for name in DAMAGES])
        return self.transform(image), target


def build_transform(size: int, training: bool) -> Callable:
    steps: list[Callable] = []
    if training:
        steps += [transforms.RandomResizedCrop(size, scale=(0.6, 1.0)), transforms.RandomHorizontalFlip()]
    else:
        steps += [transforms.Resize(int(size * 1.14)), transforms.CenterCrop(size)]
    steps += [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    return transforms.Compose(steps)


class Metric(ABC):
    @abstractmethod
    def update(self, scores: Tensor, targets: Tensor) -> None: ...

    @abstractmethod
    def compute(self) -> float: ...


class MacroF1(Metric):
    def __init__(self, num_labels: int, threshold: float) -> None:
        self.threshold = threshold
        self.tp = torch.zeros(num_labels)
        self.fp = torch.zeros(num_labels)
        self.fn = torch.zeros(num_labels)

    def update(self, scores: Tensor, targets: Tensor) -> None:
        predicted = (scores > self.threshold).float().cpu()
        targets = targets.cpu()
        self.tp += (predicted * targets).sum(dim=0)
        self.fp += (predicted * (1 - targets)).sum(dim=0)
        self.fn += ((1 - predicted) * targets).sum(dim=0)

    def compute(self) -> float:
        f1 = 2 * self.tp / (2 * self.tp + self.fp + self.fn).clamp(min=1)
        return f1.mean().item()


class Trainer:
    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train_loader = self._loader("train", training=True)
        self.val_loader = self._loader("val", training=False)
        self.model = DamageTagger(config.backbone, len(DAMAGES)).to(self.device)
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.optim.learning_rate, weight_decay=config.optim.weight_decay
        )
        total = config.optim.epochs * len(self.train_loader)
        warmup = torch.optim.lr_scheduler.LinearLR(self.optimizer, 0.01, total_iters=config.optim.warmup_steps)
        decay = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, total - config.optim.warmup_steps)
        self.scheduler = torch.optim.lr_scheduler.SequentialLR(
            self.optimizer, [warmup, decay], milestones=[config.optim.warmup_steps]
        )
        self.best = -1.0

    def _loader(self, split: str, training: bool) -> DataLoader:
        dataset = ParcelDataset(self.config.root, split, build_transform(self.config.image_size, training))
        return DataLoader(dataset, batch_size=self.config.batch_size, shuffle=training, num_workers=self.config.num_workers)

    def train_epoch(self) -> float:
        self.model.train()
        running = 0.0
        for images, targets in self.train_loader:
            images, targets = images.to(self.device), targets.to(self.device)
            self.optimizer.zero_grad()
            logits = self.model(images)
            loss = self.criterion(logits, targets)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            running += loss.item()
        return running / len(self.train_loader)

    def validate(self) -> float:
        self.model.eval()
        metric = MacroF1(len(DAMAGES), self.config.threshold)
        with torch.no_grad():
            for images, targets in self.val_loader:
                logits = self.model(images.to(self.device))
                metric.update(torch.sigmoid(logits), targets)
        return metric.compute()

    def fit(self) -> None:
        self.config.output.mkdir(parents=True, exist_ok=True)
        for epoch in range(self.config.optim.epochs):
            loss = self.train_epoch()
            f1 = self.validate()
            logger.info("epoch %d loss %.4f f1 %.4f", epoch, loss, f1)
            if f1 > self.best:
                self.best = f1
                torch.save(self.model.state_dict(), self.config.output / "best.pt")


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    config = TrainingConfig()
    torch.manual_seed(config.seed)
    Trainer(config).fit()


if __name__ == "__main__":
    main()
