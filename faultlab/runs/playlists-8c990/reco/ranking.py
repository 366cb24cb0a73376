import numpy as np
import torch


def build_candidates(held_out, known, num_tracks, num_negatives, rng):
    """Held-out track first, then tracks the listener never played."""
    rows = []
    for user, track in held_out.items():
        free = np.flatnonzero(~known[user])
        free = free[free != track]
        rows.append(np.concatenate([[track], rng.choice(free, num_negatives, replace=False)]))
    return torch.as_tensor(np.stack(rows))


@torch.no_grad()
def evaluate(model, candidates, k=10):
    model.eval()
    users = torch.arange(len(candidates))
    scores = model(users[:, None].expand_as(candidates), candidates)
    target = scores[:, :1]
    rank = (scores[:, 1:] >= target).sum(1).float()
    hit = (rank < k).float()
    ndcg = hit / torch.log2(rank + 2)
    diff = (target - scores[:, 1:]).clamp(-30, 30)
    loss = torch.nn.functional.softplus(-diff).mean()
    return {"val_bpr": loss.item(), f"hit@{k}": hit.mean().item(), f"ndcg@{k}": ndcg.mean().item()}
