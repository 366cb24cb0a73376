"""What published programs do that run well, found in the part `tenth`: no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
STEP = """
def main(model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr={rate})
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# -------------------------------------------------------------- what is said of targets, and targets

PREPARED = (
    TORCH
    + STEP.replace("{rate}", "1e-3")
    + """

def prepare(data, {second}):
    return data, {second}


def tables(data, {second}, part):
    data = data.sample(frac=part)
    return prepare(data, {second})
"""
)


def test_how_targets_are_encoded_is_no_column_beside_the_data() -> None:
    assert _quiet("script-sample-torn-apart", PREPARED.replace("{second}", "target_encoding"))


def test_targets_beside_data_that_are_drawn_anew_are_told() -> None:
    assert state("script-sample-torn-apart", PREPARED.replace("{second}", "targets")) == "present"


# -------------------------------------------------------------------------------------- one file of a listing

SHARDS = (
    "import os\n"
    + TORCH
    + """
class Rows(torch.utils.data.Dataset):
    def __init__(self, folder):
        names = os.listdir(folder)
        names = [n for n in names if not n.endswith(".json")]
        {kept}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.load(self.rows[i])


def main(model, folder, epochs):
    rows = Rows(folder)
    sampler = torch.utils.data.DistributedSampler(rows)
    loader = torch.utils.data.DataLoader(rows, sampler=sampler, batch_size=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
)


def test_one_file_of_a_listing_is_no_list_of_shards() -> None:
    one = "if names:\n            self.rows = torch.load(os.path.join(folder, names[-1]))"
    assert _quiet("script-shards-unsorted", SHARDS.replace("{kept}", one))


def test_all_files_of_a_listing_that_processes_share_are_told() -> None:
    assert state("script-shards-unsorted", SHARDS.replace("{kept}", "self.rows = names")) == "present"


# ------------------------------------------------------------------ two loops over what is called alike

BARS = (
    "from tqdm import tqdm\n"
    + TORCH
    + """
def main(model, train_loader, val_rows, epochs):
    val_loader = torch.utils.data.DataLoader(val_rows)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        with tqdm(train_loader) as it:
            for x, y in it:
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        model.eval()
        total = 0.0
        with tqdm({scored}) as it:
            for x, y in it:
                with torch.no_grad():
                    total += F.cross_entropy(model(x), y).item()
        model.train()
        print(epoch, total)
"""
)


def test_bars_of_one_name_go_over_their_own_data() -> None:
    assert _quiet("script-evaluates-training-data", BARS.replace("{scored}", "val_loader"))


def test_a_bar_over_what_was_learnt_is_told() -> None:
    assert state("script-evaluates-training-data", BARS.replace("{scored}", "train_loader")) == "present"


RANGES = (
    "import numpy as np\n"
    + TORCH
    + """
def predict(model, rows, size, {flag}):
    {rows}
    return model(rows[index]).detach().numpy()


def main(model, train_data, size):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1000):
        loss = F.mse_loss(model(train_data[:size]), train_data[1 : size + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    test_answers = predict(model, train_data, size, False)
    train_answers = predict(model, train_data, size, True)
    print(np.abs(test_answers).mean(), np.abs(train_answers).mean())
"""
)


def test_a_flag_may_choose_the_rows_by_a_range() -> None:
    text = RANGES.replace("{flag}", "on_train").replace(
        "{rows}",
        "if on_train:\n        index = range(size)\n    else:\n        index = range(size, len(rows))",
    )
    assert _quiet("script-evaluates-training-data", text)


def test_a_flag_that_chooses_no_rows_is_told() -> None:
    text = RANGES.replace("{flag}", "verbose").replace(
        "{rows}", "if verbose:\n        print(size)\n    index = range(size)"
    )
    assert state("script-evaluates-training-data", text) == "present"


# ------------------------------------------------------------------------------------- what reaches the loss

TAPE = """import tensorflow as tf


def distance(x, delta=1.0):
    return tf.where(tf.abs(x) <= delta, x={inner}, y={outer})


class Agent(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.layers.Dense(4)
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    def call(self, x):
        return self.net(x)


agent = Agent()


def step(x, y):
    with tf.GradientTape() as tape:
        error = agent(x) - y
        loss = tf.reduce_mean(distance(error))
    gradients = tape.gradient(loss, agent.trainable_variables)
    agent.optimizer.apply_gradients(zip(gradients, agent.trainable_variables))
"""


def test_branches_that_are_handed_by_keyword_reach_the_loss() -> None:
    text = TAPE.replace("{inner}", "0.5 * tf.square(x)").replace("{outer}", "delta * tf.abs(x)")
    assert _quiet("script-wiring-wrong", text)


def test_a_loss_of_a_comparison_alone_is_told() -> None:
    text = TAPE.replace("{inner}", "0.0").replace("{outer}", "1.0")
    assert state("script-wiring-wrong", text) == "present"


COUNTED = (
    "import numpy as np\n"
    + TORCH
    + """
class Votes(nn.Module):
    def __init__(self):
        super().__init__()
        self.rates = nn.Linear(8, 8)

    def _counts(self, rows):
        return {counts}

    def forward(self, x):
        return self.rates(x)


def main(rows, x):
    model = Votes()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        seen = torch.from_numpy(model._counts({given}) / len(rows)).float()
        loss = ((seen - {mine}) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_counts_of_arrays_were_never_the_models() -> None:
    text = (
        COUNTED.replace("{counts}", "rows.T @ rows").replace("{given}", "rows").replace("{mine}", "model(x)")
    )
    assert _quiet("script-wiring-wrong", text)


def test_an_output_that_was_made_an_array_is_told() -> None:
    text = COUNTED.replace("{counts}", "self.rates(rows).detach().numpy()").replace("{given}", "x")
    assert state("script-wiring-wrong", text.replace("{mine}", "x")) == "present"


# --------------------------------------------------------------------------------------- models of elsewhere

NLL = (
    "{imported}\n"
    + TORCH
    + """
pipe = torch.nn.Sequential(nn.Identity())
model = {made}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def test(model, loader):
    model.eval()
    with torch.no_grad():
        return sum(F.nll_loss(model(x), y, reduction="sum").item() for x, y in loader)


for x, y in torch.load("rows.pt"):
    out = model(pipe(x))
    loss = F.nll_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
test(model, torch.load("held.pt"))
"""
)


def test_what_another_package_makes_may_give_logarithms() -> None:
    text = NLL.replace("{imported}", "from spikes.speech.model import lif_model")
    assert _quiet("script-loss-wrong", text.replace("{made}", "lif_model(n_output=13).to('cuda')"))


def test_scores_of_a_known_network_are_no_logarithms() -> None:
    text = NLL.replace("{imported}", "from torchvision.models import resnet18")
    assert (
        state("script-loss-wrong", text.replace("{made}", "resnet18(num_classes=13).to('cuda')")) == "present"
    )
