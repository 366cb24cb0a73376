"""Trains the playlist recommender."""
import json
import time

import numpy as np
import torch

from reco.bpr import MatrixFactorization, bpr_loss
from reco.interactions import TripletSampler, leave_one_out, simulate_plays
from reco.ranking import build_candidates, evaluate

CONFIG = {
    "seed": 21,
    "num_users": 320,
    "num_tracks": 220,
    "dim": 16,
    "init_std": 0.1,
    "lr": 0.02,
    "reg": 0.01,
    "batch_size": 256,
    "epochs": 22,
    "lr_decay": 0.9,
    "eval_negatives": 99,
    "topk": 10,
}


def run(cfg):
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    rng = np.random.default_rng(cfg["seed"])

    plays = simulate_plays(cfg["num_users"], cfg["num_tracks"], rng)
    train_pairs, held_out = leave_one_out(plays)
    sampler = TripletSampler(train_pairs, cfg["num_tracks"], cfg["batch_size"], rng)
    candidates = build_candidates(held_out, sampler.known, cfg["num_tracks"], cfg["eval_negatives"], rng)

    model = MatrixFactorization(cfg["num_users"], cfg["num_tracks"], cfg["dim"], cfg["init_std"])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=cfg["lr_decay"])

    with open("metrics.jsonl", "w") as out:
        for epoch in range(cfg["epochs"]):
            model.train()
            total, started = 0.0, time.time()
            for users, pos, neg in sampler:
                users, pos, neg = (torch.as_tensor(a) for a in (users, pos, neg))
                rank_loss = bpr_loss(model(users, pos), model(users, neg))
                loss = rank_loss + cfg["reg"] * model.penalty(users, pos, neg)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += rank_loss.item()
            record = {"epoch": epoch, "bpr": round(total / len(sampler), 5), "lr": scheduler.get_last_lr()[0]}
            scheduler.step()
            metrics = evaluate(model, candidates, cfg["topk"])
            record.update({k: round(v, 5) for k, v in metrics.items()})
            record["seconds"] = round(time.time() - started, 3)
            out.write(json.dumps(record) + "\n")
            out.flush()
    torch.save(model.state_dict(), "mf.pt")
    return record


if __name__ == "__main__":
    with open("config.json", "w") as f:
        json.dump(CONFIG, f, indent=1)
    print(run(CONFIG))
