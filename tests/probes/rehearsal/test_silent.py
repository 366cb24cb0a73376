"""What looks like a fault to a judge and is right."""

from traindoctor.probes.registry import Finding, State
from traindoctor.probes.rehearsal.judges import unless_apart

from ._program import script, told

ROUNDS = ("    best, kept = 0.0, None\n", "    best, kept, history = 0.0, None, []\n")
KEPT = ("        acc = score(net, held)\n", "        acc = score(net, held)\n        history.append(acc)\n")


def test_a_mean_of_the_last_rounds_holds_earlier_answers() -> None:
    said = 'print(f"val acc {sum(history[-3:]) / 3:.3f}")'
    assert "not-reset" not in told(ROUNDS, KEPT, ('print(f"epoch {epoch} val acc {acc:.3f}")', said))


def test_a_mean_of_all_rounds_is_not_reset() -> None:
    said = 'print(f"val acc {sum(history) / len(history):.3f}")'
    assert "not-reset" in told(ROUNDS, KEPT, ('print(f"epoch {epoch} val acc {acc:.3f}")', said))


PLAYED = """
import torch
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters())
scores = []
for episode in range(100):
    state, total = env.reset(), 0.0
    for t in range(20):
        with torch.no_grad():
            a = net(torch.as_tensor(state)).argmax()
        state, r = env.step(a)
        total = total + r
    loss = net(torch.as_tensor(memory.sample())).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    scores.append(total)
    print(f"return {sum(scores):.1f}")
"""


def test_rewards_of_a_game_are_no_answers_to_rows() -> None:
    assert "not-reset" not in told(text=PLAYED)


PARTS = """
import torch, torchvision
net = torchvision.models.segmentation.fcn_resnet50(num_classes=3)
groups = [{"params": net.backbone.parameters()}, {"params": net.classifier.parameters()}]
opt = torch.optim.SGD(groups, lr=0.01)
for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*torch.load("d.pt")), 8):
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x)["out"], y).backward()
    opt.step()
"""


def test_parts_of_a_librarys_network_may_be_all_of_it() -> None:
    assert "left-out" not in told(text=PARTS)


POLARS = """
import polars as pl, torch
from torch import nn
df = pl.read_csv("houses.csv")
cols = [c for c, t in df.schema.items() if t.is_numeric() and c != "price"]
df = df.with_columns(pl.col("price").log1p().alias("y"))
x, y = torch.tensor(df.select(COLUMNS).to_numpy()), torch.tensor(df["y"].to_numpy())
net = nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters())
for xb, yb in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16):
    opt.zero_grad()
    nn.functional.mse_loss(net(xb).squeeze(1), yb).backward()
    opt.step()
"""


def test_columns_that_a_list_names_need_not_hold_the_target() -> None:
    assert "target-among-inputs" not in told(text=POLARS.replace("COLUMNS", "cols"))
    assert "target-among-inputs" not in told(text=POLARS.replace("COLUMNS", 'pl.all().exclude("y")'))


def test_a_target_among_named_columns() -> None:
    assert "target-among-inputs" in told(text=POLARS.replace("COLUMNS", '["rooms", "y"]'))


SPLIT = """
import pandas as pd, torch
from sklearn.model_selection import train_test_split
from torch import nn
df = pd.read_csv("flowers.csv")
y = torch.tensor(df.pop("kind").values)
x = torch.tensor(df.values)
x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.2, random_state=1)
net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters())
for epoch in range(5):
    loss = nn.functional.cross_entropy(net(x_tr), y_tr)
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        print("val acc", (net(SCORED[0]).argmax(1) == SCORED[1]).float().mean())
"""


def test_other_checks_are_silent_where_scored_rows_were_never_learnt_from() -> None:
    check = unless_apart(lambda _: Finding(State.PRESENT, "is the training data"))
    assert check(script(("SCORED[0]", "x_va"), ("SCORED[1]", "y_va"), text=SPLIT)) is None
    assert check(script(("SCORED[0]", "x_tr"), ("SCORED[1]", "y_tr"), text=SPLIT)) is not None
    assert check(script(("SCORED[0]", "other.x"), ("SCORED[1]", "other.y"), text=SPLIT)) is not None
