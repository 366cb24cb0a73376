from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class DataConfig:
    csv_path: Path = Path("data/listings.csv")
    numeric: tuple[str, ...] = ("area", "rooms", "floor", "year_built", "lat", "lon", "dist_station")
    categorical: tuple[str, ...] = ("district", "condition", "heating")
    target: str = "rent"
    val_fraction: float = 0.15
    clip_quantile: float = 0.995
    seed: int = 13


@dataclass(frozen=True)
class ModelConfig:
    hidden: tuple[int, ...] = (256, 128, 64)
    dropout: float = 0.1


@dataclass(frozen=True)
class TrainConfig:
    batch_size: int = 256
    max_epochs: int = 60
    max_lr: float = 2e-3
    weight_decay: float = 1e-4
    patience: int = 10
    log_every: int = 50
    checkpoint: Path = Path("artifacts/rentcast.pt")


@dataclass(frozen=True)
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
