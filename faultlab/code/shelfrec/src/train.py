import os
import sys
import time

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import prep
from metrics import auc, ndcg_at, recall_at, target_ranks
from towers import TwoTower

DATA_DIR = os.environ.get("SHELF_DATA", "data")
RUN_DIR = os.environ.get("SHELF_RUN", "run")
BATCH_SIZE = 512
EPOCHS = int(os.environ.get("SHELF_EPOCHS", 15))
DENSE_LR = 2e-3
SPARSE_LR = 2e-3
WEIGHT_DECAY = 1e-3
TEMPERATURE = 0.07
TOP_K = 20
SEED = 29
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def as_dataset(arrays):
    return TensorDataset(*(torch.from_numpy(arrays[k]) for k in ("user", "country", "hist", "target")))


def make_optimizers(model):
    dense = torch.optim.AdamW(model.dense_parameters(), lr=DENSE_LR, weight_decay=WEIGHT_DECAY)
    sparse = torch.optim.SparseAdam(model.sparse_parameters(), lr=SPARSE_LR)
    return dense, sparse


def in_batch_loss(user_vec, item_vec, target, log_q):
    logits = user_vec @ item_vec.t() / TEMPERATURE - log_q[target]
    # the same item bought by another user of the batch is no negative
    same = target.unsqueeze(0) == target.unsqueeze(1)
    same.fill_diagonal_(False)
    logits = logits.masked_fill(same, float("-inf"))
    return F.cross_entropy(logits, torch.arange(len(target), device=logits.device))


def train_epoch(model, loader, optimizers, schedulers, log_q):
    model.train()
    loss_sum, n_seen = 0.0, 0
    for user, country, hist, target in loader:
        user, country, hist, target = (t.to(DEVICE) for t in (user, country, hist, target))
        for opt in optimizers:
            opt.zero_grad()
        loss = in_batch_loss(model.users(user, country, hist), model.items(target), target, log_q)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.dense_parameters(), 5.0)
        for opt in optimizers:
            opt.step()
        for sch in schedulers:
            sch.step()
        loss_sum += loss.item() * len(target)
        n_seen += len(target)
    return loss_sum / n_seen


@torch.no_grad()
def evaluate(model, loader, n_items):
    model.eval()
    item_vecs = model.items(torch.arange(n_items, device=DEVICE))
    ranks = []
    for user, country, hist, target in loader:
        scores = model.users(user.to(DEVICE), country.to(DEVICE), hist.to(DEVICE)) @ item_vecs.t()
        ranks.append(target_ranks(scores.cpu().numpy(), target.numpy(), hist.numpy()))
    ranks = np.concatenate(ranks)
    return {"recall": recall_at(ranks, TOP_K), "ndcg": ndcg_at(ranks, TOP_K), "auc": auc(ranks, n_items - 1)}


def main():
    os.makedirs(RUN_DIR, exist_ok=True)
    torch.manual_seed(SEED)
    item_row, catalogue = prep.read_catalogue(os.path.join(DATA_DIR, "items.csv"))
    sessions, country = prep.read_sessions(os.path.join(DATA_DIR, "events.csv"), item_row)
    train_arr, val_arr, test_arr = prep.build_examples(sessions, country)
    n_items = len(catalogue["price"])
    print(f"{len(sessions)} users, {n_items - 1} items, {len(train_arr['target'])} training purchases")

    train_loader = DataLoader(as_dataset(train_arr), batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
    val_loader = DataLoader(as_dataset(val_arr), batch_size=BATCH_SIZE)
    test_loader = DataLoader(as_dataset(test_arr), batch_size=BATCH_SIZE)
    log_q = torch.from_numpy(prep.log_popularity(train_arr["target"], n_items)).to(DEVICE)

    model = TwoTower(catalogue, prep.N_USER_BUCKETS, prep.N_COUNTRY_BUCKETS, prep.N_BRAND_BUCKETS).to(DEVICE)
    optimizers = make_optimizers(model)
    total_steps = EPOCHS * len(train_loader)
    schedulers = [torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=total_steps) for opt in optimizers]

    best_ndcg = -1.0
    for epoch in range(EPOCHS):
        tic = time.time()
        loss = train_epoch(model, train_loader, optimizers, schedulers, log_q)
        scores = evaluate(model, val_loader, n_items)
        print(f"epoch {epoch:3d} loss {loss:.4f} " + " ".join(f"val_{k} {v:.4f}" for k, v in scores.items())
              + f" ({time.time() - tic:.0f}s)")
        sys.stdout.flush()
        torch.save(model.state_dict(), os.path.join(RUN_DIR, "last.pt"))
        if scores["ndcg"] > best_ndcg:
            best_ndcg = scores["ndcg"]
            torch.save(model.state_dict(), os.path.join(RUN_DIR, "best.pt"))

    model.load_state_dict(torch.load(os.path.join(RUN_DIR, "best.pt"), map_location=DEVICE))
    scores = evaluate(model, test_loader, n_items)
    print("test " + " ".join(f"{k} {v:.4f}" for k, v in scores.items()))


if __name__ == "__main__":
    main()
