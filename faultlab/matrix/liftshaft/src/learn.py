import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

from world import ShaftWorld


class Memory:
    def __init__(self, capacity):
        self.m_items = deque(maxlen=capacity)

    def add(self, state, action, reward, following, done):
        self.m_items.append((state, action, reward, following, done))

    def getSize(self):
        return len(self.m_items)

    def getSample(self, count):
        states, actions, rewards, following, dones = zip(*random.sample(self.m_items, count))
        return (torch.tensor(states, dtype=torch.float32), torch.tensor(actions), torch.tensor(rewards, dtype=torch.float32),
                torch.tensor(following, dtype=torch.float32), torch.tensor(dones, dtype=torch.float32))


class QNetwork(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.m_layers = nn.Sequential(nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, outputs))

    def forward(self, state):
        return self.m_layers(state)


class Agent:
    """Double deep Q-learning with a slow target network."""

    def __init__(self, inputs, outputs, gamma=0.98, rate=5e-4):
        self.m_outputs = outputs
        self.m_gamma = gamma
        self.m_online = QNetwork(inputs, outputs)
        self.m_target = QNetwork(inputs, outputs)
        self.m_target.load_state_dict(self.m_online.state_dict())
        self.m_target.eval()
        self.m_optimizer = torch.optim.Adam(self.m_online.parameters(), lr=rate)
        self.m_epsilon = 1.0

    def getAction(self, state, greedy=False):
        if not greedy and random.random() < self.m_epsilon:
            return random.randrange(self.m_outputs)
        with torch.no_grad():
            values = self.m_online(torch.tensor(state, dtype=torch.float32).unsqueeze(0))
        return int(values.argmax(dim=1).item())

    def lowerEpsilon(self, step, total):
        self.m_epsilon = max(0.05, 1.0 - step / (0.5 * total))

    def learn(self, batch):
        states, actions, rewards, following, dones = batch
        values = self.m_online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            choice = self.m_online(following).argmax(dim=1, keepdim=True)
            future = self.m_target(following).gather(1, choice).squeeze(1)
            wanted = rewards + self.m_gamma * future * (1.0 - dones)
        loss = F.smooth_l1_loss(values, wanted)
        self.m_optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.m_online.parameters(), 10.0)
        self.m_optimizer.step()
        return loss.item()

    def followSlowly(self, share=0.01):
        with torch.no_grad():
            for slow, fast in zip(self.m_target.parameters(), self.m_online.parameters()):
                slow.mul_(1.0 - share).add_(share * fast)


class Evaluator:
    def __init__(self, agent, world, episodes=20):
        self.m_agent, self.m_world, self.m_episodes = agent, world, episodes

    def getMeanReturn(self):
        total = 0.0
        for _ in range(self.m_episodes):
            state, done = self.m_world.reset(), False
            while not done:
                state, reward, done = self.m_world.step(self.m_agent.getAction(state, greedy=True))
                total += reward
        return total / self.m_episodes


class Trainer:
    def __init__(self, steps=60000, batchSize=64, warmup=1000):
        self.m_world = ShaftWorld(6)
        self.m_agent = Agent(self.m_world.getInputs(), self.m_world.getOutputs())
        self.m_memory = Memory(20000)
        self.m_evaluator = Evaluator(self.m_agent, ShaftWorld(6))
        self.m_steps, self.m_batchSize, self.m_warmup = steps, batchSize, warmup

    def run(self):
        state = self.m_world.reset()
        for step in range(self.m_steps):
            action = self.m_agent.getAction(state)
            following, reward, done = self.m_world.step(action)
            self.m_memory.add(state, action, reward, following, done)
            state = self.m_world.reset() if done else following
            if self.m_memory.getSize() >= self.m_warmup:
                self.m_agent.learn(self.m_memory.getSample(self.m_batchSize))
                self.m_agent.followSlowly()
            self.m_agent.lowerEpsilon(step, self.m_steps)
            if step % 2000 == 0:
                print(step, self.m_evaluator.getMeanReturn())


if __name__ == "__main__":
    random.seed(4)
    torch.manual_seed(4)
    Trainer().run()
