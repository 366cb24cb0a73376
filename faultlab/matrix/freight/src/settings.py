"""Typed settings of the freight delay model."""

from dataclasses import dataclass


@dataclass
class Settings:
    train_pattern: str = "gs://freight/train-*.tfrecord"
    eval_pattern: str = "gs://freight/eval-*.tfrecord"
    per_replica_batch: int = 128
    train_examples: int = 1_200_000
    epochs: int = 12
    base_lr: float = 5e-4
    warmup_epochs: int = 1
    stations: int = 4096
    embedding: int = 32
    hidden: int = 256
    window: int = 24
    drop_rate: float = 0.15
    weight_decay: float = 1e-5
    clip_norm: float = 1.0
    seed: int = 1234
    model_dir: str = "/srv/freight"
