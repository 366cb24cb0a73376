"""A Lightning module with the CSV and the TensorBoard logger at once."""

import sys

import lightning
import task
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch import nn

case, out = sys.argv[1:]
lightning.seed_everything(task.SETTINGS["seed"])
torch.set_num_threads(1)
train_x, train_y, eval_x, eval_y = task.samples(case)


class Module(lightning.LightningModule):
    def __init__(self, learning_rate, momentum, weight_decay):
        super().__init__()
        self.save_hyperparameters()
        self.layers = nn.Sequential(nn.Linear(task.FEATURES, 64), nn.Tanh(), nn.Linear(64, task.CLASSES))

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        scores = self.layers(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(scores, batch[1]))
        self.log("val_acc", (scores.argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self):
        given = self.hparams
        return torch.optim.SGD(
            self.parameters(), given.learning_rate, given.momentum, weight_decay=given.weight_decay
        )


def loader(x, y, **more):
    data = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
    return torch.utils.data.DataLoader(data, task.SETTINGS["batch_size"], **more)


trainer = lightning.Trainer(
    max_epochs=task.SETTINGS["epochs"],
    accelerator="cpu",
    log_every_n_steps=5,
    default_root_dir=out,
    logger=[CSVLogger(out), TensorBoardLogger(out)],
    callbacks=[LearningRateMonitor()],
)
settings = {key: task.SETTINGS[key] for key in ("momentum", "weight_decay")}
trainer.fit(
    Module(task.RATES[case], **settings), loader(train_x, train_y, shuffle=True), loader(eval_x, eval_y)
)
