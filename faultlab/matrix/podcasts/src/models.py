from abc import ABC, abstractmethod

import torch
from torch import nn


class AbstractRecommender(nn.Module, ABC):
    """Scores pairs of listener and podcast."""

    def __init__(self, num_users: int, num_items: int) -> None:
        super().__init__()
        self.m_num_users = num_users
        self.m_num_items = num_items

    @abstractmethod
    def score(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        ...

    def forward(self, users, items):
        return self.score(users, items)


class NeuralRecommender(AbstractRecommender):
    """A product of factors beside a multilayer perceptron, joined at the end."""

    def __init__(self, num_users: int, num_items: int, dim: int = 32, layers: tuple = (64, 32, 16)) -> None:
        super().__init__(num_users, num_items)
        self.m_user_factor = nn.Embedding(num_users, dim)
        self.m_item_factor = nn.Embedding(num_items, dim)
        self.m_user_deep = nn.Embedding(num_users, layers[0] // 2)
        self.m_item_deep = nn.Embedding(num_items, layers[0] // 2)
        self.m_layers = nn.ModuleList()
        for size_in, size_out in zip(layers[:-1], layers[1:]):
            self.m_layers.append(nn.Linear(size_in, size_out))
            self.m_layers.append(nn.ReLU())
        self.m_item_bias = nn.Embedding(num_items, 1)
        self.m_output = nn.Linear(dim + layers[-1], 1)
        self.init_weights()

    def init_weights(self) -> None:
        for table in (self.m_user_factor, self.m_item_factor, self.m_user_deep, self.m_item_deep):
            nn.init.normal_(table.weight, std=0.01)
        nn.init.zeros_(self.m_item_bias.weight)
        for module in self.m_layers:
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.xavier_uniform_(self.m_output.weight)

    def get_factor_vector(self, users, items):
        return self.m_user_factor(users) * self.m_item_factor(items)

    def get_deep_vector(self, users, items):
        vector = torch.cat([self.m_user_deep(users), self.m_item_deep(items)], dim=-1)
        for layer in self.m_layers:
            vector = layer(vector)
        return vector

    def score(self, users, items):
        factor = self.get_factor_vector(users, items)
        deep = self.get_deep_vector(users, items)
        joined = torch.cat([factor, deep], dim=-1)
        return (self.m_output(joined) + self.m_item_bias(items)).squeeze(-1)
