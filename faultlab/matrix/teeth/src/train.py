import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torchmetrics.classification import MulticlassCohenKappa
from torchvision import models

from data import TeethData


class Grader(L.LightningModule):
    def __init__(self, grades=4, lr=3e-4):
        super().__init__()
        self.save_hyperparameters()
        body = models.resnet18(weights=None)
        body.conv1 = nn.Conv2d(1, 64, 7, 2, 3, bias=False)
        body.fc = nn.Identity()
        self.body = body
        self.head = nn.Linear(512 + 1, grades)
        self.val_kappa = MulticlassCohenKappa(grades, weights="quadratic")
        self.test_kappa = MulticlassCohenKappa(grades, weights="quadratic")

    def forward(self, image, age):
        return self.head(torch.cat([self.body(image), age], dim=1))

    def training_step(self, batch, _):
        image, age, grade = batch
        loss = nn.functional.cross_entropy(self(image, age), grade)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        image, age, grade = batch
        self.val_kappa(self(image, age).argmax(1), grade)
        self.log("val_kappa", self.val_kappa, on_epoch=True)

    def test_step(self, batch, _):
        image, age, grade = batch
        self.test_kappa(self(image, age).argmax(1), grade)
        self.log("test_kappa", self.test_kappa, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-4)


def main():
    L.seed_everything(3, workers=True)
    data = TeethData("bitewings")
    keep = ModelCheckpoint(monitor="val_kappa", mode="max")
    stop = EarlyStopping("val_kappa", mode="max", patience=8)
    trainer = L.Trainer(max_epochs=60, callbacks=[keep, stop], deterministic=True)
    trainer.fit(Grader(), datamodule=data)
    trainer.test(ckpt_path="best", datamodule=data)


if __name__ == "__main__":
    main()
