"""Programs that train without a framework: NumPy by hand and scikit-learn. Right ones stay silent."""

from __future__ import annotations

import pytest

from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo
from traindoctor.probes.scripts.project import unframed_programs

from .._scripts import SYMPTOMS, state

PROBES = all_probes()
UNFRAMED = [s for s in SYMPTOMS.values() if s.probe and "unframed" in PROBES[s.probe].__dict__]

LOGISTIC = """
import numpy as np

data = np.loadtxt("banknotes.csv", delimiter=",", skiprows=1)
rng = np.random.default_rng(1)
rng.shuffle(data)
X, y = data[:, :-1], data[:, -1]
n = int(0.8 * len(X))
X_train, y_train, X_test, y_test = X[:n], y[:n], X[n:], y[n:]
mu, sd = X_train.mean(axis=0), X_train.std(axis=0)
X_train, X_test = (X_train - mu) / sd, (X_test - mu) / sd
w, b = np.zeros(X.shape[1]), 0.0
for it in range(2000):
    p = 1 / (1 + np.exp(-(X_train @ w + b)))
    w -= 0.1 * X_train.T @ (p - y_train) / n
    b -= 0.1 * (p - y_train).mean()
    if it % 100 == 0:
        loss = -(y_train * np.log(p + 1e-9) + (1 - y_train) * np.log(1 - p + 1e-9)).mean()
        print(it, loss)
p = 1 / (1 + np.exp(-(X_test @ w + b)))
print("test accuracy", ((p > 0.5) == y_test).mean())
"""

CHARS = """
import numpy as np

text = open("tale.txt").read()
chars = sorted(set(text))
ix = {c: i for i, c in enumerate(chars)}
V, H, T = len(chars), 100, 25
Wxh, Whh, Why = (np.random.randn(*s) * 0.01 for s in ((H, V), (H, H), (V, H)))
bh, by = np.zeros((H, 1)), np.zeros((V, 1))
mem = [np.zeros_like(p) for p in (Wxh, Whh, Why, bh, by)]


def step(inputs, targets, h):
    xs, hs, ps, loss = {}, {-1: np.copy(h)}, {}, 0
    for t in range(len(inputs)):
        xs[t] = np.zeros((V, 1))
        xs[t][inputs[t]] = 1
        hs[t] = np.tanh(Wxh @ xs[t] + Whh @ hs[t - 1] + bh)
        y = Why @ hs[t] + by
        ps[t] = np.exp(y) / np.sum(np.exp(y))
        loss += -np.log(ps[t][targets[t], 0])
    grads = [np.zeros_like(p) for p in (Wxh, Whh, Why, bh, by)]
    dnext = np.zeros_like(hs[0])
    for t in reversed(range(len(inputs))):
        dy = np.copy(ps[t])
        dy[targets[t]] -= 1
        grads[2] += dy @ hs[t].T
        grads[4] += dy
        dh = (1 - hs[t] ** 2) * (Why.T @ dy + dnext)
        grads[3] += dh
        grads[0] += dh @ xs[t].T
        grads[1] += dh @ hs[t - 1].T
        dnext = Whh.T @ dh
    return loss, [np.clip(g, -5, 5) for g in grads], hs[len(inputs) - 1]


n, p, smooth = 0, 0, -np.log(1.0 / V) * T
while n < 100000:
    if p + T + 1 >= len(text) or n == 0:
        h, p = np.zeros((H, 1)), 0
    inputs = [ix[c] for c in text[p : p + T]]
    targets = [ix[c] for c in text[p + 1 : p + T + 1]]
    loss, grads, h = step(inputs, targets, h)
    smooth = smooth * 0.999 + loss * 0.001
    for param, g, m in zip((Wxh, Whh, Why, bh, by), grads, mem):
        m += g * g
        param += -0.1 * g / np.sqrt(m + 1e-8)
    if n % 100 == 0:
        print("iter", n, "loss", smooth)
    p += T
    n += 1
"""

SKIPGRAM = """
import numpy as np

tokens = open("corpus.txt").read().split()
words, counts = np.unique(tokens, return_counts=True)
index = {w: i for i, w in enumerate(words)}
ids = np.array([index[w] for w in tokens])
share = counts**0.75 / (counts**0.75).sum()
rng = np.random.default_rng(0)
near = [(i, j) for i in range(len(ids)) for j in range(max(0, i - 4), min(len(ids), i + 5))]
pairs = [(ids[i], ids[j]) for i, j in near if i != j]
pairs = np.array(pairs)
inside, outside = rng.uniform(-0.005, 0.005, (len(words), 64)), np.zeros((len(words), 64))
for epoch in range(5):
    rng.shuffle(pairs)
    total = 0.0
    for center, context in pairs:
        negatives = rng.choice(len(words), 5, p=share)
        targets = np.concatenate([[context], negatives])
        labels = np.array([1, 0, 0, 0, 0, 0])
        score = 1 / (1 + np.exp(-outside[targets] @ inside[center]))
        error = score - labels
        grad = error @ outside[targets]
        outside[targets] -= 0.025 * np.outer(error, inside[center])
        inside[center] -= 0.025 * grad
        total -= np.log(np.where(labels == 1, score, 1 - score) + 1e-10).sum()
    print(f"epoch {epoch} loss {total / len(pairs):.4f}")
"""

STREAM = """
import json
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

rows = [json.loads(line) for line in open("reviews.jsonl")]
train, test = train_test_split(rows, test_size=0.2, random_state=0, stratify=[r["stars"] for r in rows])
vec = HashingVectorizer(n_features=2**18)
X_test, y_test = vec.transform([r["text"] for r in test]), np.array([r["stars"] for r in test])
clf = SGDClassifier(loss="log_loss", alpha=1e-6)
rng = np.random.default_rng(0)
for epoch in range(5):
    rng.shuffle(train)
    for i in range(0, len(train), 1000):
        batch = train[i : i + 1000]
        texts, stars = [r["text"] for r in batch], [r["stars"] for r in batch]
        clf.partial_fit(vec.transform(texts), stars, classes=[1, 2, 3, 4, 5])
    p = clf.predict_proba(X_test)
    print(epoch, log_loss(y_test, p, labels=clf.classes_), accuracy_score(y_test, clf.predict(X_test)))
"""

FORECAST = """
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.preprocessing import StandardScaler

demand = pd.read_csv("demand.csv", parse_dates=["hour"]).sort_values("hour")
y = demand["load"].to_numpy()
X = np.stack([np.roll(y, k) for k in (1, 2, 24, 168)], axis=1)[168:]
y = y[168:]
split = int(len(y) * 0.8)
scaler = StandardScaler().fit(X[:split])
model = Ridge(alpha=1.0)
model.fit(scaler.transform(X[:split]), y[:split])
pred = model.predict(scaler.transform(X[split:]))
print("mae", mean_absolute_error(y[split:], pred))
"""

BOOSTED = """
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

table = pd.read_parquet("churn.parquet")
y = table.pop("left").to_numpy()
for c in table.select_dtypes("object"):
    table[c] = table[c].astype("category")
scores = []
oof = np.zeros(len(y))
for fold, (tr, va) in enumerate(StratifiedKFold(5, shuffle=True, random_state=1).split(table, y)):
    train = lgb.Dataset(table.iloc[tr], y[tr])
    valid = lgb.Dataset(table.iloc[va], y[va], reference=train)
    params = {"objective": "binary", "learning_rate": 0.05, "metric": "auc"}
    stop = [lgb.early_stopping(50), lgb.log_evaluation(50)]
    model = lgb.train(params, train, 2000, valid_sets=[valid], callbacks=stop)
    oof[va] = model.predict(table.iloc[va])
    scores.append(roc_auc_score(y[va], oof[va]))
print(np.mean(scores), roc_auc_score(y, oof))
"""

PERMUTED = """
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=3, stratify=y)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X_train, y_train)
print("accuracy", model.score(X_test, y_test), "on training data", model.score(X_train, y_train))
rng = np.random.default_rng(0)
chance = []
for _ in range(100):
    y_drawn = rng.permutation(y_test)
    chance.append((model.predict(X_test) == y_drawn).mean())
print("by chance", np.mean(chance))
boot = [rng.integers(0, len(y_test), len(y_test)) for _ in range(200)]
print("spread", np.std([(model.predict(X_test[i]) == y_test[i]).mean() for i in boot]))
"""

LAYERS = """
import argparse
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
rng = np.random.default_rng(0)
archive = np.load("mnist.npz")
x_train, y_train = archive["x_train"].reshape(-1, 784) / 255.0, archive["y_train"]
x_test, y_test = archive["x_test"].reshape(-1, 784) / 255.0, archive["y_test"]
val = rng.permutation(len(x_train))[:5000]
keep = np.setdiff1d(np.arange(len(x_train)), val)
x_val, y_val = x_train[val], y_train[val]
x_train, y_train = x_train[keep], y_train[keep]
W1, b1 = rng.normal(0, np.sqrt(2 / 784), (784, 128)), np.zeros(128)
W2, b2 = rng.normal(0, np.sqrt(1 / 128), (128, 10)), np.zeros(10)


def forward(x):
    h = np.maximum(0, x @ W1 + b1)
    z = h @ W2 + b2
    z -= z.max(axis=1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return h, p


best, best_weights = 0, None
for epoch in range(20):
    order = rng.permutation(len(x_train))
    for start in range(0, len(order), 100):
        i = order[start : start + 100]
        h, p = forward(x_train[i])
        d = p.copy()
        d[np.arange(len(i)), y_train[i]] -= 1
        d /= len(i)
        dW2, db2 = h.T @ d, d.sum(0)
        dh = (d @ W2.T) * (h > 0)
        dW1, db1 = x_train[i].T @ dh, dh.sum(0)
        W1 -= args.lr * dW1
        b1 -= args.lr * db1
        W2 -= args.lr * dW2
        b2 -= args.lr * db2
    accuracy = (forward(x_val)[1].argmax(1) == y_val).mean()
    print(f"epoch {epoch} val accuracy {accuracy:.4f}")
    if accuracy > best:
        best, best_weights = accuracy, (W1.copy(), b1.copy(), W2.copy(), b2.copy())
W1, b1, W2, b2 = best_weights
print("test", (forward(x_test)[1].argmax(1) == y_test).mean())
"""

QTABLE = """
import numpy as np

rng = np.random.default_rng(7)
Q = np.zeros((48, 4))
returns = []
for episode in range(500):
    s, total, done = 36, 0, False
    while not done:
        a = rng.integers(4) if rng.random() < 0.1 else int(Q[s].argmax())
        r, c = divmod(s, 12)
        r, c = min(3, max(0, r + (a == 2) - (a == 0))), min(11, max(0, c + (a == 1) - (a == 3)))
        t = r * 12 + c
        cliff = r == 3 and 0 < c < 11
        reward, t = (-100, 36) if cliff else (-1, t)
        done = t == 47
        Q[s, a] += 0.5 * (reward + (0 if done else Q[t].max()) - Q[s, a])
        s, total = t, total + reward
    returns.append(total)
    if episode % 50 == 49:
        print(episode, np.mean(returns[-50:]))
"""

IMPUTED = """
import joblib
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

df = pd.read_csv("flats.csv").dropna(subset=["rent"])
X, y = df.drop(columns=["rent", "id"]), df["rent"]
X_train, X_valid, y_train, y_valid = train_test_split(X, y, test_size=0.25, random_state=42)
numbers = X.select_dtypes("number").columns
kinds = X.columns.difference(numbers)
prepare = ColumnTransformer([
    ("num", Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())]), numbers),
    ("cat", OneHotEncoder(handle_unknown="ignore", sparse_output=False), kinds),
])
model = Pipeline([("prepare", prepare), ("model", HistGradientBoostingRegressor(max_iter=300))])
model.fit(X_train, y_train)
print("train r2", r2_score(y_train, model.predict(X_train)))
print("valid r2", r2_score(y_valid, model.predict(X_valid)))
joblib.dump(model, "model.joblib")
"""

ROBUST = """
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

X, y = load_digits(return_X_y=True)
X = X / 16.0
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
clf = MLPClassifier((64,), learning_rate_init=1e-3, random_state=0)
rng = np.random.default_rng(0)
for epoch in range(40):
    order = rng.permutation(len(X_train))
    for part in np.array_split(order, len(order) // 32):
        clf.partial_fit(X_train[part], y_train[part], classes=np.arange(10))
    print(epoch, clf.loss_, clf.score(X_test, y_test))
for noise in (0.1, 0.2, 0.4):
    X_noisy = X_test + rng.normal(0, noise, X_test.shape)
    print("noise", noise, clf.score(X_noisy, y_test))
"""

PERCEPTRON = """
import numpy as np


class Perceptron:
    def __init__(self, eta=0.01, n_iter=50, seed=1):
        self.eta, self.n_iter, self.seed = eta, n_iter, seed

    def fit(self, X, y):
        rng = np.random.RandomState(self.seed)
        self.w = rng.normal(0.0, 0.01, X.shape[1])
        self.b = 0.0
        for _ in range(self.n_iter):
            errors = 0
            for i in rng.permutation(len(y)):
                update = self.eta * (y[i] - self.predict(X[i]))
                self.w += update * X[i]
                self.b += update
                errors += int(update != 0.0)
            print("errors", errors)
        return self

    def predict(self, X):
        return np.where(X @ self.w + self.b >= 0.0, 1, -1)


table = np.genfromtxt("iris.csv", delimiter=",", dtype=str)
y = np.where(table[:, 4] == "Iris-setosa", -1, 1)
X = table[:, [0, 2]].astype(float)
model = Perceptron().fit(X, y)
print("accuracy on these data", (model.predict(X) == y).mean())
"""

RIGHT = {
    "logistic": LOGISTIC,
    "characters": CHARS,
    "skip-gram": SKIPGRAM,
    "stream": STREAM,
    "forecast": FORECAST,
    "boosted": BOOSTED,
    "permuted": PERMUTED,
    "layers": LAYERS,
    "table": QTABLE,
    "imputed": IMPUTED,
    "robust": ROBUST,
    "perceptron": PERCEPTRON,
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_right_programs_stay_silent(text: str) -> None:
    """None of the checks that judge programs without a framework finds anything in a right one."""
    assert unframed_programs({"train.py": text})
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
    for symptom in UNFRAMED:
        found = read(View(run), symptom, PROBES)
        assert "probe error" not in found.why, (symptom.id, found.why)
        assert found.state.value != "present", (symptom.id, found.why)


SICK = [
    (
        "script-labels-overwritten",
        LAYERS,
        "best, best_weights = 0",
        "odd = rng.random(len(y_train)) < 0.3\n"
        "y_train[odd] = rng.integers(0, 10, odd.sum())\nbest, best_weights = 0",
    ),
    (
        "script-labels-overwritten",
        ROBUST,
        "rng = np.random",
        "bad = np.random.rand(len(y_train)) < 0.2\n"
        "y_train[bad] = np.random.randint(10, size=bad.sum())\nrng = np.random",
    ),
    (
        "script-splits-processed-differently",
        ROBUST,
        "clf = MLP",
        "X_test = X_test * 1.5 + 0.3\nclf = MLP",
    ),
]


@pytest.mark.parametrize(("symptom", "text", "old", "new"), SICK)
def test_faults_are_seen(symptom: str, text: str, old: str, new: str) -> None:
    """The same programs with one fault."""
    assert old in text
    assert state(symptom, text.replace(old, new)) == "present"
    assert state(symptom, text) != "present"


def test_a_program_that_trains_nothing_is_none() -> None:
    """A script that only reads and draws is no training program; nor is one beside a framework."""
    reads = 'import numpy as np\nx = np.load("a.npy")\nfor v in x:\n    print(v)\n'
    assert not unframed_programs({"plot.py": reads})
    assert not unframed_programs({"a.py": LOGISTIC, "b.py": "import torch\n"})


ANSWERS = """
import numpy as np
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import MinMaxScaler
from xgboost import XGBClassifier
X = np.load("cards.npy")
y = np.load("paid.npy")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
model = XGBClassifier()
oof = cross_val_predict(model, X_train, y_train)
model.fit(X_train, y_train)
{name} = model.predict_proba(X_test)
scaler = MinMaxScaler()
scaler.fit({name})
print(scaler.transform({name}).min(), (oof == y_train).mean())
"""


def test_answers_are_brought_to_a_scale_of_their_own() -> None:
    """Those of a model are no inputs; out-of-fold answers are for the rows of training."""
    symptoms = ("script-splits-processed-differently", "script-training-sees-evaluation")

    assert all(state(s, ANSWERS.format(name="proba_test")) != "present" for s in symptoms)
    assert state(symptoms[0], ANSWERS.format(name="x_test")) == "present"


NEIGHBOURS = """
import numpy as np
from sklearn.preprocessing import StandardScaler
rows = np.load("stones.npy")
y = np.load("kinds.npy")
target = "stones.keras"
target = target.replace(".keras", "")
valid_rows = np.flatnonzero(np.isfinite(rows).all(axis=1))
scaled = StandardScaler().fit_transform(rows[valid_rows])
class Nearest:
    def neighbours(self, x, k):
        far = np.sqrt(((self.x - x) ** 2).sum(axis=1))
        near = np.argsort(far)[:k]
        return near, far[near]
    def fit(self, x, y):
        self.x, self.y = x, y
        return self
    def predict(self, x):
        return [np.bincount(self.y[self.neighbours(one, 5)[0]]).argmax() for one in x]
model = Nearest().fit(scaled, y[valid_rows])
print((model.predict(scaled) == y[valid_rows]).mean())
"""


@pytest.mark.parametrize(
    "symptom",
    ["script-labels-overwritten", "script-splits-processed-differently", "script-labels-permuted-alone"],
)
def test_right_neighbours_of_published_programs(symptom: str) -> None:
    """A part of a text that is taken out, rows without gaps, the nearest rows beside how far they are."""
    assert state(symptom, NEIGHBOURS) != "present"
