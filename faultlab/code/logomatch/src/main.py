import os
import sys

import torch
import yaml
from torch.utils.data import DataLoader

from datasets import BrandBatchSampler, LogoDataset, make_transforms, split_brands
from network import EmbeddingNet, SupervisedContrastive


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg["seed"])
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        data, samp, opt = cfg["data"], cfg["sampler"], cfg["optim"]

        train_tf, test_tf = make_transforms(data)
        train_brands, test_brands = split_brands(data["root"], data["held_out_brands"], cfg["seed"])
        train_set = LogoDataset(data["root"], train_brands, train_tf, two_views=True)
        test_set = LogoDataset(data["root"], test_brands, test_tf)
        sampler = BrandBatchSampler(train_set.labels, samp["brands"], samp["per_brand"], cfg["seed"])
        self.train_loader = DataLoader(train_set, batch_sampler=sampler, num_workers=cfg.get("workers", 4))
        self.test_loader = DataLoader(test_set, batch_size=128, num_workers=cfg.get("workers", 4))

        self.net = EmbeddingNet(cfg["model"]["width"], cfg["model"]["embedding"]).to(self.device)
        self.criterion = SupervisedContrastive(cfg["loss"]["temperature"])
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=opt["lr"], weight_decay=opt["weight_decay"])
        per_epoch = len(self.train_loader)
        warm = torch.optim.lr_scheduler.LinearLR(self.optimizer, 0.05, total_iters=opt["warmup_epochs"] * per_epoch)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(
            self.optimizer, T_max=(opt["epochs"] - opt["warmup_epochs"]) * per_epoch)
        self.scheduler = torch.optim.lr_scheduler.SequentialLR(
            self.optimizer, [warm, cosine], milestones=[opt["warmup_epochs"] * per_epoch])
        self.epoch, self.best = 0, 0.0
        os.makedirs(cfg["output"], exist_ok=True)
        if cfg["resume"]:
            self.restore(cfg["resume"])

    def path(self, name):
        return os.path.join(self.cfg["output"], name)

    def store(self, name):
        torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict(), "epoch": self.epoch, "best": self.best}, self.path(name))

    def restore(self, path):
        state = torch.load(path, map_location=self.device)
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch, self.best = state["epoch"] + 1, state["best"]

    def train_epoch(self):
        self.net.train()
        total = 0.0
        for first, second, labels in self.train_loader:
            images = torch.cat([first, second]).to(self.device)
            labels = torch.cat([labels, labels]).to(self.device)
            loss = self.criterion(self.net(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def recall_at_one(self):
        self.net.eval()
        chunks, labels = [], []
        for images, y in self.test_loader:
            chunks.append(self.net(images.to(self.device)).cpu())
            labels.append(y)
        z, labels = torch.cat(chunks), torch.cat(labels)
        sim = z @ z.t()
        sim.fill_diagonal_(-2.0)
        return (labels[sim.argmax(1)] == labels).float().mean().item()

    def run(self):
        for self.epoch in range(self.epoch, self.cfg["optim"]["epochs"]):
            loss = self.train_epoch()
            recall = self.recall_at_one()
            print(f"epoch={self.epoch} loss={loss:.4f} recall@1={recall:.4f}")
            improved = recall > self.best
            self.best = max(self.best, recall)
            self.store("last.pt")
            if improved:
                self.store("best.pt")
        self.net.load_state_dict(torch.load(self.path("best.pt"), map_location=self.device)["net"])
        print(f"best model: recall@1={self.recall_at_one():.4f}")


if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else "config.yaml") as f:
        Experiment(yaml.safe_load(f)).run()
