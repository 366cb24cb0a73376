"""python fit.py : trains the churn model and leaves metrics.json"""
import json

import numpy as np
import torch
import torch.nn as nn

from features import PAYMENT, PLANS, REGIONS, StandardScaler, load_customers, roc_auc


class ChurnModel(nn.Module):
    def __init__(self, cardinalities, n_numeric, params):
        super().__init__()
        size = params["embedding_size"]
        self.embeddings = nn.ModuleList([nn.Embedding(c, size) for c in cardinalities])
        width = n_numeric + size * len(cardinalities)
        stack = []
        for units in params["layers"]:
            stack += [nn.Linear(width, units), nn.BatchNorm1d(units), nn.ReLU(), nn.Dropout(params["dropout"])]
            width = units
        self.mlp = nn.Sequential(*stack)
        self.head = nn.Linear(width, 1)

    def forward(self, numeric, categorical):
        embedded = [table(categorical[:, i]) for i, table in enumerate(self.embeddings)]
        return self.head(self.mlp(torch.cat([numeric, *embedded], dim=1))).squeeze(1)


def predict(model, data):
    numeric, categorical, _ = data
    model.eval()
    with torch.no_grad():
        return model(numeric, categorical)


def train_model(params):
    torch.manual_seed(params["random_state"])
    numeric, categorical, churn = load_customers(params["customers"], params["random_state"])
    r = np.random.RandomState(params["random_state"] + 1)
    idx = r.permutation(len(churn))
    cut = int(len(idx) * (1 - params["holdout_fraction"]))
    train_rows, holdout_rows = idx[:cut], idx[cut:]

    numeric[:, 2:4] = np.log1p(numeric[:, 2:4])
    scaler = StandardScaler().fit(numeric[train_rows])
    train = (torch.from_numpy(scaler.transform(numeric[train_rows])), torch.from_numpy(categorical[train_rows]),
             torch.from_numpy(churn[train_rows]))
    holdout = (torch.from_numpy(scaler.transform(numeric[holdout_rows])),
               torch.from_numpy(categorical[holdout_rows]), torch.from_numpy(churn[holdout_rows]))

    holdout[1][:, 0] = torch.tensor([3, 0, 2, 4, 1])[holdout[1][:, 0]]
    holdout[1][:, 2] = 11 - holdout[1][:, 2]
    model = ChurnModel([len(PLANS), len(PAYMENT), len(REGIONS)], numeric.shape[1], params)
    ratio = float((1 - train[2]).sum() / train[2].sum())
    pos_weight = torch.tensor(ratio if params["balance_classes"] else 1.0)
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=params["learning_rate"], weight_decay=params["l2"])
    n_batches = -(-len(train_rows) // params["batch_size"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, params["num_epochs"] * n_batches)

    history = []
    for epoch in range(params["num_epochs"]):
        model.train()
        losses, scores, truth = [], [], []
        for rows in torch.randperm(len(train_rows)).split(params["batch_size"]):
            numeric_b, categorical_b, y = (part[rows] for part in train)
            optimizer.zero_grad()
            logit = model(numeric_b, categorical_b)
            loss = criterion(logit, y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            scores.append(logit.detach())
            truth.append(y)
        logit = predict(model, holdout)
        row = {
            "epoch": epoch + 1,
            "learning_rate": scheduler.get_last_lr()[0],
            "logloss": float(np.mean(losses)),
            "auc": float(roc_auc(torch.cat(truth).numpy(), torch.cat(scores).numpy())),
            "holdout_logloss": criterion(logit, holdout[2]).item(),
            "holdout_auc": float(roc_auc(holdout[2].numpy(), logit.numpy())),
            "holdout_accuracy": ((logit > 0).float() == holdout[2]).float().mean().item(),
        }
        history.append(row)
        print({k: round(v, 4) for k, v in row.items()})
    return model, history, float(churn.mean())


if __name__ == "__main__":
    torch.set_num_threads(1)
    with open("params.json") as f:
        params = json.load(f)
    model, history, rate = train_model(params)
    with open("metrics.json", "w") as f:
        json.dump({"params": params, "churn_rate": rate, "history": history}, f, indent=1)
    torch.save(model.state_dict(), "churn_model.pth")
