import json

import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader

from dataset import N_FILMS, N_GENRES, N_USERS, load


class Recommender(nn.Module):
    def __init__(self, dim, hidden, dropout, mean_rating):
        super().__init__()
        self.users = nn.Embedding(N_USERS, dim)
        self.films = nn.Embedding(N_FILMS, dim)
        self.user_bias = nn.Embedding(N_USERS, 1)
        self.film_bias = nn.Embedding(N_FILMS, 1)
        for table in (self.users, self.films):
            nn.init.normal_(table.weight, std=0.1)
        for table in (self.user_bias, self.film_bias):
            nn.init.zeros_(table.weight)
        layers, width = [], 2 * dim + N_GENRES + 2
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
            width = size
        self.mlp = nn.Sequential(*layers, nn.Linear(width, 1))
        self.register_buffer("mean_rating", torch.tensor(float(mean_rating)))

    def forward(self, user, film, features):
        x = torch.cat([self.users(user), self.films(film), features], dim=-1)
        bias = self.user_bias(user) + self.film_bias(film)
        return (self.mlp(x) + bias).squeeze(-1) + self.mean_rating


def evaluate(model, loader):
    model.eval()
    squared, absolute, count = 0.0, 0.0, 0
    with torch.no_grad():
        for user, film, features, stars in loader:
            error = model(user, film, features) - stars
            squared += error.pow(2).sum().item()
            absolute += error.abs().sum().item()
            count += len(stars)
    model.train()
    return {"val_loss": squared / count, "val_rmse": (squared / count) ** 0.5, "val_mae": absolute / count}


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    torch.manual_seed(cfg["seed"])
    train_set, val_set, mean_rating = load(cfg["val_fraction"])
    train_loader = DataLoader(train_set, batch_size=cfg["batch_size"], shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=1000)

    model = Recommender(cfg["embedding_dim"], cfg["hidden"], cfg["dropout"], mean_rating)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["learning_rate"], weight_decay=cfg["weight_decay"])
    total = cfg["epochs"] * len(train_loader)
    warmup = cfg["warmup_steps"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, (total - s) / (total - warmup))
    )
    criterion = nn.MSELoss()
    best = float("inf")
    log = open("log.jsonl", "w")

    step, running = 0, 0.0
    for epoch in range(1, cfg["epochs"] + 1):
        for user, film, features, stars in train_loader:
            loss = criterion(model(user, film, features), stars)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            running += loss.item()
            if step % cfg["log_every"] == 0:
                row = {"epoch": epoch, "step": step, "loss": round(running / cfg["log_every"], 4)}
                log.write(json.dumps({**row, "lr": scheduler.get_last_lr()[0]}) + "\n")
                running = 0.0
        metrics = {k: round(v, 4) for k, v in evaluate(model, val_loader).items()}
        log.write(json.dumps({"epoch": epoch, "step": step, **metrics}) + "\n")
        log.flush()
        if metrics["val_rmse"] < best:
            best = metrics["val_rmse"]
            torch.save(model.state_dict(), "best.pt")
    log.write(json.dumps({"best_val_rmse": best}) + "\n")
    log.close()


if __name__ == "__main__":
    main()
