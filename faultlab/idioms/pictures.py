# ruff: noqa: E501
"""PyTorch's examples of pictures: data, nets, optimizers, loops, scores and what is kept."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import os, copy, time, argparse
import torch, torchvision
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from sklearn.metrics import accuracy_score
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--test-batch-size', type=int, default=1000)
parser.add_argument('--epochs', type=int, default=14)
args = parser.parse_args()
EPOCHS = args.epochs
torch.manual_seed(1)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
"""
DATA = [
    """tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
train_set = datasets.MNIST('data', train=True, download=True, transform=tf)
test_set = datasets.MNIST('data', train=False, transform=tf)""",
    """train_tf = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))])
test_tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))])
train_set = torchvision.datasets.CIFAR10(root='./data', train=True, download=True, transform=train_tf)
test_set = torchvision.datasets.CIFAR10(root='./data', train=False, download=True, transform=test_tf)""",
    """data_transforms = {
    'train': transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]),
    'val': transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]),
}
image_datasets = {k: datasets.ImageFolder(os.path.join('data/hymenoptera', k), data_transforms[k]) for k in ['train', 'val']}
train_set, test_set = image_datasets['train'], image_datasets['val']""",
    """full = datasets.ImageFolder('pets', transform=transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor()]))
n_train = int(0.8 * len(full))
train_set, test_set = torch.utils.data.random_split(full, [n_train, len(full) - n_train], generator=torch.Generator().manual_seed(42))""",
]
SPLIT = ["", "train_set, val_set = torch.utils.data.random_split(train_set, [len(train_set) - 5000, 5000])"]
LOADER = [
    """train_loader = DataLoader(train_set, batch_size=64, shuffle=True, num_workers=2)
test_loader = DataLoader(test_set, batch_size=1000)""",
    """kwargs = {'num_workers': 4, 'pin_memory': True} if torch.cuda.is_available() else {}
train_loader = torch.utils.data.DataLoader(train_set, batch_size=args.batch_size, shuffle=True, **kwargs)
test_loader = torch.utils.data.DataLoader(test_set, batch_size=args.test_batch_size, shuffle=False, **kwargs)""",
]
NET = [
    """class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(CH, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.LazyLinear(128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = self.dropout(F.relu(self.fc1(x)))
        return LAST

model = Net().to(device)""",
    """model = torchvision.models.resnet18(weights='IMAGENET1K_V1')
model.fc = nn.Linear(model.fc.in_features, 10)
model = model.to(device)""",
    """model = nn.Sequential(
    nn.Conv2d(CH, 32, 3), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(64, 10),
).to(device)""",
]
OPT = [
    """optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)""",
    """optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)""",
    """optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = None""",
    """optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, steps_per_epoch=len(train_loader), epochs=EPOCHS)""",
    """optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='min', factor=0.5, patience=3)""",
]
TRAIN = [
    """def train(epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = CRIT(output, target)
        loss.backward()
        optimizer.step()STEP
        if batch_idx % 100 == 0:
            print('Train Epoch: {} [{}/{} ({:.0f}%)]\\tLoss: {:.6f}'.format(epoch, batch_idx * len(data), len(train_loader.dataset), 100. * batch_idx / len(train_loader), loss.item()))""",
    """def train(epoch):
    model.train()
    running_loss, correct, total = 0.0, 0, 0
    for images, labels in tqdm(train_loader):
        images, labels = images.to(device), labels.to(device)
        outputs = model(images)
        loss = CRIT(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()STEP
        running_loss += loss.item() * images.size(0)
        _, predicted = outputs.max(1)
        total += labels.size(0)
        correct += predicted.eq(labels).sum().item()
    print(f'epoch {epoch} loss {running_loss / total:.4f} acc {100. * correct / total:.2f}%')""",
    """scaler = torch.cuda.amp.GradScaler()
def train(epoch):
    model.train()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(train_loader, 0):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.amp.autocast():
            loss = CRIT(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()STEP
        running_loss += loss.item()
        if i % 200 == 199:
            print(f'[{epoch + 1}, {i + 1:5d}] loss: {running_loss / 200:.3f}')
            running_loss = 0.0""",
]
TEST = [
    """def test(loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += CRIT(output, target, reduction='sum').item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    test_loss /= len(loader.dataset)
    print('\\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\\n'.format(test_loss, correct, len(loader.dataset), 100. * correct / len(loader.dataset)))
    return test_loss, correct / len(loader.dataset)""",
    """@torch.no_grad()
def test(loader):
    model.eval()
    total_loss, hits, n = 0.0, 0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        total_loss += CRIT(logits, y).item() * x.size(0)
        hits += (logits.argmax(1) == y).float().sum().item()
        n += y.size(0)
    return total_loss / n, hits / n""",
    """def test(loader):
    model.eval()
    all_preds, all_labels, losses = [], [], []
    with torch.no_grad():
        for x, y in loader:
            out = model(x.to(device))
            losses.append(CRIT(out, y.to(device)).item())
            all_preds.extend(out.argmax(1).cpu().tolist())
            all_labels.extend(y.tolist())
    return sum(losses) / len(losses), accuracy_score(all_labels, all_preds)""",
]
MAIN = [
    """for epoch in range(1, EPOCHS + 1):
    train(epoch)
    val_loss, val_acc = test(HELD)
EPOCHSTEP
torch.save(model.state_dict(), 'model.pt')""",
    """best_acc = 0.0
best_wts = copy.deepcopy(model.state_dict())
since = time.time()
for epoch in range(EPOCHS):
    train(epoch)
    val_loss, val_acc = test(HELD)
EPOCHSTEP
    if val_acc > best_acc:
        best_acc = val_acc
        best_wts = copy.deepcopy(model.state_dict())
print('Best val Acc: {:4f}'.format(best_acc))
model.load_state_dict(best_wts)
FINAL""",
    """best = float('inf')
wait = 0
for epoch in range(EPOCHS):
    train(epoch)
    val_loss, val_acc = test(HELD)
EPOCHSTEP
    if val_loss < best - 1e-4:
        best, wait = val_loss, 0
        torch.save({'epoch': epoch, 'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, 'best.pth')
    else:
        wait += 1
        if wait >= 5:
            print('early stopping')
            break
model.load_state_dict(torch.load('best.pth')['model'])
FINAL""",
]


STEPPED = {
    0: "    scheduler.step()",
    1: "    scheduler.step()",
    4: "    scheduler.step(val_loss)",
}  # each epoch


def write(choice: Choice) -> str | None:
    """The program of one choice; none where a held-out part would be augmented or has other channels."""
    data, split, loader, net, opt, train, test, main = choice
    if (net == 1 and data == 0) or (split == 1 and data in (1, 2)):
        return None
    logs = net == 0 and (data + opt) % 2 == 0
    body = NET[net].replace("CH", "1" if data == 0 else "3")
    body = body.replace("LAST", "F.log_softmax(self.fc2(x), dim=1)" if logs else "self.fc2(x)")
    loaders = LOADER[loader] + ("\nval_loader = DataLoader(val_set, batch_size=256)" if split else "")
    loop = TRAIN[train].replace("STEP", "\n        scheduler.step()" if opt == 3 else "")
    end = (
        MAIN[main]
        .replace("EPOCHSTEP", STEPPED.get(opt, ""))
        .replace("HELD", "val_loader" if split else "test_loader")
    )
    end = end.replace("FINAL", "print(test(test_loader))" if split else "")
    parts = [DATA[data], SPLIT[split], loaders, body, OPT[opt], loop, TEST[test], end]
    return (HEAD + "\n".join(parts) + "\n").replace("CRIT", "F.nll_loss" if logs else "F.cross_entropy")


BOOK = Book("pictures", tuple(map(len, (DATA, SPLIT, LOADER, NET, OPT, TRAIN, TEST, MAIN))), write)
