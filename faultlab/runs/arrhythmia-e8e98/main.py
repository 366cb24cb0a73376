import numpy as np
import torch

from beats import BeatDataset, make_beats
from config import Settings
from network import BeatNet
from trainer import Trainer


def main():
    settings = Settings()
    settings.dump("settings.json")
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)

    signals, labels = make_beats(settings.n_train, settings, rng)
    valid_signals, valid_labels = make_beats(settings.n_valid, settings, rng)

    train_set = BeatDataset(signals, labels, augment=True, seed=settings.seed)
    valid_set = BeatDataset(valid_signals, valid_labels)

    model = BeatNet(settings)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, "
          f"{len(train_set)} beats for training, {len(valid_set)} for validation")
    trainer = Trainer(model, train_set, valid_set, settings)
    trainer.fit()


if __name__ == "__main__":
    main()
