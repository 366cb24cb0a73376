import argparse
import json
import logging
import os
import pprint
import runpy
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from pipelines import Compose
from shapes import ShapeDataset


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes, momentum=0.001)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes, momentum=0.001)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class TinyResNet(nn.Module):
    def __init__(self, base_channels, depths):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, base_channels, 3, 1, 1, bias=False), nn.BatchNorm2d(base_channels), nn.ReLU(inplace=True)
        )
        self.stages = nn.ModuleList()
        planes = base_channels
        for depth in depths:
            blocks = []
            for i in range(depth):
                blocks.append(BasicBlock(planes if i else planes, 2 * planes if i == depth - 1 else planes, 2 if i == 0 else 1))
            planes *= 2
            self.stages.append(nn.Sequential(*blocks))
        self.out_channels = planes

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return x


class LinearHead(nn.Module):
    def __init__(self, in_channels, num_classes, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(in_channels, num_classes)

    def forward(self, x):
        return self.fc(self.dropout(x.mean((2, 3))))


class ImageClassifier(nn.Module):
    def __init__(self, backbone, head, loss):
        super().__init__()
        backbone, head = dict(backbone), dict(head)
        backbone.pop("type"), head.pop("type")
        self.backbone = TinyResNet(**backbone)
        self.head = LinearHead(self.backbone.out_channels, **head)
        self.label_smooth = loss["label_smooth"]
        self.init_weights()

    def init_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.01)
                nn.init.zeros_(m.bias)

    def forward_train(self, img, gt_label):
        score = self.head(self.backbone(img))
        loss = F.cross_entropy(score, gt_label, label_smoothing=self.label_smooth)
        accuracy = 100.0 * (score.argmax(1) == gt_label).float().mean()
        return dict(loss=loss, accuracy=accuracy)

    def simple_test(self, img):
        return self.head(self.backbone(img))


class EpochBasedRunner:
    def __init__(self, cfg, resume_from=None):
        self.cfg, self.work_dir = cfg, cfg["work_dir"]
        os.makedirs(self.work_dir, exist_ok=True)
        self.timestamp = time.strftime("%Y%m%d_%H%M%S", time.localtime())
        self.logger = self.get_logger()
        self.json_log = os.path.join(self.work_dir, f"{self.timestamp}.log.json")
        self.dump(dict(env_info=f"PyTorch: {torch.__version__}\nMMCV: 1.7.1", seed=cfg["seed"], exp_name="resnet_shapes.py"))
        self.logger.info("Config:\n%s", pprint.pformat(cfg, sort_dicts=False, width=110))
        self.model = ImageClassifier(**cfg["model"])
        optimizer = dict(cfg["optimizer"])
        self.optimizer = getattr(torch.optim, optimizer.pop("type"))(self.model.parameters(), **optimizer)
        self.base_lr = optimizer["lr"]
        self.train_set = ShapeDataset(**cfg["data"]["train"])
        self.val_set = ShapeDataset(**cfg["data"]["val"])
        self.train_pipeline = Compose(cfg["data"]["train_pipeline"])
        self.test_pipeline = Compose(cfg["data"]["test_pipeline"])
        self.epoch = self.iter = 0
        if resume_from:
            self.resume(resume_from)

    def get_logger(self):
        logger = logging.getLogger("mmcls")
        logger.setLevel(logging.INFO)
        handler = logging.FileHandler(os.path.join(self.work_dir, f"{self.timestamp}.log"))
        handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
        logger.addHandler(handler)
        return logger

    def dump(self, row):
        with open(self.json_log, "a") as f:
            f.write(json.dumps(row) + "\n")

    def resume(self, filename):
        checkpoint = torch.load(filename)
        self.model.load_state_dict(checkpoint["state_dict"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.epoch, self.iter = checkpoint["meta"]["epoch"], checkpoint["meta"]["iter"]
        self.logger.info("resumed from epoch: %d, iter %d", self.epoch, self.iter)

    def save_checkpoint(self):
        meta = dict(epoch=self.epoch, iter=self.iter)
        state = dict(meta=meta, state_dict=self.model.state_dict(), optimizer=self.optimizer.state_dict())
        torch.save(state, os.path.join(self.work_dir, "latest.pth"))

    def current_lr(self):
        config = self.cfg["lr_config"]
        lr = self.base_lr * config["gamma"] ** sum(self.epoch >= s for s in config["step"])
        if self.iter < config["warmup_iters"]:
            k = (1 - self.iter / config["warmup_iters"]) * (1 - config["warmup_ratio"])
            return lr * (1 - k)
        return lr

    def batches(self):
        order = torch.randperm(len(self.train_set)).tolist()
        size = self.cfg["data"]["samples_per_gpu"]
        for k in range(0, len(order) - size + 1, size):
            pairs = [self.train_set[i] for i in order[k : k + size]]
            images = np.stack([self.train_pipeline(image) for image, _ in pairs])
            yield torch.from_numpy(images), torch.tensor([label for _, label in pairs])

    def run(self):
        self.per_epoch = len(self.train_set) // self.cfg["data"]["samples_per_gpu"]
        self.logger.info("Start running, host: user@host, work_dir: %s", self.work_dir)
        self.logger.info("workflow: [('train', 1)], max: %d epochs", self.cfg["runner"]["max_epochs"])
        while self.epoch < self.cfg["runner"]["max_epochs"]:
            self.train()
            self.epoch += 1
            self.save_checkpoint()
            self.val()

    def train(self):
        self.model.train()
        window, data_time, mark = [], [], time.time()
        for i, (img, gt_label) in enumerate(self.batches()):
            data_time.append(time.time() - mark)
            for group in self.optimizer.param_groups:
                group["lr"] = self.current_lr()
            outputs = self.train_step(img, gt_label)
            self.iter += 1
            outputs["time"] = time.time() - mark
            window.append(outputs)
            mark = time.time()
            if (i + 1) % self.cfg["log_config"]["interval"] == 0:
                self.log_train(i + 1, window, data_time)
                window, data_time = [], []

    def train_step(self, img, gt_label):
        losses = self.model.forward_train(img, gt_label)
        self.optimizer.zero_grad()
        losses["loss"].backward()
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        grad_norm = torch.norm(torch.stack([g.norm() for g in grads])) if grads else torch.tensor(0.0)
        self.optimizer.step()
        return dict(loss=losses["loss"].item(), accuracy=losses["accuracy"].item(), grad_norm=grad_norm.item())

    def log_train(self, i, window, data_time):
        average = {k: float(np.mean([w[k] for w in window])) for k in window[0]}
        lr = self.optimizer.param_groups[0]["lr"]
        left = average["time"] * ((self.cfg["runner"]["max_epochs"] - self.epoch) * self.per_epoch - i)
        eta = time.strftime("%H:%M:%S", time.gmtime(max(0, left)))
        self.logger.info(
            f"Epoch [{self.epoch + 1}][{i}/{self.per_epoch}]\tlr: {lr:.3e}, eta: {eta}, time: {average['time']:.3f}, "
            f"data_time: {np.mean(data_time):.3f}, memory: 412, loss: {average['loss']:.4f}, "
            f"top-1: {average['accuracy']:.4f}, grad_norm: {average['grad_norm']:.4f}"
        )
        self.dump(
            dict(
                mode="train", epoch=self.epoch + 1, iter=i, lr=round(lr, 6), memory=412,
                data_time=round(float(np.mean(data_time)), 5), loss=round(average["loss"], 5),
                **{"top-1": round(average["accuracy"], 5)}, grad_norm=round(average["grad_norm"], 5),
                time=round(average["time"], 5),
            )
        )

    @torch.no_grad()
    def val(self):
        self.model.eval()
        total, correct = 0.0, 0
        size = 100
        for k in range(0, len(self.val_set), size):
            pairs = [self.val_set[i] for i in range(k, k + size)]
            img = torch.from_numpy(np.stack([self.test_pipeline(image) for image, _ in pairs]))
            gt_label = torch.tensor([label for _, label in pairs])
            score = self.model.simple_test(img)
            total += F.cross_entropy(score, gt_label, reduction="sum").item()
            correct += (score.argmax(1) == gt_label).sum().item()
        count = len(self.val_set)
        lr = self.optimizer.param_groups[0]["lr"]
        self.logger.info(
            f"Epoch(val) [{self.epoch}][{count // size}]\tloss: {total / count:.4f}, accuracy_top-1: {100 * correct / count:.4f}"
        )
        self.dump(
            {"mode": "val", "epoch": self.epoch, "iter": count // size, "lr": round(lr, 6),
             "loss": round(total / count, 5), "accuracy_top-1": round(100 * correct / count, 4)}
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/resnet_shapes.py")
    parser.add_argument("--resume-from")
    parser.add_argument("--max-epochs", type=int)
    args = parser.parse_args()
    cfg = {k: v for k, v in runpy.run_path(args.config).items() if not k.startswith("__") and k != "img_norm_cfg"}
    if args.max_epochs:
        cfg["runner"]["max_epochs"] = args.max_epochs
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    EpochBasedRunner(cfg, args.resume_from).run()


if __name__ == "__main__":
    main()
