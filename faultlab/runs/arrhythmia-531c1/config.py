from dataclasses import asdict, dataclass, field
import json


@dataclass
class Settings:
    seed: int = 302
    n_train: int = 480
    n_valid: int = 240
    beat_length: int = 72
    sampling_rate: int = 100
    class_names: tuple = ("N", "S", "V", "F")
    class_share: tuple = (0.70, 0.12, 0.13, 0.05)
    channels: tuple = (8, 16)
    kernel: int = 5
    dropout: float = 0.2
    batch_size: int = 64
    epochs: int = 16
    lr: float = 1e-2
    weight_decay: float = 1e-4
    max_grad_norm: float = 5.0
    weight_power: float = 0.5
    notes: list = field(default_factory=list)

    def dump(self, path):
        with open(path, "w") as f:
            json.dump(asdict(self), f, indent=2)
