"""Colouring sketches: a generator and a critic, optimised by hand in Lightning."""

import argparse
import random
from glob import glob

import pytorch_lightning as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.transforms.functional as TF
from PIL import Image
from pytorch_lightning.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, Dataset


class Sketches(Dataset):
    """Pairs of (sketch, colour picture), both scaled to -1..1."""

    def __init__(self, folder, names, augment):
        self.folder = folder
        self.names = names
        self.augment = augment

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        sketch = Image.open(f"{self.folder}/sketch/{self.names[i]}").convert("L").resize((128, 128))
        colour = Image.open(f"{self.folder}/colour/{self.names[i]}").convert("RGB").resize((128, 128))
        if self.augment and random.random() < 0.5:
            sketch = TF.hflip(sketch)
            colour = TF.hflip(colour)
        sketch = TF.to_tensor(sketch) * 2 - 1
        colour = TF.to_tensor(colour) * 2 - 1
        return sketch, colour


def down(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2))


def up(a, b):
    return nn.Sequential(nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU())


class Generator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.d1 = down(1, width)
        self.d2 = down(width, width * 2)
        self.d3 = down(width * 2, width * 4)
        self.u3 = up(width * 4, width * 2)
        self.u2 = up(width * 4, width)
        self.u1 = up(width * 2, width)
        self.drop = nn.Dropout2d(0.3)
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(a)
        c = self.drop(self.d3(b))
        y = torch.cat([self.u3(c), b], dim=1)
        y = torch.cat([self.u2(y), a], dim=1)
        return torch.tanh(self.out(self.u1(y)))


class Critic(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        layers = [nn.Conv2d(4, width, 4, 2, 1), nn.LeakyReLU(0.2)]
        layers += [down(width, width * 2), down(width * 2, width * 4)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width * 4, 1, 3, padding=1))

    def forward(self, sketch, colour):
        return self.layers(torch.cat([sketch, colour], dim=1))


class Colouring(pl.LightningModule):
    def __init__(self, lr=2e-4, l1_weight=100.0, accumulate=1, decay_epochs=100):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator = Generator()
        self.critic = Critic()
        self.errors = []

    def forward(self, sketch):
        return self.generator(sketch)

    def adversarial(self, scores, real):
        target = torch.ones_like(scores) if real else torch.zeros_like(scores)
        return F.binary_cross_entropy_with_logits(scores, target)

    def training_step(self, batch, batch_idx):
        sketch, colour = batch
        opt_g, opt_c = self.optimizers()
        fake = self(sketch)

        self.toggle_optimizer(opt_c)
        real_loss = self.adversarial(self.critic(sketch, colour), True)
        fake_loss = self.adversarial(self.critic(sketch, fake.detach()), False)
        loss_c = (real_loss + fake_loss) / 2
        opt_c.zero_grad()
        self.manual_backward(loss_c)
        self.clip_gradients(opt_c, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt_c.step()
        self.untoggle_optimizer(opt_c)

        self.toggle_optimizer(opt_g)
        gan = self.adversarial(self.critic(sketch, fake), True)
        l1 = F.l1_loss(fake, colour)
        loss_g = gan + self.hparams.l1_weight * l1
        opt_g.zero_grad()
        self.manual_backward(loss_g)
        opt_g.step()
        self.untoggle_optimizer(opt_g)
        self.log_dict({"loss_c": loss_c, "loss_g": loss_g, "l1": l1}, prog_bar=True)

    def on_train_epoch_end(self):
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def validation_step(self, batch, batch_idx):
        sketch, colour = batch
        error = (self(sketch) - colour).abs().mean(dim=(1, 2, 3))
        self.errors.append(error)

    def on_validation_epoch_end(self):
        errors = torch.cat(self.errors)
        self.log("val_l1", errors.mean(), sync_dist=True)
        self.errors.clear()

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=self.hparams.lr, betas=(0.5, 0.999))
        opt_c = torch.optim.Adam(self.critic.parameters(), lr=self.hparams.lr, betas=(0.5, 0.999))
        sch_g = torch.optim.lr_scheduler.CosineAnnealingLR(opt_g, T_max=self.hparams.decay_epochs)
        sch_c = torch.optim.lr_scheduler.CosineAnnealingLR(opt_c, T_max=self.hparams.decay_epochs)
        return [opt_g, opt_c], [sch_g, sch_c]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="sketches")
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--resume", default=None)
    a = p.parse_args()

    pl.seed_everything(a.seed, workers=True)
    names = sorted(f.split("/")[-1] for f in glob(f"{a.data}/colour/*.png"))
    random.Random(a.seed).shuffle(names)
    cut = int(0.9 * len(names))
    train_set = Sketches(a.data, names[:cut], augment=True)
    val_set = Sketches(a.data, names[cut:], augment=False)
    train_loader = DataLoader(train_set, batch_size=a.batch, shuffle=True, num_workers=4, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=a.batch, num_workers=4)

    model = Colouring(lr=a.lr, decay_epochs=a.epochs)
    keep = ModelCheckpoint(monitor="val_l1", mode="min", filename="best", save_last=True)
    trainer = pl.Trainer(max_epochs=a.epochs, callbacks=[keep], precision="bf16-mixed")
    trainer.fit(model, train_loader, val_loader, ckpt_path=a.resume)

    best = Colouring.load_from_checkpoint(keep.best_model_path)
    trainer.validate(best, val_loader)


if __name__ == "__main__":
    main()
