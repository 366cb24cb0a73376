"""REINFORCE on a small corridor: walk to the goal, avoid the pits."""
from torch.utils.tensorboard import SummaryWriter
import yaml
import numpy as np
import torch
from torch import nn

cfg = yaml.safe_load(open("config.yaml"))
writer = SummaryWriter("runs")
torch.set_num_threads(1)
torch.manual_seed(cfg["seed"])
rng = np.random.RandomState(cfg["seed"])
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


model = nn.Sequential(nn.Linear(LENGTH, cfg["hidden"]), nn.Tanh(), nn.Linear(cfg["hidden"], 3))
optimizer = torch.optim.Adam(model.parameters(), lr=cfg["learning_rate"])
baseline = 0.0
epoch = 0
val_loss = 0.0
for step in range(1, cfg["iterations"] + 1):
    losses, returns = [], []
    for _ in range(cfg["batch_size"]):
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
    if step % cfg["log_every"] == 0:
        writer.add_scalar("rollout/ep_rew_mean", mean_reward, step)
        writer.add_scalar("train/policy_loss", loss.item(), step)
        writer.add_scalar("train/lr", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/grad_norm", norm.item(), step)
writer.close()
