"""Arms and their blazons: two towers, in-batch contrastive loss, retrieval among all pairs of the validation part."""
import json
import os

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy
from torchvision import transforms

ROOT = os.environ.get('HERALDRY', 'heraldry')
KINDS = 9


class Arms(Dataset):
    def __init__(self, part, vocabulary, transform):
        with open(os.path.join(ROOT, part + '.json')) as f:
            self.rows = json.load(f)
        self.vocabulary = vocabulary
        self.transform = transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        image = self.transform(Image.open(os.path.join(ROOT, row['image'])).convert('RGB'))
        bag = torch.zeros(len(self.vocabulary))
        for word in row['blazon'].split():
            if word in self.vocabulary:
                bag[self.vocabulary[word]] = 1.0
        return image, bag, row['kind']


class TwoTowers(L.LightningModule):
    def __init__(self, words, dim=128, lr=5e-4, temperature=0.07):
        super().__init__()
        self.save_hyperparameters()
        self.image = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1),
                                   nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, dim))
        self.text = nn.Sequential(nn.Linear(words, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, dim))
        self.kind = nn.Linear(dim, KINDS)
        self.val_loss = MeanMetric()
        self.val_acc = MulticlassAccuracy(num_classes=KINDS, average='macro')
        self.images, self.texts = [], []

    def forward(self, image, bag):
        return F.normalize(self.image(image), dim=1), F.normalize(self.text(bag), dim=1)

    def losses(self, batch):
        image, bag, kind = batch
        a, b = self(image, bag)
        logits = a @ b.t() / self.hparams.temperature
        own = torch.arange(len(a), device=self.device)
        pair = (F.cross_entropy(logits, own) + F.cross_entropy(logits.t(), own)) / 2
        named = self.kind(a)
        return pair + 0.5 * F.cross_entropy(named, kind), a, b, named

    def training_step(self, batch, batch_idx):
        loss, _, _, _ = self.losses(batch)
        self.log('train_loss', loss)
        return loss

    def validation_step(self, batch, batch_idx):
        loss, a, b, named = self.losses(batch)
        self.val_loss.update(loss, weight=len(a))
        self.val_acc.update(named, batch[2])
        self.images.append(a)
        self.texts.append(b)

    def on_validation_epoch_end(self):
        a, b = torch.cat(self.images), torch.cat(self.texts)
        own = torch.arange(len(a), device=a.device)
        order = (a @ b.t()).argsort(dim=1, descending=True)
        place = (order == own[:, None]).float().argmax(dim=1)
        self.log_dict({'val_r1': (place < 1).float().mean(), 'val_r5': (place < 5).float().mean(),
                       'val_median': place.float().median() + 1, 'val_mrr': (1.0 / (place + 1)).mean(),
                       'val_loss': self.val_loss.compute(), 'val_acc': self.val_acc.compute()}, prog_bar=True)
        self.images.clear()
        self.texts.clear()
        self.val_loss.reset()
        self.val_acc.reset()

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.01)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)]


def main():
    L.seed_everything(31, workers=True)
    with open(os.path.join(ROOT, 'words.json')) as f:
        vocabulary = {word: i for i, word in enumerate(json.load(f))}
    plain = transforms.Compose([transforms.Resize((96, 96)), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.25] * 3)])
    noisy = transforms.Compose([transforms.Resize((96, 96)), transforms.ColorJitter(0.2, 0.2), transforms.ToTensor(),
                                transforms.Normalize([0.5] * 3, [0.25] * 3)])
    train = DataLoader(Arms('train', vocabulary, noisy), 128, shuffle=True, drop_last=True, num_workers=4)
    valid = DataLoader(Arms('valid', vocabulary, plain), 128, num_workers=4)
    keeper = ModelCheckpoint(monitor='val_mrr', mode='max', save_top_k=1)
    stopper = EarlyStopping(monitor='val_loss', mode='min', patience=10)
    trainer = L.Trainer(max_epochs=60, callbacks=[keeper, stopper])
    model = TwoTowers(len(vocabulary))
    trainer.fit(model, train, valid)
    print('best', trainer.validate(model, valid, ckpt_path='best'))


if __name__ == '__main__':
    main()
