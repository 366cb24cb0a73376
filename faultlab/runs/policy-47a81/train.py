"""REINFORCE on a small corridor: walk to the goal, avoid the pits."""
import csv
import numpy as np
import torch
from torch import nn

SEED = 200
HIDDEN = 32
LR = 0.01
BATCH_SIZE = 8
ITERATIONS = 150
LOG_EVERY = 2
log_file = open("metrics.csv", "w", newline="")
log = csv.DictWriter(log_file, ["step", "epoch", "mean_reward", "policy_loss", "lr", "grad_norm"])
log.writeheader()
torch.set_num_threads(1)
torch.manual_seed(SEED)
rng = np.random.RandomState(SEED)
LENGTH, PITS = 12, (3, 7)


def episode(policy):
    """Walk at most 30 moves; returns log-probabilities and rewards."""
    place, log_probs, rewards = 0, [], []
    for _ in range(30):
        logits = policy(nn.functional.one_hot(torch.tensor(place), LENGTH).float())
        choice = torch.distributions.Categorical(logits=logits)
        move = choice.sample()
        log_probs.append(choice.log_prob(move))
        place = max(0, place + (-1, 1, 2)[move.item()])
        if rng.rand() < 0.1:
            place = max(0, place - 1)
        if place in PITS:
            rewards.append(-3.0)
            break
        if place >= LENGTH - 1:
            rewards.append(10.0)
            break
        rewards.append(-0.1)
    return log_probs, rewards


model = nn.Sequential(nn.Linear(LENGTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=LR)
baseline = 0.0
epoch = 0
val_loss = 0.0
for step in range(1, ITERATIONS + 1):
    losses, returns = [], []
    for _ in range(BATCH_SIZE):
        log_probs, rewards = episode(model)
        gains, total = [], 0.0
        for reward in reversed(rewards):
            total = reward + 0.98 * total
            gains.insert(0, total)
        returns.append(sum(rewards))
        losses.append(-(torch.stack(log_probs) * (torch.tensor(gains) - baseline)).sum())
    mean_reward = sum(returns) / len(returns)
    baseline = 0.9 * baseline + 0.1 * mean_reward
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % LOG_EVERY == 0:
        log.writerow({"step": step, "epoch": epoch, "mean_reward": mean_reward, "policy_loss": loss.item(), "lr": optimizer.param_groups[0]["lr"], "grad_norm": norm.item()})
log_file.close()
