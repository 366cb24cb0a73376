"""Typed view of config.yaml."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml


@dataclass
class DataConfig:
    data_seed: int = 2024
    pumps_per_site: list[int] = field(default_factory=lambda: [60, 48, 42])
    val_share: float = 0.25
    window: int = 32
    stride: int = 10
    rul_cap: int = 125
    jitter: float = 0.08
    record_error_share: float = 0.0


@dataclass
class ModelConfig:
    conv_channels: int = 24
    gru_hidden: int = 24


@dataclass
class TrainConfig:
    epochs: int = 24
    epochs_per_job: int = 14
    batch_size: int = 64
    lr: float = 2e-3
    weight_decay: float = 1e-2
    warmup_epochs: int = 2
    clip_norm: float = 1.0
    log_every: int = 10


@dataclass
class Config:
    seed: int
    output_dir: str
    data: DataConfig
    model: ModelConfig
    train: TrainConfig

    @classmethod
    def load(cls, path: str | Path) -> Config:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return cls(
            seed=raw["seed"],
            output_dir=raw["output_dir"],
            data=DataConfig(**raw["data"]),
            model=ModelConfig(**raw["model"]),
            train=TrainConfig(**raw["train"]),
        )

    def save(self, path: str | Path) -> None:
        Path(path).write_text(yaml.safe_dump(asdict(self), sort_keys=False), encoding="utf-8")
