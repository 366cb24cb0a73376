# ruff: noqa: E501
"""Tasks beyond one label for a picture: graphs, folds, views, teachers, ratings, texts in bags, tags, triplets."""

from __future__ import annotations

from .one_task import book

TASK = (
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


BOOK = book("tasks", TASK)
