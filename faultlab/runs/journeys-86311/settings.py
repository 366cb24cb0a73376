from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class RunSettings:
    seed: int
    out_dir: str
    log_every: int


@dataclass(frozen=True)
class DistSettings:
    backend: str
    world_size: int
    find_unused_parameters: bool


@dataclass(frozen=True)
class DataSettings:
    export_seed: int
    n_sessions: int
    label_column: str
    val_share: float
    test_share: float
    split_by: str
    max_events: int
    batch_size: int


@dataclass(frozen=True)
class ModelSettings:
    dim: int
    n_blocks: int
    n_queries: int
    hidden: int
    dropout: float


@dataclass(frozen=True)
class OptimSettings:
    lr: float
    betas: list[float]
    weight_decay: float
    warmup_steps: int
    clip_norm: float


@dataclass(frozen=True)
class TrainSettings:
    epochs: int
    accumulate: int
    label_smoothing: float


@dataclass(frozen=True)
class Settings:
    run: RunSettings
    dist: DistSettings
    data: DataSettings
    model: ModelSettings
    optim: OptimSettings
    train: TrainSettings

    @classmethod
    def load(cls, path: str | Path) -> Settings:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return cls(
            run=RunSettings(**raw["run"]),
            dist=DistSettings(**raw["dist"]),
            data=DataSettings(**raw["data"]),
            model=ModelSettings(**raw["model"]),
            optim=OptimSettings(**raw["optim"]),
            train=TrainSettings(**raw["train"]),
        )
