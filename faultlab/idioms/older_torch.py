# ruff: noqa: E501
"""PyTorch as it was written from 0.3 to 1.x, and boosted trees with scikit-learn's pipelines."""

from __future__ import annotations

from .composed import Kit

PICTURES = """from __future__ import print_function
import argparse
import os
import shutil
import sys
import time
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.init as init
import torch.nn.functional as F
import torch.nn.parallel
import torch.backends.cudnn as cudnn
import torch.optim as optim
import torch.optim.lr_scheduler as lr_scheduler
import torch.utils.data as data
import torchvision.transforms as transforms
import torchvision.datasets as datasets
from torch.autograd import Variable

$ARGS
use_cuda = torch.cuda.is_available()
$SEED
best_acc = 0
print('==> Preparing data..')
$DATA
$LOADER


$NET


print('==> Building model..')
$BUILD
criterion = nn.CrossEntropyLoss()
$OPTIM
$RATE


$TRAIN


$TEST


$MAIN
"""
ARGS = (
    "parser = argparse.ArgumentParser(description='PyTorch CIFAR10 Training')\nparser.add_argument('--lr', default=0.1, type=float, help='learning rate')\nparser.add_argument('--epochs', default=200, type=int)\nparser.add_argument('--batch-size', default=128, type=int)\nparser.add_argument('--resume', '-r', action='store_true', help='resume from checkpoint')\nargs = parser.parse_args()",
    "parser = argparse.ArgumentParser()\nparser.add_argument('--epochs', default=164, type=int, metavar='N')\nparser.add_argument('--batch-size', default=64, type=int, metavar='N')\nparser.add_argument('--lr', '--learning-rate', default=0.05, type=float, metavar='LR')\nparser.add_argument('--gpu-id', default='0', type=str)\nargs = parser.parse_args()\nstate = {k: v for k, v in args._get_kwargs()}\nos.environ['CUDA_VISIBLE_DEVICES'] = args.gpu_id",
)
SEED = (
    "torch.manual_seed(1)\nif use_cuda:\n    torch.cuda.manual_seed_all(1)\n    cudnn.benchmark = True",
    "",
)
DATA = (
    """transform_train = transforms.Compose([
    transforms.RandomCrop(32, padding=4),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    $NORM,
])
transform_test = transforms.Compose([
    transforms.ToTensor(),
    $EVALNORM,
])
trainset = datasets.CIFAR10(root='./data', train=True, download=True, transform=transform_train)
testset = datasets.CIFAR10(root='./data', train=False, download=True, transform=transform_test)""",
    """normalize = $NORM
trainset = datasets.CIFAR10('../data', train=True, download=True, transform=transforms.Compose([transforms.Pad(4), transforms.RandomHorizontalFlip(), transforms.RandomCrop(32), transforms.ToTensor(), normalize]))
testset = datasets.CIFAR10('../data', train=False, transform=transforms.Compose([transforms.ToTensor(), $EVALNORM]))""",
)
NORM = (
    {
        "NORM": "transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))",
        "EVALNORM": "transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))",
    },
    {
        "NORM": "transforms.Normalize(mean=[x / 255.0 for x in [125.3, 123.0, 113.9]], std=[x / 255.0 for x in [63.0, 62.1, 66.7]])",
        "EVALNORM": "transforms.Normalize(mean=[x / 255.0 for x in [125.3, 123.0, 113.9]], std=[x / 255.0 for x in [63.0, 62.1, 66.7]])",
    },
)
LOADER = (
    "trainloader = data.DataLoader(trainset, batch_size=args.batch_size, shuffle=True, num_workers=2)\ntestloader = data.DataLoader(testset, batch_size=100, shuffle=False, num_workers=2)",
    "kwargs = {'num_workers': 1, 'pin_memory': True} if use_cuda else {}\ntrainloader = torch.utils.data.DataLoader(trainset, batch_size=args.batch_size, shuffle=True, **kwargs)\ntestloader = torch.utils.data.DataLoader(testset, batch_size=args.batch_size, shuffle=False, **kwargs)",
)
NET = (
    """class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        out = F.relu(out)
        return out


class Net(nn.Module):
    def __init__(self, num_classes=10):
        super(Net, self).__init__()
        self.in_planes = 64
        self.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = self._make_layer(64, 2, 1)
        self.layer2 = self._make_layer(128, 2, 2)
        self.layer3 = self._make_layer(256, 2, 2)
        self.linear = nn.Linear(256, num_classes)

    def _make_layer(self, planes, num_blocks, stride):
        strides = [stride] + [1] * (num_blocks - 1)
        layers = []
        for stride in strides:
            layers.append(BasicBlock(self.in_planes, planes, stride))
            self.in_planes = planes
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.avg_pool2d(out, 8)
        out = out.view(out.size(0), -1)
        return self.linear(out)""",
    """cfg = [64, 64, 'M', 128, 128, 'M', 256, 256, 'M', 512, 'M']


class Net(nn.Module):
    def __init__(self, num_classes=10):
        super(Net, self).__init__()
        self.features = self._make_layers(cfg)
        self.classifier = nn.Sequential(nn.Linear(512 * 2 * 2, 512), nn.ReLU(True), nn.Dropout(), nn.Linear(512, num_classes))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, math.sqrt(2. / n))
                m.bias.data.zero_()
            elif isinstance(m, nn.BatchNorm2d):
                m.weight.data.fill_(1)
                m.bias.data.zero_()

    def _make_layers(self, cfg):
        layers = []
        in_channels = 3
        for x in cfg:
            if x == 'M':
                layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            else:
                layers += [nn.Conv2d(in_channels, x, kernel_size=3, padding=1), nn.BatchNorm2d(x), nn.ReLU(inplace=True)]
                in_channels = x
        return nn.Sequential(*layers)

    def forward(self, x):
        out = self.features(x)
        out = out.view(out.size(0), -1)
        return self.classifier(out)""",
)
BUILD = (
    "net = Net()\nif use_cuda:\n    net.cuda()\n    net = torch.nn.DataParallel(net, device_ids=range(torch.cuda.device_count()))\n    cudnn.benchmark = True",
    "net = Net(num_classes=10)\nif use_cuda:\n    net = net.cuda()\nprint('    Total params: %.2fM' % (sum(p.numel() for p in net.parameters()) / 1000000.0))",
)
OPTIM = (
    "optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)",
    "optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), args.lr, momentum=0.9, nesterov=True, weight_decay=1e-4)",
)
RATE = (
    {
        "RATE": """def adjust_learning_rate(optimizer, epoch):
    lr = args.lr * (0.1 ** (epoch // 60))
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr""",
        "BEFORE": "adjust_learning_rate(optimizer, epoch)",
    },
    {
        "RATE": "scheduler = lr_scheduler.MultiStepLR(optimizer, milestones=[60, 120, 160], gamma=0.2)",
        "AFTER": "scheduler.step()",
    },
    {
        "RATE": """def learning_rate(init, epoch):
    optim_factor = 0
    if epoch > 160:
        optim_factor = 3
    elif epoch > 120:
        optim_factor = 2
    elif epoch > 60:
        optim_factor = 1
    return init * math.pow(0.2, optim_factor)""",
        "BEFORE": "for group in optimizer.param_groups:\n    group['lr'] = learning_rate(args.lr, epoch)",
    },
)
TRAIN = (
    """def train(epoch):
    print('\\nEpoch: %d' % epoch)
    net.train()
    train_loss, correct, total = 0, 0, 0
    for batch_idx, (inputs, targets) in enumerate(trainloader):
        if use_cuda:
            inputs, targets = inputs.cuda(), targets.cuda()
        optimizer.zero_grad()
        inputs, targets = Variable(inputs), Variable(targets)
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        train_loss += loss.data[0]
        _, predicted = torch.max(outputs.data, 1)
        total += targets.size(0)
        correct += predicted.eq(targets.data).cpu().sum()
        if batch_idx % 50 == 0:
            print('Loss: %.3f | Acc: %.3f%% (%d/%d)' % (train_loss / (batch_idx + 1), 100. * correct / total, correct, total))""",
    """class AverageMeter(object):
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def train(epoch):
    losses, batch_time = AverageMeter(), AverageMeter()
    net.train()
    end = time.time()
    for i, (input, target) in enumerate(trainloader):
        if use_cuda:
            input, target = input.cuda(), target.cuda()
        input_var = torch.autograd.Variable(input)
        target_var = torch.autograd.Variable(target)
        output = net(input_var)
        loss = criterion(output, target_var)
        losses.update(loss.item(), input.size(0))
        net.zero_grad()
        loss.backward()
        $CLIP
        optimizer.step()
        batch_time.update(time.time() - end)
        end = time.time()
        if i % 100 == 0:
            print('Epoch: [{0}][{1}/{2}]\\tTime {bt.val:.3f}\\tLoss {loss.val:.4f} ({loss.avg:.4f})'.format(epoch, i, len(trainloader), bt=batch_time, loss=losses))""",
)
CLIP = (
    "",
    "nn.utils.clip_grad_norm(net.parameters(), 5)",
    "torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)",
)
TEST = (
    """def test(epoch):
    net.eval()
    test_loss, correct, total = 0, 0, 0
    for batch_idx, (inputs, targets) in enumerate(testloader):
        if use_cuda:
            inputs, targets = inputs.cuda(), targets.cuda()
        inputs, targets = Variable(inputs, volatile=True), Variable(targets)
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        test_loss += loss.data[0]
        _, predicted = torch.max(outputs.data, 1)
        total += targets.size(0)
        correct += predicted.eq(targets.data).cpu().sum()
    acc = 100. * correct / total
    print('Test loss: %.3f | Acc: %.3f%%' % (test_loss / len(testloader), acc))
    return acc""",
    """def test(epoch):
    net.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in testloader:
            if use_cuda:
                data, target = data.cuda(), target.cuda()
            output = net(data)
            test_loss += F.cross_entropy(output, target, size_average=False).item()
            pred = output.data.max(1, keepdim=True)[1]
            correct += pred.eq(target.data.view_as(pred)).long().cpu().sum().item()
    test_loss /= len(testloader.dataset)
    print('\\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.2f}%)\\n'.format(test_loss, correct, len(testloader.dataset), 100. * correct / len(testloader.dataset)))
    return 100. * correct / len(testloader.dataset)""",
)
MAIN = (
    """for epoch in range(0, args.epochs):
    $BEFORE
    train(epoch)
    acc = test(epoch)
    $AFTER
torch.save(net.state_dict(), 'final.pth')""",
    """def main():
    start_epoch = 1
    for epoch in range(start_epoch, args.epochs + 1):
        $BEFORE
        train(epoch)
        acc = test(epoch)
        $AFTER
        torch.save({'net': net.module if isinstance(net, nn.DataParallel) else net, 'acc': acc, 'epoch': epoch, 'optimizer': optimizer.state_dict()}, 'ckpt.t7')


if __name__ == '__main__':
    main()""",
)
OLD = Kit(
    "older_torch",
    PICTURES,
    {
        "ARGS": ARGS,
        "SEED": SEED,
        "DATA": DATA,
        "NORM": NORM,
        "LOADER": LOADER,
        "NET": NET,
        "BUILD": BUILD,
        "OPTIM": OPTIM,
        "RATE": RATE,
        "TRAIN": TRAIN,
        "CLIP": CLIP,
        "TEST": TEST,
        "MAIN": MAIN,
    },
)

WORDS = """import time
import math
import random
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable
$IMPORTS

$SEED
use_cuda = torch.cuda.is_available()
BATCH, HIDDEN, EMB, N_EPOCHS = 64, 256, 100, 10
$READ


$NET


$CREATE
$OPTIM


$TRAIN


$EVAL


best_valid_loss = float('inf')
for epoch in range(N_EPOCHS):
    start_time = time.time()
    train_loss, train_acc = train(model, train_iterator, optimizer, criterion)
    valid_loss, valid_acc = evaluate(model, valid_iterator, criterion)
    $PLATEAU
    if valid_loss < best_valid_loss:
        best_valid_loss = valid_loss
        torch.save(model.state_dict(), 'model.pt')
    print(f'Epoch: {epoch + 1:02} | {time.time() - start_time:.0f}s | Train {train_loss:.3f} {train_acc:.3f} | Val {valid_loss:.3f} {valid_acc:.3f}')
model.load_state_dict(torch.load('model.pt'))
test_loss, test_acc = evaluate(model, test_iterator, criterion)
print(f'Test Loss: {test_loss:.3f} | Test Acc: {test_acc * 100:.2f}%')
"""
WSEED = (
    "SEED = 1234\nrandom.seed(SEED)\ntorch.manual_seed(SEED)\ntorch.backends.cudnn.deterministic = True",
    "torch.manual_seed(0)\nrandom.seed(0)",
)
WREAD = (
    {
        "IMPORTS": "from torchtext import data, datasets",
        "WREAD": """TEXT = data.Field(tokenize='spacy', include_lengths=True)
LABEL = data.LabelField(dtype=torch.float)
train_data, test_data = datasets.IMDB.splits(TEXT, LABEL)
train_data, valid_data = train_data.split(random_state=random.getstate())
TEXT.build_vocab(train_data, max_size=25000, vectors='glove.6B.100d', unk_init=torch.Tensor.normal_)
LABEL.build_vocab(train_data)
device = torch.device('cuda' if use_cuda else 'cpu')
train_iterator, valid_iterator, test_iterator = data.BucketIterator.splits((train_data, valid_data, test_data), batch_size=BATCH, sort_within_batch=True, device=device)""",
    },
    {
        "IMPORTS": "from torchtext.legacy import data, datasets",
        "WREAD": """TEXT = data.Field(tokenize=lambda x: x.split(), lower=True, include_lengths=True)
LABEL = data.LabelField(dtype=torch.float)
train_data, valid_data, test_data = data.TabularDataset.splits(path='data', train='train.csv', validation='valid.csv', test='test.csv', format='csv', skip_header=True, fields=[('text', TEXT), ('label', LABEL)])
TEXT.build_vocab(train_data, min_freq=2, vectors='glove.6B.100d')
LABEL.build_vocab(train_data)
device = torch.device('cuda' if use_cuda else 'cpu')
train_iterator = data.BucketIterator(train_data, batch_size=BATCH, sort_key=lambda x: len(x.text), sort_within_batch=True, repeat=False, shuffle=$SHUFFLE, device=device)
valid_iterator, test_iterator = data.BucketIterator.splits((valid_data, test_data), batch_sizes=(BATCH, BATCH), sort_key=lambda x: len(x.text), sort_within_batch=True, device=device)""",
    },
)
WNET = (
    """class RNN(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers, bidirectional, dropout, pad_idx):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=pad_idx)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, num_layers=n_layers, bidirectional=bidirectional, dropout=dropout)
        self.fc = nn.Linear(hidden_dim * 2, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text, text_lengths):
        embedded = self.dropout(self.embedding(text))
        packed_embedded = nn.utils.rnn.pack_padded_sequence(embedded, text_lengths.cpu())
        packed_output, (hidden, cell) = self.rnn(packed_embedded)
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        return self.fc(hidden)""",
    """class RNN(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers, bidirectional, dropout, pad_idx):
        super(RNN, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=pad_idx)
        self.convs = nn.ModuleList([nn.Conv2d(1, 100, (fs, embedding_dim)) for fs in (2, 3, 4)])
        self.fc = nn.Linear(300, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text, text_lengths=None):
        x = self.embedding(text.permute(1, 0)).unsqueeze(1)
        conved = [nn.functional.relu(conv(x)).squeeze(3) for conv in self.convs]
        pooled = [nn.functional.max_pool1d(c, c.shape[2]).squeeze(2) for c in conved]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))""",
)
WCREATE = (
    """PAD_IDX = TEXT.vocab.stoi[TEXT.pad_token]
model = RNN(len(TEXT.vocab), EMB, HIDDEN, 1, 2, True, 0.5, PAD_IDX)
pretrained_embeddings = TEXT.vocab.vectors
model.embedding.weight.data.copy_(pretrained_embeddings)
model.embedding.weight.data[TEXT.vocab.stoi[TEXT.unk_token]] = torch.zeros(EMB)
model.embedding.weight.data[PAD_IDX] = torch.zeros(EMB)
criterion = nn.BCEWithLogitsLoss()
model, criterion = model.to(device), criterion.to(device)""",
    """model = RNN(len(TEXT.vocab), EMB, HIDDEN, 1, 2, True, 0.3, TEXT.vocab.stoi['<pad>'])
model.embedding.weight.data.copy_(TEXT.vocab.vectors)
if use_cuda:
    model.cuda()
criterion = nn.BCEWithLogitsLoss()""",
)
WOPTIM = (
    "optimizer = optim.Adam(model.parameters())",
    {
        "WOPTIM": "optimizer = optim.Adam(model.parameters(), lr=1e-3)\nscheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'min', patience=2, factor=0.5)",
        "PLATEAU": "scheduler.step(valid_loss)",
    },
    "parameters = filter(lambda p: p.requires_grad, model.parameters())\noptimizer = optim.RMSprop(parameters, lr=5e-4)",
)
WTRAIN = (
    """def binary_accuracy(preds, y):
    rounded_preds = torch.round(torch.sigmoid(preds))
    correct = (rounded_preds == y).float()
    return correct.sum() / len(correct)


def train(model, iterator, optimizer, criterion):
    epoch_loss, epoch_acc = 0, 0
    model.train()
    for batch in iterator:
        optimizer.zero_grad()
        text, text_lengths = batch.text
        predictions = model(text, text_lengths).squeeze(1)
        loss = criterion(predictions, batch.label)
        acc = binary_accuracy(predictions, batch.label)
        loss.backward()
        $CLIP
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)""",
)
WEVAL = (
    """def evaluate(model, iterator, criterion):
    epoch_loss, epoch_acc = 0, 0
    model.eval()
    with torch.no_grad():
        for batch in iterator:
            text, text_lengths = batch.text
            predictions = model(text, text_lengths).squeeze(1)
            loss = criterion(predictions, batch.label)
            epoch_loss += loss.item()
            epoch_acc += binary_accuracy(predictions, batch.label).item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)""",
    """def evaluate(model, iterator, criterion):
    model.eval()
    total, hits, seen = 0.0, 0, 0
    for batch in iterator:
        text, lengths = batch.text
        with torch.no_grad():
            output = model(text, lengths).squeeze(1)
        total += criterion(output, batch.label).item() * len(batch)
        hits += ((output > 0).float() == batch.label).sum().item()
        seen += len(batch)
    return total / seen, hits / seen""",
)
SENTIMENT = Kit(
    "older_texts",
    WORDS.replace("$SEED", "$WSEED")
    .replace("$READ", "$WREAD")
    .replace("$NET", "$WNET")
    .replace("$CREATE", "$WCREATE")
    .replace("$OPTIM", "$WOPTIM")
    .replace("$TRAIN", "$WTRAIN")
    .replace("$EVAL", "$WEVAL"),
    {
        "SHUFFLE": ("True",),
        "WSEED": WSEED,
        "WREAD": WREAD,
        "WNET": WNET,
        "WCREATE": WCREATE,
        "WOPTIM": WOPTIM,
        "WTRAIN": WTRAIN,
        "CLIP": ("", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
        "WEVAL": WEVAL,
    },
)
