"""Faults that were known in some ways of writing, told in others; right programs that look like them."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
device = 'cuda'
"""
NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(20, 40)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(40, 5)

    def forward(self, x):
        return self.head(self.drop(F.relu(self.a(x))))


model = Net().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
LOADERS = """train_set, test_set = Rows('a.csv'), Rows('b.csv')
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=256)
"""
LEARNS = """for epoch in range(20):
    model.train()
    for x, y in train_loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
SCORES = """    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in test_loader:
            hits += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
            total += len(y)
    print(epoch, hits / total)
"""
WHOLE = HEAD + LOADERS + NET + LEARNS + SCORES


def test_a_loop_that_scores_training_data_beside_idle_held_out_data() -> None:
    symptom = "script-evaluates-training-data"
    swapped = WHOLE.replace("in test_loader", "in train_loader")
    both = WHOLE + SCORES.replace("test_loader", "train_loader").replace("hits", "seen")
    statistics = swapped.replace("hits += ", "feature_sum += ")

    assert state(symptom, swapped) == "present"
    assert state(symptom, swapped.replace("train_", "train").replace("test_", "test")) == "present"
    assert state(symptom, WHOLE) != "present"
    assert state(symptom, both) != "present"
    assert state(symptom, statistics) != "present"


SAMPLED = """from torch.utils.data.distributed import DistributedSampler
train_sampler = DistributedSampler(train_set, shuffle=True)
val_sampler = DistributedSampler(val_set, shuffle=False)
train_loader = DataLoader(train_set, batch_size=64, sampler=train_sampler)
val_loader = DataLoader(val_set, batch_size=64, sampler=val_sampler)
"""


@pytest.mark.parametrize("name", ["train", "val"])
def test_a_loader_that_reads_the_other_side_than_its_sampler_counts(name: str) -> None:
    symptom = "script-training-sees-evaluation"
    other = "val" if name == "train" else "train"
    right = HEAD + SAMPLED + NET + LEARNS + SCORES.replace("test_loader", "val_loader")
    crossed = right.replace(
        f"{name}_loader = DataLoader({name}_set", f"{name}_loader = DataLoader({other}_set"
    )

    assert state(symptom, crossed) == "present"
    assert state(symptom, right) != "present"


def test_names_that_are_written_together_say_their_side() -> None:
    symptom = "script-training-sees-evaluation"
    together = WHOLE.replace("train_", "train").replace("test_", "test")

    assert state(symptom, together) != "present"
    assert state(symptom, together.replace("DataLoader(trainset", "DataLoader(testset")) == "present"
    assert state(symptom, together.replace("y in trainloader", "y in testloader")) == "present"


def test_a_scale_that_begins_at_one_and_never_grows() -> None:
    symptom = "script-scaler-not-updated"
    program = """import torch
from torch.cuda.amp import GradScaler, autocast
scaler = GradScaler(MADE)
for x, y in loader:
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""

    assert state(symptom, program.replace("MADE", "init_scale=1.0, growth_interval=10**9")) == "present"
    assert state(symptom, program.replace("MADE", "init_scale=2.0, growth_factor=1.0")) == "present"
    assert state(symptom, program.replace("MADE", "")) == "absent"
    assert state(symptom, program.replace("MADE", "init_scale=1.0")) == "absent"
    assert state(symptom, program.replace("MADE", "init_scale=1024.0, growth_interval=10**9")) == "absent"


RESUMED = """scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
start = 0
if os.path.exists('last.pt'):
    ckpt = torch.load('last.pt')
    model.load_state_dict(ckpt['model'])
    optimizer.load_state_dict(ckpt['optimizer'])
    scheduler.load_state_dict(ckpt['scheduler'])
    start = ckpt['epoch'] + 1
"""
SAVED = """    scheduler.step()
    torch.save({'epoch': epoch, 'model': model.state_dict(), 'optimizer': optimizer.state_dict(),
                'scheduler': scheduler.state_dict()}, 'last.pt')
"""


@pytest.mark.parametrize("lost", ["optimizer", "scheduler"])
def test_a_resume_that_is_told_by_the_count_of_epochs(lost: str) -> None:
    symptom = "script-resume-incomplete"
    loop = LEARNS.replace("range(20)", "range(start, 20)")
    right = HEAD + LOADERS + NET + RESUMED + loop + SAVED
    line = f"    {lost}.load_state_dict(ckpt['{lost}'])\n"

    assert state(symptom, right) != "present"
    assert state(symptom, right.replace(line, "")) == "present"
    fine_tuned = right.replace("    start = ckpt['epoch'] + 1\n", "").replace("range(start, 20)", "range(20)")
    assert state(symptom, fine_tuned.replace(line, "")) != "present"


def test_a_softmax_before_the_loss_of_a_model_that_also_answers_without_targets() -> None:
    symptom = "script-double-softmax"
    program = """import torch
import torch.nn as nn
import torch.nn.functional as F
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(65, 64)
        self.head = nn.Linear(64, 65)
    def forward(self, idx, targets=None):
        logits = self.head(self.emb(idx))
        if targets is None:
            return logits, None
        B, T, C = logits.shape
        return logits, F.cross_entropy(logits.view(B * T, C), targets.view(B * T))
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -8:])
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits[:, -1, :], dim=-1), 1)), dim=1)
        return idx
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for it in range(1000):
    xb, yb = get_batch('train')
    logits, loss = model(xb, yb)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

    assert state(symptom, program.replace("view(B * T, C)", "view(B * T, C).softmax(-1)")) == "present"
    assert state(symptom, program) == "absent"


LIT = """import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    def forward(self, x):
        return self.model(x)
    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)
L.Trainer(max_epochs=5).fit(Lit(), loader)
"""


def test_scores_of_a_lightning_module_that_are_cut_at_zero() -> None:
    symptom = "script-operator-wrong"

    assert state(symptom, LIT.replace("nn.Linear(128, 10)", "nn.Linear(128, 10), nn.ReLU()")) == "present"
    assert state(symptom, LIT) != "present"


GRAPH = """import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv
class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(1433, 16)
        self.conv2 = GCNConv(16, 7)
    def forward(self, data):
        x = F.relu(self.conv1(data.x, data.edge_index))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.conv2(x, data.edge_index), dim=1)
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()
for epoch in range(200):
    optimizer.zero_grad()
    loss = F.nll_loss(model(data)[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
model.eval()
pred = model(data).argmax(dim=1)
correct = (pred[data.test_mask] == data.y[data.test_mask]).sum()
print(int(correct) / int(data.test_mask.sum()))
"""


def test_a_graph_that_is_scored_in_training_mode_or_whose_scores_are_no_logarithms() -> None:
    raw = GRAPH.replace(
        "F.log_softmax(self.conv2(x, data.edge_index), dim=1)", "self.conv2(x, data.edge_index)"
    )

    assert state("script-mode-wrong", GRAPH.replace("model.eval()\n", "")) == "present"
    assert state("script-mode-wrong", GRAPH) != "present"
    assert (
        state("script-mode-wrong", "# Monte Carlo dropout\n" + GRAPH.replace("model.eval()\n", ""))
        != "present"
    )
    assert state("script-loss-wrong", raw) == "present"
    assert state("script-loss-wrong", GRAPH) != "present"


def test_a_mode_that_changes_nothing_of_a_table_whose_columns_are_dropped() -> None:
    program = """import torch
import torch.nn as nn
df = df.drop(columns=['id'])
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
class Held(nn.Module):
    def forward(self, x):
        return net(x)
model = Held()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(100):
    model.train()
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(X_train), y_train)
    loss.backward()
    opt.step()
with torch.no_grad():
    print(nn.functional.mse_loss(model(X_test), y_test).item())
"""

    assert state("script-mode-wrong", program) != "present"


DETECTOR = """import torch, torchvision
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights='DEFAULT')
model.roi_heads.box_predictor = FastRCNNPredictor(model.roi_heads.box_predictor.cls_score.in_features, 2)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005)
for epoch in range(10):
    model.train()
    for images, targets in train_loader:
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
"""


def test_a_detector_without_gradients_or_with_its_losses_turned() -> None:
    quiet = DETECTOR.replace(
        "        loss_dict = model(images, targets)\n",
        "        with torch.no_grad():\n            loss_dict = model(images, targets)\n",
    ).replace("        losses.backward()", "        losses.requires_grad_(True)\n        losses.backward()")

    assert state("script-wiring-wrong", quiet) == "present"
    assert state("script-wiring-wrong", DETECTOR) != "present"
    assert (
        state("script-loss-negated", DETECTOR.replace("losses.backward", "(-losses).backward")) == "present"
    )
    assert state("script-loss-negated", DETECTOR) != "present"


def test_a_scaled_loss_that_is_cut_off() -> None:
    program = """import torch
import torch.nn as nn
import torch_npu
from torch.npu.amp import GradScaler, autocast
model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).npu()
loss_func = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler()
for imgs, labels in train_loader:
    with autocast():
        loss = loss_func(model(imgs), labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
    cut = program.replace("scale(loss).backward", "scale(loss).detach().requires_grad_(True).backward")

    assert state("script-wiring-wrong", cut) == "present"
    assert state("script-wiring-wrong", program) != "present"


PLAYED = """import torch
import torch.nn as nn
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4)
for update in range(100):
    rewards = torch.zeros(128)
    for step in range(128):
        obs, rewards[step], done, _, _ = env.step(act(obs))
    for epoch in range(4):
        loss = objective(agent, rewards)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
"""


def test_an_agent_whose_steps_are_those_of_its_world_alone() -> None:
    assert state("script-step-missing", PLAYED.replace("        optimizer.step()\n", "")) == "present"
    assert state("script-step-missing", PLAYED) != "present"


def test_a_loss_of_pairs_that_is_maximised() -> None:
    program = (
        HEAD
        + NET
        + """criterion = nn.TripletMarginLoss(margin=0.2)
for a, p, n in loader:
    loss = criterion(model(a), model(p), model(n))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    )

    assert state("script-loss-negated", program.replace("= criterion(", "= -criterion(")) == "present"
    assert state("script-loss-negated", program) != "present"


def test_right_answers_of_a_generator_by_the_number_of_batches() -> None:
    program = (
        HEAD
        + LOADERS
        + NET
        + LEARNS
        + """    model.eval()
    with torch.no_grad():
        hits = sum((model(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in test_loader)
    print(epoch, hits / len(test_loader.dataset))
"""
    )

    assert (
        state("script-metric-wrong", program.replace("len(test_loader.dataset)", "len(test_loader)"))
        == "present"
    )
    assert state("script-metric-wrong", program) != "present"


def test_a_softmax_over_the_samples_of_what_a_teacher_says() -> None:
    program = (
        HEAD
        + NET
        + """teacher.eval()
for x, y in train_loader:
    with torch.no_grad():
        soft = F.softmax(teacher(x) / 4.0, dim=1)
    loss = F.kl_div(F.log_softmax(model(x) / 4.0, dim=1), soft, reduction='batchmean')
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    )

    assert state("script-operator-wrong", program.replace("4.0, dim=1)\n", "4.0, dim=0)\n", 1)) == "present"
    assert state("script-operator-wrong", program) != "present"


def test_noise_as_a_class() -> None:
    program = """import torch
import torch.nn.functional as F
for step, batch in enumerate(loader):
    noise = torch.randn(batch.shape)
    loss = F.mse_loss(model(scheduler.add_noise(batch, noise, t), t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

    assert state("script-loss-wrong", program.replace("mse_loss", "cross_entropy")) == "present"
    assert state("script-loss-wrong", program) != "present"


def test_a_floor_under_one_side_is_no_other_processing() -> None:
    program = f"""import numpy as np
mu, sigma = np.mean(X_train, axis=0), np.std(X_train, axis=0)
X_train = (X_train - mu) / (sigma + 1e-7)
X_test = (X_test - mu) / sigma
train_set, test_set = Rows(X_train, y_train), Rows(X_test, y_test)
{WHOLE.replace("train_set, test_set = Rows('a.csv'), Rows('b.csv')", "")}"""
    other = program.replace("(X_test - mu) / sigma", "(X_test - mu) / (2 * sigma)")

    assert state("script-splits-processed-differently", program) != "present"
    assert state("script-splits-processed-differently", other) == "present"


def test_a_schedule_of_whole_rounds_beside_a_round_that_ends_early() -> None:
    program = (
        HEAD
        + LOADERS
        + NET
        + """total = 20 * len(train_loader)
warmup = int(0.05 * total)
def factor(step):
    return step / warmup if step < warmup else (total - step) / (total - warmup)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
for epoch in range(20):
    for i, (x, y) in enumerate(train_loader):
        if i >= 10:
            break
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
"""
    )

    assert state("script-schedule-wrong", program) != "present"
    assert state("script-training-data-cut", program) == "present"


def test_frozen_norms_of_a_network_in_keras_are_not_told_as_its_mode() -> None:
    program = """from tensorflow import keras
from tensorflow.keras import layers
model = keras.Sequential([layers.Dense(64, activation='relu', input_shape=(8,)), layers.BatchNormalization(),
                          layers.Dense(1, activation='sigmoid')])
for layer in model.layers[:-1]:
    layer.trainable = False
model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(X_train, y_train, epochs=50, batch_size=32)
"""

    assert state("script-eval-mode-while-training", program) != "present"
    assert state("script-part-not-trained", program) == "present"


def test_a_dataset_of_mindspore_that_is_read_in_order_from_the_training_files() -> None:
    program = """import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
def create(size):
    data = ds.MnistDataset('MNIST_Data/train', shuffle=False)
    return data.batch(size)
net = nn.Dense(784, 10)
optimizer = nn.SGD(net.trainable_params(), 1e-2)
grad_fn = ms.value_and_grad(forward, None, net.trainable_params())
for epoch in range(10):
    for image, label in create(32):
        loss, grads = grad_fn(image, label)
        optimizer(grads)
"""

    assert state("script-loader-keeps-order", program) == "present"
    assert state("script-loader-keeps-order", program.replace(", shuffle=False", "")) != "present"
