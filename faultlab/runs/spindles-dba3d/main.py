import logging

import numpy as np
import torch

from sensors import build_datasets
from trainer import Trainer
from autoencoder import WindowAutoencoder

logging.basicConfig(
    filename="training.log",
    level=logging.INFO,
    format="%(asctime)s | %(levelname)s | %(message)s",
    datefmt="%H:%M:%S",
)
log = logging.getLogger("spindles")

WINDOW = 48
CHANNELS = 3
HIDDEN = 64
LATENT = 10
BATCH = 32
LEARNING_RATE = 2e-3
L2 = 1e-5
NOISE = 0.1
EPOCHS = 24
SEED = 4


def main():
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    np.random.seed(SEED)

    train, valid = build_datasets(WINDOW, CHANNELS, seed=SEED)
    log.info("windows: train=%d valid=%d anomalous=%d", len(train), len(valid), int(valid.tensors[1].sum()))

    net = WindowAutoencoder(WINDOW * CHANNELS, HIDDEN, LATENT)
    log.info("parameters: %d", sum(p.numel() for p in net.parameters()))
    log.info("lr=%g batch=%d weight_decay=%g noise=%g epochs=%d", LEARNING_RATE, BATCH, L2, NOISE, EPOCHS)

    trainer = Trainer(net, train, valid, lr=LEARNING_RATE, weight_decay=L2, batch_size=BATCH, noise=NOISE)
    trainer.fit(EPOCHS)


if __name__ == "__main__":
    main()
