# ruff: noqa: E501
"""PyTorch as competitions write it: own data sets, samplers, groups, warm-up, accumulation, averages, resuming."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import copy, glob, math, os, random
import cv2, numpy as np, pandas as pd, timm, torch, torchvision
import torch.nn as nn
from PIL import Image
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler
from torchvision import datasets, transforms
from tqdm import tqdm
SEED, BS, EPOCHS, N_CLASSES, ACCUM = 42, 32, 30, 7, 4
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED); torch.cuda.manual_seed_all(SEED)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
train_tf = transforms.Compose([transforms.RandomResizedCrop(224, scale=(0.6, 1.0)), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.2, 0.2, 0.2), transforms.ToTensor(), norm])
val_tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), norm])
class AverageMeter:
    def __init__(self):
        self.reset()
    def reset(self):
        self.val = self.avg = self.sum = self.count = 0
    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count
"""
DATA = [
    """class ImageDS(Dataset):
    def __init__(self, df, root, transform=None):
        self.df = df.reset_index(drop=True)
        self.root = root
        self.transform = transform
    def __len__(self):
        return len(self.df)
    def __getitem__(self, idx):
        row = self.df.iloc[idx]
        img = Image.open(os.path.join(self.root, row['image_id'] + '.jpg')).convert('RGB')
        if self.transform:
            img = self.transform(img)
        return img, torch.tensor(row['label'], dtype=torch.long)
df = pd.read_csv('train.csv')
train_df, val_df = train_test_split(df, test_size=0.2, stratify=df['label'], random_state=SEED)
train_ds, val_ds = ImageDS(train_df, 'train', train_tf), ImageDS(val_df, 'train', val_tf)""",
    """class FolderDS(Dataset):
    def __init__(self, files, labels, transform):
        self.files, self.labels, self.transform = files, labels, transform
    def __len__(self):
        return len(self.files)
    def __getitem__(self, i):
        image = Image.open(self.files[i]).convert('RGB')
        return self.transform(image), self.labels[i]
files = sorted(glob.glob('data/*/*.png'))
classes = sorted({os.path.basename(os.path.dirname(f)) for f in files})
class_to_idx = {c: i for i, c in enumerate(classes)}
labels = [class_to_idx[os.path.basename(os.path.dirname(f))] for f in files]
f_train, f_val, l_train, l_val = train_test_split(files, labels, test_size=0.15, random_state=SEED, stratify=labels)
train_ds, val_ds = FolderDS(f_train, l_train, train_tf), FolderDS(f_val, l_val, val_tf)""",
    """base = datasets.ImageFolder('data/all')
indices = torch.randperm(len(base), generator=torch.Generator().manual_seed(SEED)).tolist()
cut = int(0.8 * len(indices))
class Sub(Dataset):
    def __init__(self, base, indices, transform):
        self.base, self.indices, self.transform = base, indices, transform
    def __len__(self):
        return len(self.indices)
    def __getitem__(self, i):
        img, label = self.base[self.indices[i]]
        return self.transform(img), label
train_ds, val_ds = Sub(base, indices[:cut], train_tf), Sub(base, indices[cut:], val_tf)""",
    """df = pd.read_csv('train_folds.csv')
class FoldDS(Dataset):
    def __init__(self, frame, tf):
        self.paths, self.y, self.tf = frame['path'].values, frame['label'].values, tf
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, i):
        img = cv2.cvtColor(cv2.imread(self.paths[i]), cv2.COLOR_BGR2RGB)
        return self.tf(Image.fromarray(img)), int(self.y[i])
fold = 0
train_ds = FoldDS(df[df.kfold != fold].reset_index(drop=True), train_tf)
val_ds = FoldDS(df[df.kfold == fold].reset_index(drop=True), val_tf)""",
]
LOADER = [
    """train_loader = DataLoader(train_ds, batch_size=BS, shuffle=True, num_workers=4, pin_memory=True, drop_last=True)
val_loader = DataLoader(val_ds, batch_size=2 * BS, shuffle=False, num_workers=4)""",
    """targets = [train_ds[i][1] for i in range(len(train_ds))]
counts = np.bincount(targets)
weights = 1.0 / counts[targets]
sampler = WeightedRandomSampler(weights, num_samples=len(weights), replacement=True)
train_loader = DataLoader(train_ds, batch_size=BS, sampler=sampler)
val_loader = DataLoader(val_ds, batch_size=BS)""",
]
MODEL = [
    """model = timm.create_model('efficientnet_b0', pretrained=True, num_classes=N_CLASSES).to(device)""",
    """model = torchvision.models.resnet50(weights=torchvision.models.ResNet50_Weights.DEFAULT)
for p in model.parameters():
    p.requires_grad = False
model.fc = nn.Sequential(nn.Dropout(0.3), nn.Linear(2048, N_CLASSES))
model.to(device)""",
    """class SmallCNN(nn.Module):
    def __init__(self, n):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))
        self.features = nn.Sequential(block(3, 32), block(32, 64), block(64, 128))
        self.head = nn.Linear(128, n)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
    def forward(self, x):
        x = self.features(x)
        x = x.mean(dim=(2, 3))
        return self.head(x)
model = SmallCNN(N_CLASSES).to(device)""",
]
LOSS = [
    "criterion = nn.CrossEntropyLoss()",
    "criterion = nn.CrossEntropyLoss(label_smoothing=0.1)",
    "cw = compute_class_weight('balanced', classes=np.unique(LABS), y=LABS)\ncriterion = nn.CrossEntropyLoss(weight=torch.tensor(cw, dtype=torch.float, device=device))",
]
OPT = [
    """decay, no_decay = [], []
for name, p in model.named_parameters():
    if not p.requires_grad:
        continue
    (no_decay if p.ndim <= 1 or name.endswith('.bias') else decay).append(p)
optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.05}, {'params': no_decay, 'weight_decay': 0.0}], lr=3e-4)""",
    "optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)",
    "optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)",
]
SCHEDULE = [
    """total_steps = EPOCHS * len(train_loader)
warmup = int(0.05 * total_steps)
def lr_lambda(step):
    if step < warmup:
        return step / max(1, warmup)
    progress = (step - warmup) / max(1, total_steps - warmup)
    return 0.5 * (1.0 + math.cos(math.pi * progress))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)""",
    """scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=3), torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS - 3)], milestones=[3])""",
    """scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[int(0.5 * EPOCHS), int(0.75 * EPOCHS)], gamma=0.1)""",
]
STEP = [
    """        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()""",
    """        with torch.autocast(device_type='cuda', dtype=torch.float16):
            loss = criterion(model(x), y) / ACCUM
        scaler.scale(loss).backward()
        if (i + 1) % ACCUM == 0 or (i + 1) == len(train_loader):
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)""",
    """        lam = np.random.beta(0.4, 0.4)
        index = torch.randperm(x.size(0), device=device)
        mixed = lam * x + (1 - lam) * x[index]
        out = model(mixed)
        loss = lam * criterion(out, y) + (1 - lam) * criterion(out, y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()""",
    """        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for e, p in zip(ema.parameters(), model.parameters()):
                e.mul_(0.999).add_(p, alpha=0.001)
            for e, p in zip(ema.buffers(), model.buffers()):
                e.copy_(p)""",
]
RESUME = [
    "start_epoch, best = 0, 0.0",
    """start_epoch, best = 0, 0.0
if os.path.exists('last.pt'):
    ckpt = torch.load('last.pt', map_location=device)
    model.load_state_dict(ckpt['model'])
    optimizer.load_state_dict(ckpt['optimizer'])
    scheduler.load_state_dict(ckpt['scheduler'])
    start_epoch, best = ckpt['epoch'] + 1, ckpt['best']""",
]
VALIDATE = [
    """def validate(net, loader):
    net.eval()
    n = hit = 0
    tot = 0.0
    with torch.inference_mode():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            out = net(x)
            tot += criterion(out, y).item() * y.numel()
            hit += (out.argmax(-1) == y).sum().item()
            n += y.numel()
    return tot / n, hit / n""",
    """@torch.no_grad()
def validate(net, loader):
    net.eval()
    losses, preds, gts = AverageMeter(), [], []
    for x, y in tqdm(loader, leave=False):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        out = net(x)
        losses.update(criterion(out, y).item(), x.size(0))
        preds.append(out.softmax(1).cpu().numpy())
        gts.append(y.cpu().numpy())
    preds, gts = np.concatenate(preds), np.concatenate(gts)
    return losses.avg, f1_score(gts, preds.argmax(1), average='macro')""",
]


LABELS = (
    "train_df['label'].values",
    "np.array(l_train)",
    "np.array([base.targets[i] for i in indices[:cut]])",
    "train_ds.y",
)
SCALER = "scaler = torch.amp.GradScaler('cuda')"
AVERAGE = "ema = copy.deepcopy(model).eval()\nfor p in ema.parameters():\n    p.requires_grad_(False)"
END = """    val_loss, score = validate(NET, val_loader)
    print(f'epoch {epoch} train {train_loss.avg:.4f} val {val_loss:.4f} score {score:.4f}')
    if score > best:
        best = score
        torch.save(NET.state_dict(), 'best.pt')
    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'scheduler': scheduler.state_dict(), 'epoch': epoch, 'best': best}, 'last.pt')"""


def write(choice: Choice) -> str | None:
    """The program of one choice; none that weighs classes twice or resumes without a part of its state."""
    data, loader, model, loss, opt, schedule, step, resume, validate = choice
    gathers, averages, by_steps = step == 1, step == 3, schedule == 0
    if (loss == 2 and loader == 1) or (resume == 1 and (gathers or averages)):
        return None
    planned = SCHEDULE[schedule]
    if gathers:
        planned = planned.replace(
            "EPOCHS * len(train_loader)", "EPOCHS * math.ceil(len(train_loader) / ACCUM)"
        )
    made = OPT[opt]
    if model == 1:  # its body is frozen
        made = made.replace(
            "torch.optim.Adam(model.parameters(), lr=1e-4)",
            "torch.optim.Adam(model.fc.parameters(), lr=1e-3)",
        )
    parts = [
        DATA[data],
        LOADER[loader],
        MODEL[model],
        LOSS[loss].replace("LABS", LABELS[data]),
        made,
        planned,
    ]
    parts += [SCALER] * gathers + [AVERAGE] * averages + [VALIDATE[validate], RESUME[resume]]
    loop = [
        "for epoch in range(start_epoch, EPOCHS):",
        "    model.train()",
        "    train_loss = AverageMeter()",
    ]
    loop += ["    optimizer.zero_grad()"] * gathers
    loop += [
        "    for i, (x, y) in enumerate(train_loader):",
        "        x, y = x.to(device), y.to(device)",
        STEP[step],
    ]
    loop += [f"        {'    ' * gathers}scheduler.step()"] * by_steps
    loop.append(f"        train_loss.update(loss.item(){' * ACCUM' if gathers else ''}, x.size(0))")
    loop += ["    scheduler.step()"] * (not by_steps)
    loop.append(END.replace("NET", "ema" if averages else "model"))
    return HEAD + "\n".join([*parts, *loop]) + "\n"


BOOK = Book(
    "recipes", tuple(map(len, (DATA, LOADER, MODEL, LOSS, OPT, SCHEDULE, STEP, RESUME, VALIDATE))), write
)
