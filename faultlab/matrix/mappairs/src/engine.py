import math
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class WorldManager:
    """Knows which process this is and on which device it computes."""

    def __init__(self):
        self.m_rank = int(os.environ["RANK"])
        self.m_local = int(os.environ["LOCAL_RANK"])
        self.m_size = int(os.environ["WORLD_SIZE"])
        torch.cuda.set_device(self.m_local)
        dist.init_process_group("nccl", rank=self.m_rank, world_size=self.m_size)
        torch.manual_seed(17)
        np.random.seed(17 + self.m_rank)
        random.seed(17 + self.m_rank)

    def getDevice(self):
        return torch.device("cuda", self.m_local)

    def getRank(self):
        return self.m_rank

    def getSize(self):
        return self.m_size

    def isMaster(self):
        return self.m_rank == 0

    def wrap(self, model):
        return DistributedDataParallel(model, device_ids=[self.m_local])

    def average(self, value):
        tensor = torch.tensor([value], device=self.getDevice())
        dist.all_reduce(tensor)
        return tensor.item() / self.m_size

    def barrier(self):
        dist.barrier()

    def close(self):
        dist.destroy_process_group()


class MapPairs(Dataset):
    """A patch of an old map and the aerial photo of the same place."""

    def __init__(self, root, part):
        folder = os.path.join(root, part)
        self.m_files = [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".npz")]

    def __len__(self):
        return len(self.m_files)

    def __getitem__(self, index):
        pair = np.load(self.m_files[index])
        old, photo = torch.from_numpy(pair["map"]).float() / 255, torch.from_numpy(pair["photo"]).float() / 255
        return old, photo


class DataManager:
    def __init__(self, root, batch, world):
        self.m_train = MapPairs(root, "train")
        self.m_valid = MapPairs(root, "valid")
        self.m_sampler = DistributedSampler(self.m_train, num_replicas=world.getSize(), rank=world.getRank(), shuffle=True, seed=17)
        self.m_trainLoader = DataLoader(self.m_train, batch_size=batch, sampler=self.m_sampler, num_workers=4, drop_last=True)
        self.m_validLoader = DataLoader(
            self.m_valid, batch_size=batch, num_workers=2,
            sampler=DistributedSampler(self.m_valid, num_replicas=world.getSize(), rank=world.getRank(), shuffle=False),
        )

    def getTrainLoader(self):
        return self.m_trainLoader

    def getValidLoader(self):
        return self.m_validLoader

    def startEpoch(self, epoch):
        self.m_sampler.set_epoch(epoch)


class TwoTowers(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.m_old = self.makeTower(1, width)
        self.m_photo = self.makeTower(3, width)
        self.m_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    @staticmethod
    def makeTower(channels, width):
        layers = []
        for inner in (32, 64, 128):
            layers += [nn.Conv2d(channels, inner, 3, 2, 1), nn.GroupNorm(8, inner), nn.ReLU()]
            channels = inner
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, width))

    def forward(self, old, photo):
        a = F.normalize(self.m_old(old), dim=-1)
        b = F.normalize(self.m_photo(photo), dim=-1)
        return a @ b.t() * self.m_scale.exp().clamp(max=100)


class EncoderFactory:
    def __init__(self, width):
        self.m_width = width

    def createModel(self, device):
        return TwoTowers(self.m_width).to(device)

    def createOptimizer(self, model, rate):
        decayed = [p for n, p in model.named_parameters() if p.dim() > 1]
        others = [p for n, p in model.named_parameters() if p.dim() <= 1]
        return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}], lr=rate)

    def createScheduler(self, optimizer, warmup, total):
        def factor(step):
            if step < warmup:
                return (step + 1) / warmup
            return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup))))

        return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


class PairTrainer:
    def __init__(self, world, data, factory, args):
        self.m_world, self.m_data, self.m_args = world, data, args
        model = factory.createModel(world.getDevice())
        self.m_model = world.wrap(model)
        self.m_optimizer = factory.createOptimizer(self.m_model, args.rate)
        updates = len(data.getTrainLoader()) // args.accumulate
        self.m_scheduler = factory.createScheduler(self.m_optimizer, args.warmup_epochs * updates, args.epochs * updates)
        self.m_first, self.m_best = 0, float("inf")

    def restore(self, path):
        state = torch.load(path, map_location=self.m_world.getDevice())
        self.m_model.module.load_state_dict(state["model"])
        self.m_optimizer.load_state_dict(state["optimizer"])
        self.m_scheduler.load_state_dict(state["scheduler"])
        self.m_first = state["epoch"] + 1
        self.m_best = state["best"]

    def lossOf(self, old, photo):
        device = self.m_world.getDevice()
        logits = self.m_model(old.to(device), photo.to(device))
        target = torch.arange(len(logits), device=device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2

    def trainEpoch(self, epoch):
        self.m_data.startEpoch(epoch)
        self.m_model.train()
        loader, every = self.m_data.getTrainLoader(), self.m_args.accumulate
        total, count = 0.0, 0
        for index, (old, photo) in enumerate(loader):
            if index >= len(loader) // every * every:
                break
            last = (index + 1) % every == 0
            self.m_model.require_backward_grad_sync = last
            loss = self.lossOf(old, photo)
            (loss / every).backward()
            total, count = total + loss.item(), count + 1
            if last:
                nn.utils.clip_grad_norm_(self.m_model.parameters(), 1.0)
                self.m_optimizer.step()
                self.m_optimizer.zero_grad()
                self.m_scheduler.step()
        return self.m_world.average(total / count)

    @torch.no_grad()
    def validate(self):
        self.m_model.eval()
        losses = [self.lossOf(old, photo).item() for old, photo in self.m_data.getValidLoader()]
        return self.m_world.average(float(np.mean(losses)))

    def store(self, name, epoch):
        state = {
            "model": self.m_model.module.state_dict(),
            "optimizer": self.m_optimizer.state_dict(),
            "scheduler": self.m_scheduler.state_dict(),
            "epoch": epoch,
            "best": self.m_best,
        }
        torch.save(state, name)

    def run(self):
        for epoch in range(self.m_first, self.m_args.epochs):
            train, valid = self.trainEpoch(epoch), self.validate()
            better = valid < self.m_best
            self.m_best = min(valid, self.m_best)
            if self.m_world.isMaster():
                print(f"epoch {epoch} train {train:.4f} valid {valid:.4f} rate {self.m_scheduler.get_last_lr()[0]:.2e}", flush=True)
                self.store("last.pt", epoch)
                if better:
                    self.store("best.pt", epoch)
            self.m_world.barrier()
