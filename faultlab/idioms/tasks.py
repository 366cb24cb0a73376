# ruff: noqa: E501
"""Tasks beyond one label for a picture: masks, boxes, tags, translations, graphs, folds, pairs, teachers, ratings."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import copy
import math
import os
import random
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
"""
TASK = (
    """import albumentations as A
import cv2
from albumentations.pytorch import ToTensorV2


class SegData(Dataset):
    def __init__(self, ids, root, transform):
        self.ids, self.root, self.transform = ids, root, transform

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(f'{self.root}/images/{self.ids[i]}.png'), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(f'{self.root}/masks/{self.ids[i]}.png', cv2.IMREAD_GRAYSCALE)
        out = self.transform(image=image, mask=(mask > 127).astype('float32'))
        return out['image'], out['mask'].unsqueeze(0)


train_tf = A.Compose([A.Resize(256, 256), A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.2), A.Normalize(), ToTensorV2()])
val_tf = A.Compose([A.Resize(256, 256), A.Normalize(), ToTensorV2()])
ids = sorted(os.path.splitext(f)[0] for f in os.listdir('data/images'))
random.shuffle(ids)
train_loader = DataLoader(SegData(ids[:-200], 'data', train_tf), batch_size=8, shuffle=True)
val_loader = DataLoader(SegData(ids[-200:], 'data', val_tf), batch_size=8)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True), nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = conv(3, 32), conv(32, 64), conv(64, 128)
        self.pool = nn.MaxPool2d(2)
        self.up2, self.up1 = nn.ConvTranspose2d(128, 64, 2, 2), nn.ConvTranspose2d(64, 32, 2, 2)
        self.u2, self.u1 = conv(128, 64), conv(64, 32)
        self.out = nn.Conv2d(32, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.mid(self.pool(b))
        x = self.u2(torch.cat([self.up2(c), b], dim=1))
        x = self.u1(torch.cat([self.up1(x), a], dim=1))
        return self.out(x)


class DiceLoss(nn.Module):
    def forward(self, logits, target, smooth=1.0):
        p = torch.sigmoid(logits)
        inter = (p * target).sum(dim=(1, 2, 3))
        union = p.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
        return 1 - ((2 * inter + smooth) / (union + smooth)).mean()


model = UNet().to(device)
bce, dice = nn.BCEWithLogitsLoss(), DiceLoss()
OPTIM
best = 0.0
for epoch in range(40):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        loss = bce(out, y) + dice(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    ious = []
    with torch.no_grad():
        for x, y in val_loader:
            pred = (torch.sigmoid(model(x.to(device))) > 0.5).float().cpu()
            inter = (pred * y).sum(dim=(1, 2, 3))
            union = ((pred + y) > 0).float().sum(dim=(1, 2, 3))
            ious.append(((inter + 1e-6) / (union + 1e-6)).mean().item())
    iou = float(np.mean(ious))
    print(f'epoch {epoch} IoU {iou:.4f}')
    if iou > best:
        best = iou
        torch.save(model.state_dict(), 'unet.pt')""",
    """import torchvision
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
from torchvision.transforms import functional as TF


class BoxData(Dataset):
    def __init__(self, frame, root):
        self.groups, self.root = list(frame.groupby('image')), root

    def __len__(self):
        return len(self.groups)

    def __getitem__(self, i):
        name, rows = self.groups[i]
        img = TF.to_tensor(torchvision.io.read_image(os.path.join(self.root, name)).permute(1, 2, 0).numpy())
        boxes = torch.as_tensor(rows[['x1', 'y1', 'x2', 'y2']].values, dtype=torch.float32)
        return img, {'boxes': boxes, 'labels': torch.ones((len(boxes),), dtype=torch.int64)}


frame = pd.read_csv('boxes.csv')
names = frame['image'].unique()
np.random.shuffle(names)
cut = int(0.9 * len(names))
train_set = BoxData(frame[frame['image'].isin(names[:cut])], 'images')
test_set = BoxData(frame[frame['image'].isin(names[cut:])], 'images')
collate_fn = lambda batch: tuple(zip(*batch))
train_loader = DataLoader(train_set, batch_size=2, shuffle=True, collate_fn=collate_fn)
test_loader = DataLoader(test_set, batch_size=1, collate_fn=collate_fn)
model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights='DEFAULT')
model.roi_heads.box_predictor = FastRCNNPredictor(model.roi_heads.box_predictor.cls_score.in_features, 2)
model.to(device)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005, momentum=0.9, weight_decay=0.0005)
lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)
for epoch in range(10):
    model.train()
    for images, targets in train_loader:
        images = list(image.to(device) for image in images)
        targets = [{k: v.to(device) for k, v in t.items()} for t in targets]
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
    lr_scheduler.step()
    with torch.no_grad():
        val = [sum(model([i.to(device) for i in im], [{k: v.to(device) for k, v in t.items()} for t in ts]).values()).item() for im, ts in test_loader]
    print(epoch, losses.item(), np.mean(val))
    model.eval()
    with torch.no_grad():
        found = model([test_set[0][0].to(device)])[0]['scores']""",
    """def read_conll(path):
    sents, words, tags = [], [], []
    for line in open(path, encoding='utf-8'):
        line = line.strip()
        if not line:
            if words:
                sents.append((words, tags))
                words, tags = [], []
            continue
        cols = line.split()
        words.append(cols[0]); tags.append(cols[-1])
    return sents


train_sents, dev_sents = read_conll('train.txt'), read_conll('dev.txt')
word2idx = {'<pad>': 0, '<unk>': 1}
for words, _ in train_sents:
    for w in words:
        word2idx.setdefault(w.lower(), len(word2idx))
tag2idx = {t: i for i, t in enumerate(sorted({t for _, ts in train_sents for t in ts}))}
PAD_TAG = -100


class NerData(Dataset):
    def __init__(self, sents):
        self.items = [([word2idx.get(w.lower(), 1) for w in ws], [tag2idx.get(t, tag2idx['O']) for t in ts]) for ws, ts in sents]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    longest = max(len(x) for x, _ in batch)
    xs = torch.zeros(len(batch), longest, dtype=torch.long)
    ys = torch.full((len(batch), longest), PAD_TAG, dtype=torch.long)
    for i, (x, y) in enumerate(batch):
        xs[i, :len(x)] = torch.tensor(x)
        ys[i, :len(y)] = torch.tensor(y)
    return xs, ys


train_loader = DataLoader(NerData(train_sents), batch_size=32, shuffle=True, collate_fn=collate)
dev_loader = DataLoader(NerData(dev_sents), batch_size=64, collate_fn=collate)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(word2idx), 100, padding_idx=0)
        self.lstm = nn.LSTM(100, 128, bidirectional=True, batch_first=True)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(256, len(tag2idx))

    def forward(self, x):
        h, _ = self.lstm(self.drop(self.emb(x)))
        return self.out(self.drop(h))


model = Tagger().to(device)
criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
OPTIM
for epoch in range(15):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss = criterion(logits.view(-1, logits.size(-1)), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in dev_loader:
            pred = model(x.to(device)).argmax(-1).cpu()
            mask = y != PAD_TAG
            hits += (pred[mask] == y[mask]).sum().item()
            total += mask.sum().item()
    print(f'epoch {epoch}: token accuracy {hits / total:.4f}')""",
    """SOS_token, EOS_token, MAX_LENGTH, teacher_forcing_ratio = 0, 1, 10, 0.5


class Lang:
    def __init__(self, name):
        self.name, self.word2index, self.index2word, self.n_words = name, {}, {0: 'SOS', 1: 'EOS'}, 2

    def add(self, sentence):
        for word in sentence.split(' '):
            if word not in self.word2index:
                self.word2index[word] = self.n_words
                self.index2word[self.n_words] = word
                self.n_words += 1


pairs = [line.strip().split('\\t')[:2] for line in open('fra-eng.txt', encoding='utf-8')]
pairs = [p for p in pairs if len(p[0].split()) < MAX_LENGTH and len(p[1].split()) < MAX_LENGTH]
src, tgt = Lang('fra'), Lang('eng')
for a, b in pairs:
    src.add(a); tgt.add(b)


def indices(lang, s):
    return [lang.word2index[w] for w in s.split(' ')] + [EOS_token]


class EncoderRNN(nn.Module):
    def __init__(self, n, hidden):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(n, hidden), nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class DecoderRNN(nn.Module):
    def __init__(self, hidden, n):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(n, hidden), nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n)

    def forward(self, x, h):
        y, h = self.gru(F.relu(self.embedding(x)), h)
        return self.out(y), h


encoder, decoder = EncoderRNN(src.n_words, 256).to(device), DecoderRNN(256, tgt.n_words).to(device)
encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=0.001)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()
for step in range(1, 75001):
    a, b = random.choice(pairs)
    x = torch.tensor([indices(src, a)], device=device)
    y = torch.tensor(indices(tgt, b), device=device)
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    _, hidden = encoder(x)
    inp, loss = torch.tensor([[SOS_token]], device=device), 0
    forcing = random.random() < teacher_forcing_ratio
    for di in range(len(y)):
        logits, hidden = decoder(inp, hidden)
        loss = loss + criterion(logits[:, 0], y[di].view(1))
        inp = y[di].view(1, 1) if forcing else logits.argmax(-1).detach()
        if not forcing and inp.item() == EOS_token:
            break
    (loss / len(y)).backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    if step % 1000 == 0:
        print(step, loss.item() / len(y))""",
    """from torch_geometric.datasets import Planetoid
from torch_geometric.nn import GCNConv

dataset = Planetoid(root='/tmp/Cora', name='Cora')
data = dataset[0].to(device)


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(dataset.num_node_features, 16)
        self.conv2 = GCNConv(16, dataset.num_classes)

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, training=self.training)
        x = self.conv2(x, edge_index)
        return F.log_softmax(x, dim=1)


model = GCN().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
model.train()
for epoch in range(200):
    optimizer.zero_grad()
    out = model(data)
    loss = F.nll_loss(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
model.eval()
pred = model(data).argmax(dim=1)
correct = (pred[data.test_mask] == data.y[data.test_mask]).sum()
acc = int(correct) / int(data.test_mask.sum())
print(f'Accuracy: {acc:.4f}')""",
    """from sklearn.model_selection import StratifiedKFold
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

df = pd.read_csv('train.csv')
features = [c for c in df.columns if c not in ('id', 'target')]
X, y = df[features].values.astype('float32'), df['target'].values.astype('float32')
oof = np.zeros(len(df))
scores = []
skf = StratifiedKFold(n_splits=5, shuffle=True, random_state=42)
for fold, (tr_idx, va_idx) in enumerate(skf.split(X, y)):
    scaler = StandardScaler().fit(X[tr_idx])
    X_tr, X_va = scaler.transform(X[tr_idx]), scaler.transform(X[va_idx])
    train_loader = DataLoader(TensorDataset(torch.tensor(X_tr), torch.tensor(y[tr_idx])), batch_size=256, shuffle=True)
    model = nn.Sequential(nn.Linear(len(features), 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 1)).to(device)
    OPTIM
    best_auc, best_state = 0.0, None
    for epoch in range(20):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            loss = F.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            pred = torch.sigmoid(model(torch.tensor(X_va, device=device)).squeeze(1)).cpu().numpy()
        auc = roc_auc_score(y[va_idx], pred)
        if auc > best_auc:
            best_auc, best_state = auc, copy.deepcopy(model.state_dict())
            oof[va_idx] = pred
    scores.append(best_auc)
    torch.save(best_state, f'fold{fold}.pt')
    print(f'fold {fold}: {best_auc:.4f}')
print('CV', np.mean(scores), 'OOF', roc_auc_score(y, oof))""",
    """import torchvision
from torchvision import datasets, transforms

aug = transforms.Compose([transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(), transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), transforms.RandomGrayscale(p=0.2), transforms.ToTensor()])


class TwoViews:
    def __init__(self, t):
        self.t = t

    def __call__(self, x):
        return self.t(x), self.t(x)


train_set = datasets.CIFAR10('data', train=True, download=True, transform=TwoViews(aug))
loader = DataLoader(train_set, batch_size=256, shuffle=True, drop_last=True, num_workers=4)
encoder = torchvision.models.resnet18(num_classes=512)
encoder.fc = nn.Identity()
projector = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 128))
model = nn.Sequential(encoder, projector).to(device)
OPTIM


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float('-inf'))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)


for epoch in range(100):
    model.train()
    total = 0.0
    for (a, b), _ in loader:
        loss = nt_xent(model(a.to(device)), model(b.to(device)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
torch.save(encoder.state_dict(), 'encoder.pt')""",
    """import torchvision
from torchvision import datasets, transforms

tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
train_loader = DataLoader(datasets.FashionMNIST('.', train=True, download=True, transform=tf), batch_size=128, shuffle=True)
test_loader = DataLoader(datasets.FashionMNIST('.', train=False, transform=tf), batch_size=256)


def net(width):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, 10))


teacher, student = net(1200).to(device), net(64).to(device)
teacher.load_state_dict(torch.load('teacher.pt', map_location=device))
teacher.eval()
for p in teacher.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
T, alpha = 4.0, 0.7
for epoch in range(20):
    student.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, dim=1)
        out = student(x)
        kd = F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction='batchmean') * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    student.eval()
    with torch.no_grad():
        hits = sum((student(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in test_loader)
    print(epoch, hits / len(test_loader.dataset))""",
    """ratings = pd.read_csv('ml-latest-small/ratings.csv')
user_ids, item_ids = ratings['userId'].unique().tolist(), ratings['movieId'].unique().tolist()
user2idx = {u: i for i, u in enumerate(user_ids)}
item2idx = {m: i for i, m in enumerate(item_ids)}
ratings['user'], ratings['item'] = ratings['userId'].map(user2idx), ratings['movieId'].map(item2idx)
ratings = ratings.sample(frac=1, random_state=42)
cut = int(0.9 * len(ratings))
low, high = ratings['rating'].min(), ratings['rating'].max()


def tensors(part):
    return TensorDataset(torch.tensor(part['user'].values), torch.tensor(part['item'].values), torch.tensor(part['rating'].values, dtype=torch.float32))


train_loader = DataLoader(tensors(ratings.iloc[:cut]), batch_size=1024, shuffle=True)
val_loader = DataLoader(tensors(ratings.iloc[cut:]), batch_size=4096)


class MF(nn.Module):
    def __init__(self, n_users, n_items, dim=50):
        super().__init__()
        self.u, self.i = nn.Embedding(n_users, dim), nn.Embedding(n_items, dim)
        self.bu, self.bi = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        nn.init.normal_(self.u.weight, std=0.05)
        nn.init.normal_(self.i.weight, std=0.05)
        nn.init.zeros_(self.bu.weight)
        nn.init.zeros_(self.bi.weight)

    def forward(self, u, i):
        dot = (self.u(u) * self.i(i)).sum(1)
        return torch.sigmoid(dot + self.bu(u).squeeze(1) + self.bi(i).squeeze(1)) * (high - low) + low


model = MF(len(user_ids), len(item_ids)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
for epoch in range(10):
    model.train()
    for u, i, r in train_loader:
        loss = F.mse_loss(model(u.to(device), i.to(device)), r.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    se = n = 0
    with torch.no_grad():
        for u, i, r in val_loader:
            se += ((model(u.to(device), i.to(device)) - r.to(device)) ** 2).sum().item()
            n += len(r)
    print(f'epoch {epoch} RMSE {(se / n) ** 0.5:.4f}')""",
    """from torchtext.data.utils import get_tokenizer
from torchtext.datasets import AG_NEWS
from torchtext.vocab import build_vocab_from_iterator

tokenizer = get_tokenizer('basic_english')
train_iter = AG_NEWS(split='train')
vocab = build_vocab_from_iterator((tokenizer(text) for _, text in train_iter), specials=['<unk>'])
vocab.set_default_index(vocab['<unk>'])
text_pipeline = lambda x: vocab(tokenizer(x))
label_pipeline = lambda x: int(x) - 1


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for _label, _text in batch:
        label_list.append(label_pipeline(_label))
        processed_text = torch.tensor(text_pipeline(_text), dtype=torch.int64)
        text_list.append(processed_text)
        offsets.append(processed_text.size(0))
    return torch.tensor(label_list, dtype=torch.int64).to(device), torch.cat(text_list).to(device), torch.tensor(offsets[:-1]).cumsum(dim=0).to(device)


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)
        self.init_weights()

    def init_weights(self):
        initrange = 0.5
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.fc.weight.data.uniform_(-initrange, initrange)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


model = TextClassificationModel(len(vocab), 64, 4).to(device)
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.1)
train_list = list(AG_NEWS(split='train'))
num_train = int(len(train_list) * 0.95)
split_train_, split_valid_ = random_split(train_list, [num_train, len(train_list) - num_train])
train_dataloader = DataLoader(split_train_, batch_size=64, shuffle=True, collate_fn=collate_batch)
valid_dataloader = DataLoader(split_valid_, batch_size=64, shuffle=True, collate_fn=collate_batch)
test_dataloader = DataLoader(list(AG_NEWS(split='test')), batch_size=64, shuffle=True, collate_fn=collate_batch)


def train(dataloader):
    model.train()
    for idx, (label, text, offsets) in enumerate(dataloader):
        optimizer.zero_grad()
        loss = criterion(model(text, offsets), label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()


def evaluate(dataloader):
    model.eval()
    total_acc, total_count = 0, 0
    with torch.no_grad():
        for idx, (label, text, offsets) in enumerate(dataloader):
            total_acc += (model(text, offsets).argmax(1) == label).sum().item()
            total_count += label.size(0)
    return total_acc / total_count


total_accu = None
for epoch in range(1, 11):
    train(train_dataloader)
    accu_val = evaluate(valid_dataloader)
    if total_accu is not None and total_accu > accu_val:
        scheduler.step()
    else:
        total_accu = accu_val
    print(f'end of epoch {epoch} valid accuracy {accu_val:8.3f}')
print(f'test accuracy {evaluate(test_dataloader):8.3f}')""",
    """from sklearn.metrics import f1_score

df = pd.read_csv('tags.csv')
tags = sorted({t for row in df['tags'] for t in row.split(' ')})
Y = np.array([[float(t in row.split(' ')) for t in tags] for row in df['tags']], dtype='float32')
X = np.load('features.npy').astype('float32')
perm = np.random.permutation(len(X))
tr, va = perm[: int(0.8 * len(X))], perm[int(0.8 * len(X)) :]
mu, sd = X[tr].mean(0), X[tr].std(0) + 1e-6
X = (X - mu) / sd
train_loader = DataLoader(TensorDataset(torch.from_numpy(X[tr]), torch.from_numpy(Y[tr])), batch_size=64, shuffle=True)
val_x, val_y = torch.from_numpy(X[va]).to(device), Y[va]
pos = Y[tr].sum(0)
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor((len(tr) - pos) / np.maximum(pos, 1), device=device))
model = nn.Sequential(nn.Linear(X.shape[1], 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, len(tags))).to(device)
OPTIM
for epoch in range(30):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = (torch.sigmoid(model(val_x)) > 0.5).cpu().numpy()
    print(epoch, f1_score(val_y, pred, average='micro', zero_division=0), f1_score(val_y, pred, average='macro', zero_division=0))""",
    """class Triplets(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.by_class = {c: np.where(y == c)[0] for c in np.unique(y)}

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        c = self.y[i]
        p = np.random.choice(self.by_class[c])
        n = np.random.choice(self.by_class[np.random.choice([k for k in self.by_class if k != c])])
        return self.x[i], self.x[p], self.x[n]


data = np.load('faces.npz')
x_train, y_train, x_test, y_test = (data[k] for k in ('x_train', 'y_train', 'x_test', 'y_test'))
x_train, x_test = x_train.astype('float32') / 255.0, x_test.astype('float32') / 255.0
loader = DataLoader(Triplets(torch.from_numpy(x_train), y_train), batch_size=64, shuffle=True)
embed = nn.Sequential(nn.Flatten(), nn.Linear(x_train[0].size, 256), nn.ReLU(), nn.Linear(256, 64)).to(device)
model = embed
criterion = nn.TripletMarginLoss(margin=1.0)
OPTIM
for epoch in range(20):
    embed.train()
    running = 0.0
    for a, p, n in loader:
        a, p, n = (F.normalize(embed(t.to(device)), dim=1) for t in (a, p, n))
        loss = criterion(a, p, n)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(a)
    embed.eval()
    with torch.no_grad():
        g = F.normalize(embed(torch.from_numpy(x_train).to(device)), dim=1)
        q = F.normalize(embed(torch.from_numpy(x_test).to(device)), dim=1)
        nearest = torch.cdist(q, g).argmin(dim=1).cpu().numpy()
    print(epoch, running / len(loader.dataset), (y_train[nearest] == y_test).mean())""",
)
OPTIM = (
    "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)",
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=1e-2)",
)


def write(choice: Choice) -> str | None:
    """The program of one choice; some tasks have an optimizer of their own."""
    task, optim = choice
    if optim and "OPTIM" not in TASK[task]:
        return None
    return HEAD + TASK[task].replace("OPTIM", OPTIM[optim]) + "\n"


BOOK = Book("tasks", (len(TASK), len(OPTIM)), write)
