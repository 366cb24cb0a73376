# ruff: noqa: E501
"""Reinforcement learning as guides write it: replayed values, policies, actors with critics, clipped steps."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import random
from collections import deque, namedtuple
from itertools import count
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical
env = gym.make('CartPole-v1')
n_actions, n_observations = env.action_space.n, env.observation_space.shape[0]
torch.manual_seed(543)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
"""
KIND = (
    """Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 128)
        self.layer2 = nn.Linear(128, 128)
        self.layer3 = nn.Linear(128, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


BATCH_SIZE, GAMMA, EPS_START, EPS_END, EPS_DECAY, TAU, LR = 128, 0.99, 0.9, 0.05, 1000, 0.005, 1e-4
policy_net = DQN(n_observations, n_actions).to(device)
target_net = DQN(n_observations, n_actions).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = ReplayMemory(10000)
steps_done = 0


def select_action(state):
    global steps_done
    eps_threshold = EPS_END + (EPS_START - EPS_END) * np.exp(-1.0 * steps_done / EPS_DECAY)
    steps_done += 1
    if random.random() > eps_threshold:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[env.action_space.sample()]], device=device, dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    non_final_mask = torch.tensor(tuple(s is not None for s in batch.next_state), device=device, dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch, action_batch, reward_batch = torch.cat(batch.state), torch.cat(batch.action), torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE, device=device)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch
    criterion = nn.SmoothL1Loss()
    loss = criterion(state_action_values, expected_state_action_values.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


for i_episode in range(600):
    state, info = env.reset()
    state = torch.tensor(state, dtype=torch.float32, device=device).unsqueeze(0)
    for t in count():
        action = select_action(state)
        observation, reward, terminated, truncated, _ = env.step(action.item())
        reward = torch.tensor([reward], device=device)
        next_state = None if terminated else torch.tensor(observation, dtype=torch.float32, device=device).unsqueeze(0)
        memory.push(state, action, next_state, reward)
        state = next_state
        optimize_model()
        FOLLOW
        if terminated or truncated:
            break""",
    """class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(n_observations, 128)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(128, n_actions)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        x = self.dropout(self.affine1(x))
        x = F.relu(x)
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss, returns = [], deque()
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


running_reward = 10
for i_episode in count(1):
    state, _ = env.reset()
    ep_reward = 0
    for t in range(1, 10000):
        action = select_action(state)
        state, reward, done, truncated, _ = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
        if done or truncated:
            break
    running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
    finish_episode()
    if i_episode % 10 == 0:
        print('Episode {}\\tLast reward: {:.2f}\\tAverage reward: {:.2f}'.format(i_episode, ep_reward, running_reward))
    if running_reward > env.spec.reward_threshold:
        break""",
    """class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_observations, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, n_actions), nn.Linear(64, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)
        nn.init.orthogonal_(self.critic.weight, 1.0)

    def forward(self, x):
        h = self.body(x)
        return self.actor(h), self.critic(h).squeeze(-1)


agent = ActorCritic().to(device)
optimizer = optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
num_steps, epochs, minibatch, gamma, lam, clip_coef, vf_coef, ent_coef = 2048, 4, 64, 0.99, 0.95, 0.2, 0.5, 0.01
obs, _ = env.reset(seed=1)
for update in range(1, 101):
    frac = 1.0 - (update - 1.0) / 100
    optimizer.param_groups[0]['lr'] = frac * 2.5e-4
    S, A, LP, R, D, V = [], [], [], [], [], []
    for step in range(num_steps):
        with torch.no_grad():
            logits, value = agent(torch.as_tensor(obs, dtype=torch.float32, device=device))
        dist = Categorical(logits=logits)
        action = dist.sample()
        nxt, reward, terminated, truncated, _ = env.step(action.item())
        S.append(obs); A.append(action); LP.append(dist.log_prob(action)); R.append(reward); D.append(terminated or truncated); V.append(value)
        obs = nxt if not (terminated or truncated) else env.reset()[0]
    with torch.no_grad():
        last = agent(torch.as_tensor(obs, dtype=torch.float32, device=device))[1]
    adv, lastgae = torch.zeros(num_steps, device=device), 0.0
    values = torch.stack(V)
    for t in reversed(range(num_steps)):
        nextnonterminal = 1.0 - float(D[t])
        nextvalue = last if t == num_steps - 1 else values[t + 1]
        delta = R[t] + gamma * nextvalue * nextnonterminal - values[t]
        lastgae = delta + gamma * lam * nextnonterminal * lastgae
        adv[t] = lastgae
    returns = adv + values
    b_obs = torch.as_tensor(np.array(S), dtype=torch.float32, device=device)
    b_act, b_logp = torch.stack(A), torch.stack(LP)
    for epoch in range(epochs):
        for mb in torch.randperm(num_steps).split(minibatch):
            logits, newvalue = agent(b_obs[mb])
            dist = Categorical(logits=logits)
            logratio = dist.log_prob(b_act[mb]) - b_logp[mb]
            ratio = logratio.exp()
            mb_adv = adv[mb]
            mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
            pg_loss = torch.max(-mb_adv * ratio, -mb_adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
            v_loss = 0.5 * ((newvalue - returns[mb]) ** 2).mean()
            loss = pg_loss - ent_coef * dist.entropy().mean() + vf_coef * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()""",
)
FOLLOW = (
    """target_net_state_dict = target_net.state_dict()
        policy_net_state_dict = policy_net.state_dict()
        for key in policy_net_state_dict:
            target_net_state_dict[key] = policy_net_state_dict[key] * TAU + target_net_state_dict[key] * (1 - TAU)
        target_net.load_state_dict(target_net_state_dict)""",
    """if steps_done % 500 == 0:
            target_net.load_state_dict(policy_net.state_dict())""",
    """for p, q in zip(policy_net.parameters(), target_net.parameters()):
            q.data.copy_(TAU * p.data + (1.0 - TAU) * q.data)""",
)
END = ("", "\ntorch.save({'done': True}, 'run.pt')")


def write(choice: Choice) -> str | None:
    """The program of one choice; only values that are replayed have several ways to follow."""
    kind, follow, end = choice
    if kind and follow:
        return None
    return HEAD + KIND[kind].replace("FOLLOW", FOLLOW[follow]) + END[end] + "\n"


BOOK = Book("control", tuple(map(len, (KIND, FOLLOW, END))), write)
