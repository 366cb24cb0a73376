import json

import numpy as np
import torch
import torch.nn.functional as F

from models import NeuralRecommender


class Settings:
    def __init__(self, path):
        with open(path) as stream:
            self.m_values = json.load(stream)

    def get(self, key, default):
        return self.m_values.get(key, default)


class DataManager:
    def __init__(self, settings):
        plays = np.load(settings.get("plays", "plays.npy"))          # rows: user, item, time
        plays = plays[np.argsort(plays[:, 2], kind="stable")]
        self.m_num_users = int(plays[:, 0].max()) + 1
        self.m_num_items = int(plays[:, 1].max()) + 1
        self.m_random = np.random.default_rng(settings.get("seed", 7))
        self.m_batch_size = settings.get("batch_size", 512)
        last = {}
        for row, (user, _, _) in enumerate(plays):
            last[user] = row
        held = np.zeros(len(plays), dtype=bool)
        held[list(last.values())] = True
        self.m_train, self.m_test = plays[~held, :2], plays[held, :2]
        self.m_seen = {}
        for user, item in self.m_train:
            self.m_seen.setdefault(int(user), set()).add(int(item))

    def get_num_users(self):
        return self.m_num_users

    def get_num_items(self):
        return self.m_num_items

    def get_seen(self, user):
        return self.m_seen.get(int(user), set())

    def get_test(self):
        return self.m_test

    def train_batches(self):
        order = self.m_random.permutation(len(self.m_train))
        for start in range(0, len(order), self.m_batch_size):
            rows = self.m_train[order[start:start + self.m_batch_size]]
            negatives = self.m_random.integers(0, self.m_num_items, size=len(rows))
            for k, (user, _) in enumerate(rows):
                while int(negatives[k]) in self.get_seen(user):
                    negatives[k] = self.m_random.integers(0, self.m_num_items)
            yield torch.from_numpy(rows[:, 0]).long(), torch.from_numpy(rows[:, 1]).long(), torch.from_numpy(negatives).long()


class Evaluator:
    def __init__(self, data_manager, top=10):
        self.m_data = data_manager
        self.m_top = top

    @torch.no_grad()
    def evaluate(self, model):
        model.eval()
        hits = 0
        every = torch.arange(self.m_data.get_num_items())
        for user, item in self.m_data.get_test():
            scores = model(torch.full_like(every, int(user)), every)
            scores[list(self.m_data.get_seen(user))] = -float("inf")
            hits += int(int(item) in scores.topk(self.m_top).indices.tolist())
        return hits / len(self.m_data.get_test())


class Trainer:
    def __init__(self, settings):
        self.m_settings = settings
        torch.manual_seed(settings.get("seed", 7))
        self.m_data = DataManager(settings)
        self.m_model = NeuralRecommender(self.m_data.get_num_users(), self.m_data.get_num_items(), settings.get("dim", 32))
        self.m_optimizer = torch.optim.Adam(self.get_model().parameters(), lr=settings.get("lr", 1e-3), weight_decay=1e-6)
        self.m_evaluator = Evaluator(self.m_data)

    def get_model(self):
        return self.m_model

    def compute_loss(self, users, positives, negatives):
        better = self.m_model(users, positives)
        worse = self.m_model(users, negatives)
        return -F.logsigmoid(better - worse).mean()

    def train_epoch(self):
        self.m_model.train()
        losses = []
        for users, positives, negatives in self.m_data.train_batches():
            loss = self.compute_loss(users, positives, negatives)
            self.m_optimizer.zero_grad()
            loss.backward()
            self.m_optimizer.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    def run(self):
        best = 0.0
        for epoch in range(self.m_settings.get("epochs", 20)):
            loss = self.train_epoch()
            rate = self.m_evaluator.evaluate(self.m_model)
            print(f"epoch={epoch} loss={loss:.4f} hit@10={rate:.4f}")
            if rate > best:
                best = rate
                torch.save(self.m_model.state_dict(), "recommender.pt")


if __name__ == "__main__":
    Trainer(Settings("settings.json")).run()
