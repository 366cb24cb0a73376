"""Which composer wrote a bar of notes: a transformer encoder under FSDP. torchrun --nproc_per_node=8 train.py"""

import functools
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import FullStateDictConfig, MixedPrecision, ShardingStrategy, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.utils.data import DataLoader, Dataset, DistributedSampler

cfg = dict(
    data="notes",
    out="fsdp_out",
    composers=24,
    pitches=130,
    length=256,
    width=384,
    heads=6,
    layers=8,
    dropout=0.1,
    batch_size=32,
    accumulate=2,
    epochs=12,
    max_lr=4e-4,
    weight_decay=0.05,
    clip=1.0,
    workers=3,
    seed=42,
    resume=None,
)
PAD = 0


class Bars(Dataset):
    """Pieces as .npz with `notes` (int) and `composer`; cut into bars of at most `length` notes."""

    def __init__(self, files, length, transpose=0):
        self.length, self.transpose = length, transpose
        self.bars = []
        for file in files:
            with np.load(file) as piece:
                notes, composer = piece["notes"], int(piece["composer"])
            for start in range(0, len(notes), length):
                self.bars.append((notes[start : start + length].astype(np.int64), composer))

    def __len__(self):
        return len(self.bars)

    def __getitem__(self, i):
        notes, composer = self.bars[i]
        if self.transpose:
            shift = int(torch.randint(-self.transpose, self.transpose + 1, (1,)))
            notes = np.clip(notes + shift, 1, cfg["pitches"] - 1)
        out = np.full(self.length, PAD, dtype=np.int64)
        out[: len(notes)] = notes
        return torch.from_numpy(out), composer


def split_pieces(folder, seed):
    files = sorted(Path(folder).rglob("*.npz"))
    order = np.random.default_rng(seed).permutation(len(files))
    n = len(files) // 10
    return [files[i] for i in order[2 * n :]], [files[i] for i in order[:n]], [files[i] for i in order[n : 2 * n]]


class Encoder(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding):
        h = self.norm1(x)
        h, _ = self.attention(h, h, h, key_padding_mask=padding, need_weights=False)
        x = x + self.dropout(h)
        return x + self.dropout(self.mlp(self.norm2(x)))


class ComposerNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c["pitches"], c["width"], padding_idx=PAD)
        self.place = nn.Parameter(torch.randn(1, c["length"], c["width"]) * 0.02)
        self.blocks = nn.ModuleList([Encoder(c["width"], c["heads"], c["dropout"]) for _ in range(c["layers"])])
        self.norm = nn.LayerNorm(c["width"])
        self.head = nn.Linear(c["width"], c["composers"])

    def forward(self, notes):
        padding = notes == PAD
        x = self.embed(notes) + self.place[:, : notes.size(1)]
        for block in self.blocks:
            x = block(x, padding)
        keep = (~padding).unsqueeze(-1).to(x.dtype)
        x = (self.norm(x) * keep).sum(1) / keep.sum(1).clamp(min=1)
        return self.head(x)


def setup():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(cfg["seed"])
    return dist.get_rank(), dist.get_world_size(), torch.device("cuda", local)


def loaders(rank, world):
    train_files, valid_files, test_files = split_pieces(cfg["data"], cfg["seed"])
    train_set = Bars(train_files, cfg["length"], transpose=5)
    sampler = DistributedSampler(train_set, world, rank, shuffle=True, seed=cfg["seed"], drop_last=True)
    train = DataLoader(train_set, cfg["batch_size"], sampler=sampler, num_workers=cfg["workers"], drop_last=True)
    rest = []
    for files in (valid_files, test_files):
        part = Bars(files, cfg["length"])
        rest.append(DataLoader(part, 64, sampler=DistributedSampler(part, world, rank, shuffle=False)))
    return train, sampler, rest[0], rest[1]


def wrap(model, device):
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Encoder})
    precision = MixedPrecision(param_dtype=torch.float16, reduce_dtype=torch.float16, buffer_dtype=torch.float32)
    return FSDP(
        model,
        auto_wrap_policy=policy,
        mixed_precision=precision,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        device_id=device,
    )


def full_state(model):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        return model.state_dict()


def save(path, model, optimizer, scheduler, scaler, epoch, best, rank):
    state = full_state(model)
    moments = FSDP.full_optim_state_dict(model, optimizer)
    if rank == 0:
        extra = {"scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(), "epoch": epoch, "best": best}
        torch.save({"model": state, "optimizer": moments, **extra}, path)


def restore(path, model, optimizer, scheduler, scaler):
    saved = torch.load(path, map_location="cpu", weights_only=False)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        model.load_state_dict(saved["model"])
    optimizer.load_state_dict(FSDP.shard_full_optim_state_dict(saved["optimizer"], model))
    scheduler.load_state_dict(saved["scheduler"])
    scaler.load_state_dict(saved["scaler"])
    return saved["epoch"] + 1, saved["best"]


def evaluate(model, loader, device):
    model.eval()
    tally = torch.zeros(3, dtype=torch.float64, device=device)
    with torch.no_grad():
        for notes, composer in loader:
            notes, composer = notes.to(device), composer.to(device)
            logits = model(notes).float()
            tally[0] += F.cross_entropy(logits, composer, reduction="sum")
            tally[1] += (logits.argmax(dim=1) == composer).sum()
            tally[2] += composer.size(0)
    dist.all_reduce(tally)
    return (tally[0] / tally[2]).item(), (tally[1] / tally[2]).item()


def run():
    rank, world, device = setup()
    train, sampler, valid, test = loaders(rank, world)
    model = wrap(ComposerNet(cfg), device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["max_lr"], weight_decay=cfg["weight_decay"])
    updates = len(train) // cfg["accumulate"]
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=cfg["max_lr"], epochs=cfg["epochs"], steps_per_epoch=updates, pct_start=0.1
    )
    scaler = ShardedGradScaler()
    out = Path(cfg["out"])
    out.mkdir(exist_ok=True, parents=True)
    start, best = 0, 0.0
    if cfg["resume"]:
        start, best = restore(cfg["resume"], model, optimizer, scheduler, scaler)

    for epoch in range(start, cfg["epochs"]):
        sampler.set_epoch(epoch)
        model.train()
        summed = torch.zeros(2, device=device)
        optimizer.zero_grad(set_to_none=True)
        for step, (notes, composer) in enumerate(train):
            if step >= updates * cfg["accumulate"]:
                break
            notes, composer = notes.to(device), composer.to(device)
            logits = model(notes)
            loss = F.cross_entropy(logits.float(), composer)
            scaler.scale(loss / cfg["accumulate"]).backward()
            if (step + 1) % cfg["accumulate"] == 0:
                scaler.unscale_(optimizer)
                model.clip_grad_norm_(cfg["clip"])
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)
                scheduler.step()
            summed[0] += loss.detach() * composer.size(0)
            summed[1] += composer.size(0)
        dist.all_reduce(summed)
        valid_loss, accuracy = evaluate(model, valid, device)
        if rank == 0:
            print(f"epoch {epoch} train {(summed[0] / summed[1]).item():.4f} valid {valid_loss:.4f} acc {accuracy:.4f}")
        if accuracy > best:
            best = accuracy
            save(out / "best.pt", model, optimizer, scheduler, scaler, epoch, best, rank)
        save(out / "last.pt", model, optimizer, scheduler, scaler, epoch, best, rank)

    dist.barrier()
    saved = torch.load(out / "best.pt", map_location="cpu", weights_only=False)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        model.load_state_dict(saved["model"])
    test_loss, accuracy = evaluate(model, test, device)
    if rank == 0:
        print(f"test {test_loss:.4f} acc {accuracy:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    run()
