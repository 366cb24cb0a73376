import logging
import warnings

import lightning.pytorch as pl
import torch
from lightning.pytorch.loggers import CSVLogger

from flags import FlagData
from module import FlagClassifier

warnings.filterwarnings("ignore", ".*does not have many workers.*")
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)

EPOCHS = 7


def main(seed=301):
    torch.set_num_threads(1)
    pl.seed_everything(seed)
    data = FlagData(seed=seed)
    steps = EPOCHS * (data.hparams.n_train // data.hparams.batch_size)
    model = FlagClassifier(max_steps=steps)
    trainer = pl.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        logger=CSVLogger(".", name="logs", version=0),
        log_every_n_steps=5,
        gradient_clip_val=2.0,
        num_sanity_val_steps=0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, datamodule=data)


if __name__ == "__main__":
    main()
