"""Training of the bakery recommender."""
from __future__ import annotations

import abc
import dataclasses
import logging
import sys
from typing import Callable, Dict, Iterator, Type

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

logger = logging.getLogger("bakery")


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    table: str = "purchases.npz"
    dim: int = 64
    negatives: int = 20
    batch_size: int = 512
    accumulation_steps: int = 2
    epochs: int = 20
    learning_rate: float = 2e-3
    weight_decay: float = 1e-6
    objectives: tuple = (("pairwise", 1.0), ("listwise", 0.5), ("click", 0.25), ("neighbour", 0.1))
    seed: int = 17


class Objective(abc.ABC):
    """A term of the loss. Scores are [B, 1 + N]; column 0 is the loaf that was bought."""

    @abc.abstractmethod
    def __call__(self, scores: Tensor, user: Tensor, items: Tensor) -> Tensor:
        """The value, a scalar that is to be made small."""


REGISTRY: Dict[str, Type[Objective]] = {}


def register(name: str) -> Callable[[Type[Objective]], Type[Objective]]:
    def wrap(cls: Type[Objective]) -> Type[Objective]:
        REGISTRY[name] = cls
        return cls

    return wrap


@register("pairwise")
class PairwiseObjective(Objective):
    """Bayesian personalised ranking."""

    def __call__(self, scores: Tensor, user: Tensor, items: Tensor) -> Tensor:
        bought, others = scores[:, :1], scores[:, 1:]
        return -F.logsigmoid(bought - others).mean()


@register("listwise")
class ListwiseObjective(Objective):
    """Softmax over the list: the bought loaf against its negatives."""

    def __init__(self) -> None:
        self._criterion = nn.CrossEntropyLoss()

    def __call__(self, scores: Tensor, user: Tensor, items: Tensor) -> Tensor:
        target = torch.zeros(scores.size(0), dtype=torch.long, device=scores.device)
        return self._criterion(scores, target)


@register("click")
class ClickObjective(Objective):
    """Each loaf of the list for itself: bought or not."""

    def __init__(self) -> None:
        self._criterion = nn.BCEWithLogitsLoss()

    def __call__(self, scores: Tensor, user: Tensor, items: Tensor) -> Tensor:
        target = torch.zeros_like(scores)
        target[:, 0] = 1.0
        return self._criterion(scores, target)


@register("neighbour")
class NeighbourObjective(Objective):
    """The customer lies nearer to the bought loaf than to the first negative."""

    def __init__(self) -> None:
        self._criterion = nn.TripletMarginLoss(margin=0.5)

    def __call__(self, scores: Tensor, user: Tensor, items: Tensor) -> Tensor:
        return self._criterion(user, items[:, 0], items[:, 1])


class Recommender(nn.Module):
    def __init__(self, users: int, items: int, dim: int) -> None:
        super().__init__()
        self.user_table = nn.Embedding(users, dim)
        self.item_table = nn.Embedding(items, dim)
        self.item_bias = nn.Embedding(items, 1)
        nn.init.normal_(self.user_table.weight, std=0.05)
        nn.init.normal_(self.item_table.weight, std=0.05)
        nn.init.zeros_(self.item_bias.weight)

    def forward(self, user_ids: Tensor, item_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        user, items = self.user_table(user_ids), self.item_table(item_ids)
        scores = torch.einsum("bd,bnd->bn", user, items) + self.item_bias(item_ids).squeeze(-1)
        return scores, user, items


class PurchaseSource:
    def __init__(self, settings: TrainingSettings) -> None:
        with np.load(settings.table) as table:
            self.pairs = torch.from_numpy(table["train"]).long()
            self.held_out = torch.from_numpy(table["held_out"]).long()
            self.users, self.items = int(table["users"]), int(table["items"])
        self._settings = settings

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        for part in torch.randperm(len(self.pairs)).split(self._settings.batch_size):
            pair = self.pairs[part]
            negatives = torch.randint(self.items, (len(part), self._settings.negatives))
            yield pair[:, 0], torch.cat([pair[:, 1:], negatives], dim=1)


class Trainer:
    def __init__(self, settings: TrainingSettings, source: PurchaseSource, model: Recommender) -> None:
        self._settings = settings
        self._source = source
        self._model = model
        self._terms = [(REGISTRY[name](), weight) for name, weight in settings.objectives]
        self._optimizer = torch.optim.Adam(
            model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    def _loss(self, user_ids: Tensor, item_ids: Tensor) -> Tensor:
        scores, user, items = self._model(user_ids, item_ids)
        total = scores.new_zeros(())
        for term, weight in self._terms:
            total = total + weight * term(scores, user, items)
        return total

    def train_epoch(self) -> float:
        self._model.train()
        steps, history = self._settings.accumulation_steps, []
        self._optimizer.zero_grad()
        for index, (user_ids, item_ids) in enumerate(self._source.batches(), start=1):
            loss = self._loss(user_ids, item_ids)
            (loss / steps).backward()
            history.append(loss.detach())
            if index % steps == 0:
                self._optimizer.step()
                self._optimizer.zero_grad()
        return torch.stack(history).mean().item()

    @torch.no_grad()
    def hit_rate(self, k: int = 10) -> float:
        self._model.eval()
        user_ids, bought = self._source.held_out.unbind(1)
        everything = torch.arange(self._source.items).expand(len(user_ids), -1)
        scores, _, _ = self._model(user_ids, everything)
        return (scores.topk(k, dim=1).indices == bought[:, None]).any(1).float().mean().item()

    def run(self) -> None:
        best = -1.0
        for epoch in range(self._settings.epochs):
            loss, rate = self.train_epoch(), self.hit_rate()
            logger.info("epoch %d loss %.4f hit rate %.4f", epoch, loss, rate)
            if rate > best:
                best = rate
                torch.save(self._model.state_dict(), "recommender.pt")


def main() -> int:
    logging.basicConfig(level=logging.INFO)
    settings = TrainingSettings()
    torch.manual_seed(settings.seed)
    source = PurchaseSource(settings)
    Trainer(settings, source, Recommender(source.users, source.items, settings.dim)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
