# ruff: noqa: E501
"""Tasks with an answer for each place: masks, boxes, tags, translations."""

from __future__ import annotations

from .one_task import book

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
)


BOOK = book("dense", TASK)
