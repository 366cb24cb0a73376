from __future__ import print_function

import json
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.autograd import Variable
from torch.utils.data import DataLoader, Dataset

SIZE = 224
STRIDE = 16
CELLS = SIZE // STRIDE
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


class Parcels(Dataset):
    """One parcel on a conveyor per photo; boxes as x1, y1, x2, y2 in pixels of the photo."""

    def __init__(self, listing, train):
        self.rows = json.load(open(listing))
        self.train = train

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        image = Image.open(row['file']).convert('RGB')
        w, h = image.size
        x1, y1, x2, y2 = row['box']
        image = image.resize((SIZE, SIZE), Image.BILINEAR)
        x1, x2 = x1 * SIZE / float(w), x2 * SIZE / float(w)
        y1, y2 = y1 * SIZE / float(h), y2 * SIZE / float(h)
        if self.train and random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
            x1, x2 = SIZE - x2, SIZE - x1
        pixels = np.asarray(image, dtype=np.float32) / 255.0
        pixels = (pixels - MEAN) / STD
        pixels = torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32))
        return pixels, torch.FloatTensor([x1, y1, x2, y2])


def encode(boxes):
    """Cell of the centre, offsets in the cell and logs of the sizes."""
    cx = (boxes[:, 0] + boxes[:, 2]) / 2
    cy = (boxes[:, 1] + boxes[:, 3]) / 2
    w = boxes[:, 2] - boxes[:, 0]
    h = boxes[:, 3] - boxes[:, 1]
    col = (cx / STRIDE).floor().clamp(0, CELLS - 1)
    line = (cy / STRIDE).floor().clamp(0, CELLS - 1)
    cell = (line * CELLS + col).long()
    offset = torch.stack([cx / STRIDE - col, cy / STRIDE - line, torch.log(w / STRIDE), torch.log(h / STRIDE)], 1)
    return cell, offset


def decode(scores, offsets):
    best = scores.max(1)[1]
    col = (best % CELLS).float()
    line = (best // CELLS).float()
    o = offsets[torch.arange(len(best)).long(), :, best]
    cx, cy = (col + o[:, 0]) * STRIDE, (line + o[:, 1]) * STRIDE
    w, h = torch.exp(o[:, 2]) * STRIDE, torch.exp(o[:, 3]) * STRIDE
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 1)


def iou(a, b):
    left = torch.max(a[:, :2], b[:, :2])
    right = torch.min(a[:, 2:], b[:, 2:])
    side = (right - left).clamp(min=0)
    inter = side[:, 0] * side[:, 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a + area_b - inter)


def conv(i, o, stride):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Finder(nn.Module):
    def __init__(self):
        super(Finder, self).__init__()
        self.body = nn.Sequential(conv(3, 32, 2), conv(32, 64, 2), conv(64, 128, 2), conv(128, 256, 2), conv(256, 256, 1))
        self.score = nn.Conv2d(256, 1, 1)
        self.offset = nn.Conv2d(256, 4, 1)

    def forward(self, x):
        x = self.body(x)
        n = x.size(0)
        return self.score(x).view(n, -1), self.offset(x).view(n, 4, -1)


def main():
    torch.manual_seed(1)
    random.seed(1)
    model = Finder().cuda()
    train = DataLoader(Parcels('train.json', True), batch_size=32, shuffle=True, num_workers=4)
    valid = DataLoader(Parcels('valid.json', False), batch_size=32, num_workers=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    best = 0.0
    for epoch in range(40):
        for group in optimizer.param_groups:
            group['lr'] = 0.01 * (0.1 ** (epoch // 15))
        model.train()
        for pixels, boxes in train:
            cell, wanted = encode(boxes)
            pixels, cell, wanted = Variable(pixels.cuda()), Variable(cell.cuda()), Variable(wanted.cuda())
            scores, offsets = model(pixels)
            mine = offsets.gather(2, cell.view(-1, 1, 1).expand(-1, 4, 1)).squeeze(2)
            loss = F.cross_entropy(scores, cell) + F.smooth_l1_loss(mine, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for pixels, boxes in valid:
                scores, offsets = model(pixels.cuda())
                found = decode(scores, offsets).cpu()
                total += iou(found, boxes).sum().item()
                count += boxes.size(0)
        print('epoch', epoch, 'iou', total / count)
        if total / count > best:
            best = total / count
            torch.save(model.state_dict(), 'parcels.pth')


if __name__ == '__main__':
    main()
