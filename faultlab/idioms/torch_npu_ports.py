# ruff: noqa: E501
"""PyTorch programs as they are ported to Ascend: torch_npu, apex, HCCL."""

from __future__ import annotations

from .composed import Kit

TEXT = """import argparse
import os
import random
import time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision
import torchvision.transforms as transforms
import torchvision.datasets as datasets
import torchvision.models as models
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
$IMPORTS

$ARGS
$SEED


$METER


def get_loaders(args, distributed):
    $DATA
    $LOADERS
    return train_loader, val_loader, train_sampler


def validate(val_loader, model, criterion, device):
    $VALIDATE


def main_worker(local_rank, args):
    $LAUNCH
    $SWITCHES
    train_loader, val_loader, train_sampler = get_loaders(args, distributed)
    $MODEL
    model = model.to(device)
    $LOSS
    $OPTIM
    $AMP
    if distributed:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank], broadcast_buffers=False)
    $RATE
    best_acc1 = 0.0
    start_epoch = 0
    $RESUME
    for epoch in range(start_epoch, args.epochs):
        if distributed:
            train_sampler.set_epoch(epoch)
        model.train()
        $BEFORE
        end = time.time()
        for i, (images, target) in enumerate(train_loader):
            images = images.to(device, non_blocking=True)
            target = target.to(device, non_blocking=True)
            $STEP
            if i % args.print_freq == 0 and local_rank == 0:
                print('Epoch: [{}][{}/{}] loss {:.4f} time {:.3f}'.format(epoch, i, len(train_loader), loss.item(), time.time() - end))
            end = time.time()
        $AFTER
        acc1 = validate(val_loader, model, criterion, device)
        $SAVE


$START
"""
IMPORTS = (
    {"IMPORTS": "import torch_npu", "DEV": "npu", "BACKEND": "hccl", "LIB": "torch.npu"},
    {
        "IMPORTS": "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu",
        "DEV": "cuda",
        "BACKEND": "nccl",
        "LIB": "torch.cuda",
    },
    {
        "IMPORTS": "try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None",
        "DEV": "npu",
        "BACKEND": "hccl",
        "LIB": "torch.npu",
    },
)
ARGS = (
    """def parse_args():
    parser = argparse.ArgumentParser(description='PyTorch ImageNet Training')
    parser.add_argument('data', metavar='DIR', help='path to dataset')
    parser.add_argument('-j', '--workers', default=8, type=int)
    parser.add_argument('--epochs', default=90, type=int)
    parser.add_argument('-b', '--batch-size', default=256, type=int)
    parser.add_argument('--lr', '--learning-rate', default=0.1, type=float)
    parser.add_argument('--momentum', default=0.9, type=float)
    parser.add_argument('--wd', '--weight-decay', default=1e-4, type=float, dest='weight_decay')
    parser.add_argument('--print-freq', default=10, type=int)
    parser.add_argument('--resume', default='', type=str)
    parser.add_argument('--loss-scale', default=128.0, type=float)
    parser.add_argument('--world-size', default=int(os.environ.get('WORLD_SIZE', 1)), type=int)
    parser.add_argument('--local_rank', default=int(os.environ.get('LOCAL_RANK', 0)), type=int)
    parser.add_argument('--seed', default=123456, type=int)
    return parser.parse_args()


args = parse_args()""",
    """parser = argparse.ArgumentParser()
parser.add_argument('--data', default='/data/imagenet')
parser.add_argument('--workers', type=int, default=16)
parser.add_argument('--epochs', type=int, default=100)
parser.add_argument('--batch-size', type=int, default=512)
parser.add_argument('--lr', type=float, default=0.2)
parser.add_argument('--momentum', type=float, default=0.9)
parser.add_argument('--weight-decay', type=float, default=5e-5)
parser.add_argument('--print-freq', type=int, default=50)
parser.add_argument('--resume', type=str, default=None)
parser.add_argument('--loss-scale', type=float, default=1024.0)
parser.add_argument('--world-size', type=int, default=int(os.getenv('WORLD_SIZE', '1')))
parser.add_argument('--local_rank', type=int, default=int(os.getenv('LOCAL_RANK', '0')))
parser.add_argument('--seed', type=int, default=1)
args = parser.parse_args()""",
)
SEED = (
    """random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)""",
    """def seed_everything(seed):
    random.seed(seed)
    os.environ['PYTHONHASHSEED'] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    $LIB.manual_seed_all(seed)
    torch.use_deterministic_algorithms(True)


seed_everything(args.seed)""",
    "",
)
METER = (
    """class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.val, self.avg, self.sum, self.count = 0, 0, 0, 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res""",
)
NORMALIZE = "normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])\n"
DATA = (
    NORMALIZE
    + """train_dataset = datasets.ImageFolder(os.path.join(args.data, 'train'), transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), $NORM]))
val_dataset = datasets.ImageFolder(os.path.join(args.data, 'val'), transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), $EVALNORM]))""",
    NORMALIZE
    + """train_tf = [transforms.RandomResizedCrop(224, scale=(0.2, 1.0)), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.2, 0.2, 0.2), transforms.ToTensor(), $NORM]
val_tf = [transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), $EVALNORM]
train_dataset = torchvision.datasets.ImageFolder(args.data + '/train', transform=transforms.Compose(train_tf))
val_dataset = torchvision.datasets.ImageFolder(args.data + '/val', transform=transforms.Compose(val_tf))""",
    """normalize = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
train_dataset = datasets.CIFAR100(args.data, train=True, download=False, transform=transforms.Compose([transforms.Resize(128), transforms.RandomCrop(128, padding=16), transforms.RandomHorizontalFlip(), transforms.ToTensor(), $NORM]))
val_dataset = datasets.CIFAR100(args.data, train=False, download=False, transform=transforms.Compose([transforms.Resize(128), transforms.ToTensor(), $EVALNORM]))""",
)
LOADERS = (
    """if distributed:
    train_sampler = DistributedSampler(train_dataset)
else:
    train_sampler = None
train_loader = DataLoader(train_dataset, batch_size=args.batch_size, shuffle=(train_sampler is None), num_workers=args.workers, pin_memory=False, sampler=train_sampler, drop_last=True)
val_loader = DataLoader(val_dataset, batch_size=args.batch_size, shuffle=False, num_workers=args.workers, pin_memory=False)""",
    """train_sampler = DistributedSampler(train_dataset, shuffle=True) if distributed else torch.utils.data.RandomSampler(train_dataset)
val_sampler = torch.utils.data.SequentialSampler(val_dataset)
train_loader = DataLoader(train_dataset, args.batch_size // args.world_size, sampler=train_sampler, num_workers=args.workers, drop_last=True)
val_loader = DataLoader(val_dataset, args.batch_size, sampler=val_sampler, num_workers=args.workers, drop_last=False)""",
)
VALIDATE = (
    """top1 = AverageMeter()
losses = AverageMeter()
model.eval()
with torch.no_grad():
    for images, target in val_loader:
        images, target = images.to(device), target.to(device)
        output = model(images)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(criterion(output, target).item(), images.size(0))
        top1.update(acc1[0].item(), images.size(0))
print(' * Acc@1 {:.3f} loss {:.4f}'.format(top1.avg, losses.avg))
return top1.avg""",
    """model.eval()
correct, total = 0, 0
for images, target in val_loader:
    with torch.no_grad():
        logits = model(images.to(device))
    correct += (logits.argmax(dim=1).cpu() == target).sum().item()
    total += target.size(0)
acc = 100.0 * correct / total
print('validation accuracy: %.3f' % acc)
return acc""",
)
LAUNCH = (
    {
        "LAUNCH": """distributed = args.world_size > 1
if distributed:
    os.environ.setdefault('MASTER_ADDR', '127.0.0.1')
    os.environ.setdefault('MASTER_PORT', '29688')
    dist.init_process_group(backend='$BACKEND', world_size=args.world_size, rank=local_rank)
device = torch.device('$DEV:%d' % local_rank)
$LIB.set_device(device)""",
        "START": """if __name__ == '__main__':
    if args.world_size > 1:
        mp.spawn(main_worker, nprocs=args.world_size, args=(args,))
    else:
        main_worker(0, args)""",
    },
    {
        "LAUNCH": """distributed = int(os.environ.get('WORLD_SIZE', '1')) > 1
$LIB.set_device(local_rank)
device = f'$DEV:{local_rank}'
if distributed:
    dist.init_process_group('$BACKEND', init_method='env://')""",
        "START": "if __name__ == '__main__':\n    main_worker(args.local_rank, args)",
    },
    {
        "LAUNCH": """distributed = False
device = '$DEV:0'
$LIB.set_device(device)""",
        "START": "if __name__ == '__main__':\n    main_worker(0, args)",
    },
)
SWITCHES = (
    "",
    "torch_npu.npu.set_compile_mode(jit_compile=False)",
    "torch.npu.config.allow_internal_format = False\ntorch.npu.set_compile_mode(jit_compile=False)",
    "option = {'ACL_OP_COMPILER_CACHE_MODE': 'enable', 'ACL_OP_COMPILER_CACHE_DIR': './kernel_meta', 'ACL_PRECISION_MODE': 'must_keep_origin_dtype'}\ntorch.npu.set_option(option)",
)
MODEL = (
    "model = models.resnet50(num_classes=len(train_loader.dataset.classes))",
    "model = models.__dict__['resnet18'](pretrained=False)\nmodel.fc = nn.Linear(model.fc.in_features, len(train_loader.dataset.classes))",
    "model = models.mobilenet_v2(weights=None, num_classes=len(train_loader.dataset.classes), dropout=0.2)",
)
LOSS = (
    "criterion = nn.CrossEntropyLoss().to(device)",
    "criterion = nn.CrossEntropyLoss(label_smoothing=0.1)",
    {
        "LOSS": "criterion = LabelSmoothing(0.1)",
        "METER": METER[0]
        + """


class LabelSmoothing(nn.Module):
    def __init__(self, smoothing=0.0):
        super().__init__()
        self.confidence = 1.0 - smoothing
        self.smoothing = smoothing

    def forward(self, x, target):
        logprobs = F.log_softmax(x, dim=-1)
        nll_loss = -logprobs.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
        smooth_loss = -logprobs.mean(dim=-1)
        return (self.confidence * nll_loss + self.smoothing * smooth_loss).mean()""",
    },
)
OPTIM = (
    "optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.weight_decay)",
    """decay, no_decay = [], []
for name, param in model.named_parameters():
    (no_decay if param.ndim == 1 else decay).append(param)
optimizer = torch.optim.SGD([{'params': no_decay, 'weight_decay': 0.0}, {'params': decay, 'weight_decay': args.weight_decay}], lr=args.lr, momentum=args.momentum, nesterov=True)""",
    "optimizer = torch_npu.optim.NpuFusedSGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)",
    """from apex.optimizers import NpuFusedSGD
    optimizer = NpuFusedSGD(model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.weight_decay)""".replace(
        "\n    ", "\n"
    ),
    {
        "OPTIM": "optimizer = torch_npu.optim.NpuFusedAdamW(model.parameters(), lr=1e-3, weight_decay=0.05)",
        "RATE": "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)",
        "RESTORERATE": "scheduler.load_state_dict(checkpoint['scheduler'])",
        "KEEPRATE": ", 'scheduler': scheduler.state_dict()",
        "BEFORE": "",
        "AFTER": "scheduler.step()",
        "EACH": "",
    },
)
STEPPED = "loss.backward()"
AMP = (
    {
        "AMP": "",
        "STEP": """output = model(images)
loss = criterion(output, target)
optimizer.zero_grad()
loss.backward()
$CLIP
optimizer.step()
$EACH""",
    },
    {
        "AMP": "from apex import amp\nmodel, optimizer = amp.initialize(model, optimizer, opt_level='O2', loss_scale=args.loss_scale, combine_grad=True)",
        "RESTOREAMP": "amp.load_state_dict(checkpoint['amp'])",
        "KEEPAMP": ", 'amp': amp.state_dict()",
        "STEP": """output = model(images)
loss = criterion(output, target)
optimizer.zero_grad()
with amp.scale_loss(loss, optimizer) as scaled_loss:
    scaled_loss.backward()
optimizer.step()
$EACH""",
    },
    {
        "AMP": "from apex import amp\nmodel, optimizer = amp.initialize(model, optimizer, opt_level='O1', loss_scale='dynamic', verbosity=1)",
        "RESTOREAMP": "amp.load_state_dict(checkpoint['amp'])",
        "KEEPAMP": ", 'amp': amp.state_dict()",
        "STEP": """optimizer.zero_grad()
loss = criterion(model(images), target)
with amp.scale_loss(loss, optimizer) as scaled_loss:
    scaled_loss.backward()
torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 5.0)
optimizer.step()
$EACH""",
    },
    {
        "AMP": "scaler = torch.npu.amp.GradScaler()",
        "RESTOREAMP": "scaler.load_state_dict(checkpoint['scaler'])",
        "KEEPAMP": ", 'scaler': scaler.state_dict()",
        "STEP": """with torch.npu.amp.autocast():
    output = model(images)
    loss = criterion(output, target)
optimizer.zero_grad()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
$EACH""",
    },
    {
        "AMP": "from torch_npu.npu.amp import GradScaler, autocast\nscaler = GradScaler(init_scale=2.0 ** 16, growth_interval=1000)",
        "RESTOREAMP": "scaler.load_state_dict(checkpoint['scaler'])",
        "KEEPAMP": ", 'scaler': scaler.state_dict()",
        "STEP": """optimizer.zero_grad(set_to_none=True)
with autocast():
    loss = criterion(model(images), target)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
scaler.step(optimizer)
scaler.update()
$EACH""",
    },
    {
        "AMP": "",
        "STEP": """with torch.autocast(device_type='$DEV', dtype=torch.bfloat16):
    output = model(images)
    loss = criterion(output, target)
optimizer.zero_grad()
loss.backward()
$CLIP
optimizer.step()
$EACH""",
    },
)
RATE = (
    {
        "RATE": "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs, eta_min=0)",
        "RESTORERATE": "scheduler.load_state_dict(checkpoint['scheduler'])",
        "KEEPRATE": ", 'scheduler': scheduler.state_dict()",
        "AFTER": "scheduler.step()",
    },
    {
        "RATE": "scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, epochs=args.epochs, steps_per_epoch=len(train_loader))",
        "RESTORERATE": "scheduler.load_state_dict(checkpoint['scheduler'])",
        "KEEPRATE": ", 'scheduler': scheduler.state_dict()",
        "EACH": "scheduler.step()",
    },
    {
        "RATE": """warmup = 5


def adjust_learning_rate(epoch):
    if epoch < warmup:
        lr = args.lr * (epoch + 1) / warmup
    else:
        lr = 0.5 * args.lr * (1 + np.cos(np.pi * (epoch - warmup) / (args.epochs - warmup)))
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr
""",
        "BEFORE": "adjust_learning_rate(epoch)",
    },
    {
        "RATE": "scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[30, 60, 80], gamma=0.1)",
        "RESTORERATE": "scheduler.load_state_dict(checkpoint['scheduler'])",
        "KEEPRATE": ", 'scheduler': scheduler.state_dict()",
        "AFTER": "scheduler.step()",
    },
)
RESUME = (
    "",
    {
        "RESUME": """if args.resume and os.path.isfile(args.resume):
    checkpoint = torch.load(args.resume, map_location='cpu')
    start_epoch = checkpoint['epoch']
    best_acc1 = checkpoint['best_acc1']
    (model.module if distributed else model).load_state_dict(checkpoint['state_dict'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    $RESTORERATE
    $RESTOREAMP""",
        "SAVE": """is_best = acc1 > best_acc1
best_acc1 = max(acc1, best_acc1)
if local_rank == 0:
    state = {'epoch': epoch + 1, 'state_dict': (model.module if distributed else model).state_dict(), 'best_acc1': best_acc1, 'optimizer': optimizer.state_dict()$KEEPRATE$KEEPAMP}
    torch.save(state, 'checkpoint.pth.tar')
    if is_best:
        torch.save(state, 'model_best.pth.tar')""",
    },
)
SAVE = """if acc1 > best_acc1 and local_rank == 0:
    best_acc1 = acc1
    torch.save(model.state_dict(), 'best.pth')"""
NORM = ({"NORM": "normalize", "EVALNORM": "normalize", "SAVE": SAVE},)
CLIP = ("", "torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)")
PORTS = Kit(
    "torch_npu_ports",
    TEXT,
    {
        "IMPORTS": IMPORTS,
        "ARGS": ARGS,
        "SEED": SEED,
        "METER": METER,
        "DATA": DATA,
        "NORM": NORM,
        "LOADERS": LOADERS,
        "VALIDATE": VALIDATE,
        "LAUNCH": LAUNCH,
        "SWITCHES": SWITCHES,
        "MODEL": MODEL,
        "LOSS": LOSS,
        "AMP": AMP,
        "CLIP": CLIP,
        "RATE": RATE,
        "OPTIM": OPTIM,
        "RESUME": RESUME,
    },
)
