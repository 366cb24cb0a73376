# ruff: noqa: E501
"""Written-out losses, loss scaling and pretrained weights in scripts: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

DICE = """
import torch
def dice_term(logits, target):
    {PROB}
    inter = (prob * target).sum()
    dice = (2 * inter + 1) / (prob.sum() + target.sum() + 1)
    return {BACK}
def total_loss(logits, target):
    return bce(logits, target) + {CALL}
"""


def _dice(
    prob: str = "prob = torch.sigmoid(logits)",
    back: str = "1 - dice",
    call: str = "dice_term(logits, target)",
) -> str:
    return DICE.replace("{PROB}", prob).replace("{BACK}", back).replace("{CALL}", call)


AMP = """
import torch
scaler = torch.amp.GradScaler("cuda"{ENABLED})
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x, y)
    {BACK}
    {STEP}
"""


def _amp(
    enabled: str = "",
    back: str = "scaler.scale(loss).backward()",
    step: str = "scaler.step(optimizer); scaler.update()",
) -> str:
    return AMP.replace("{ENABLED}", enabled).replace("{BACK}", back).replace("{STEP}", step)


TAPE = """
import tensorflow as tf
opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
with tf.GradientTape() as tape:
    loss = loss_of(model(x), y)
    scaled = {SCALED}
grads = tape.gradient(scaled, model.trainable_variables)
opt.apply_gradients(zip(grads, model.trainable_variables))
"""
HALF = """
import torch
from transformers import Trainer, AutoModel
model = AutoModel.from_pretrained("base"){HALF}
Trainer(model=model).train()
"""
LEVEL = (
    "import mindspore as ms\nfrom mindspore.train import Model\nmodel = Model(net, amp_level='O3'{MORE})\n"
)
READ = """
import mindspore as ms
params = ms.load_checkpoint(path)
print(len(params))
{USE}
"""
ANEW = """
import torch
def build(path):
    net = resnet18()
    net.load_state_dict(torch.load(path))
    {NEXT}
    return net
"""
FILL = """
import torch
def fill(path, weight):
    for i, row in enumerate(open(path)):
        weight[i] = parse(row)
{CALL}
"""
CLASSIFIER = """
import torch
from transformers import AutoTokenizer, AutoModelForSequenceClassification
tok = AutoTokenizer.from_pretrained("base")
model = AutoModelForSequenceClassification.{HOW}
"""
BACKBONE = """
import keras
body = keras.applications.ResNet50(include_top=False, weights={WEIGHTS})
body.trainable = False
"""
OUTPUT = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.out = tf.keras.layers.Dense(4{ACT})
    def call(self, x):
        return self.out(x)
net = Net()
loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=net(x))
"""
CASES = [
    ("script-overlap-loss-wrong", P, _dice(back="dice")),
    ("script-overlap-loss-wrong", P, _dice(prob="prob = logits * mask")),
    ("script-overlap-loss-wrong", A, _dice()),
    ("script-overlap-loss-wrong", A, _dice(back="dice", call="(1 - dice_term(logits, target))")),
    ("script-overlap-loss-wrong", U, "import torch\ndef dice(a, b):\n    return a / b\nprint(dice(x, y))\n"),
    ("script-class-weights-upside-down", P, "import torch\nclass_weights = counts / counts.sum()\n"),
    ("script-class-weights-upside-down", P, "import torch\npos_weight = n_pos / n_neg\n"),
    ("script-class-weights-upside-down", A, "import torch\nclass_weights = counts.sum() / (len(counts) * counts)\n"),
    ("script-class-weights-upside-down", A, "import torch\npos_weight = neg / pos\n"),
    ("script-class-weights-upside-down", A, "import torch\nclass_weights = 1.0 / (counts / counts.sum())\n"),
    ("script-class-weights-upside-down", U, "import torch\n"),
    ("script-loss-arguments-swapped", P, "import torch.nn.functional as F\nloss = F.cross_entropy(labels, logits)\n"),
    ("script-loss-arguments-swapped", A, "import torch.nn.functional as F\nloss = F.cross_entropy(logits, labels)\n"),
    ("script-loss-arguments-swapped", P, "import mindspore.ops as ops\nt = ops.one_hot(y, 5, off_value, on_value)\n"),
    ("script-loss-arguments-swapped", A, "import mindspore.ops as ops\nt = ops.one_hot(y, 5, on_value, off_value)\n"),
    ("script-loss-arguments-swapped", U, "import torch\n"),
    ("script-keras-output-activated", P, OUTPUT.replace("{ACT}", ", activation='sigmoid'")),
    ("script-keras-output-activated", A, OUTPUT.replace("{ACT}", "")),
    ("script-keras-output-activated", U, "import tensorflow as tf\n"),
    ("script-loss-wrong", P, _dice(back="dice")),
    ("script-scaler-without-effect", P, _amp(back="loss.backward()", step="optimizer.step()")),
    ("script-scaler-without-effect", P, _amp(enabled=", enabled=dtype != 'float16'")),
    ("script-scaler-without-effect", P, _amp(enabled=", enabled=dtype == torch.bfloat16")),
    ("script-scaler-without-effect", A, _amp(enabled=", enabled=dtype == 'float16'")),
    ("script-scaler-without-effect", A, _amp()),
    ("script-scaler-without-effect", P, TAPE.replace("{SCALED}", "loss")),
    ("script-scaler-without-effect", A, TAPE.replace("{SCALED}", "opt.scale_loss(loss)")),
    ("script-scaler-without-effect", P, "import keras\nkeras.mixed_precision.set_global_policy('float16')\n"),
    ("script-scaler-without-effect", U, "import keras\nkeras.mixed_precision.set_global_policy('mixed_float16')\n"),
    ("script-scaler-without-effect", P, HALF.replace("{HALF}", ".half()")),
    ("script-scaler-without-effect", A, HALF.replace("{HALF}", "")),
    ("script-scaler-without-effect", P, LEVEL.replace("{MORE}", "")),
    ("script-scaler-without-effect", A, LEVEL.replace("{MORE}", ", loss_scale_manager=manager")),
    ("script-loss-scale-missing", P, _amp(back="loss.backward()", step="optimizer.step()")),
    ("script-loss-scale-missing", A, _amp()),
    ("script-pretrained-lost", P, READ.replace("{USE}", "")),
    ("script-pretrained-lost", A, READ.replace("{USE}", "ms.load_param_into_net(net, params)")),
    ("script-pretrained-lost", P, ANEW.replace("{NEXT}", "net = resnet18(num_classes=3)")),
    ("script-pretrained-lost", A, ANEW.replace("{NEXT}", "net.fc = Linear(net.fc.in_features, 3)")),
    ("script-pretrained-lost", A, ANEW.replace("{NEXT}", "net = wrap(net)")),
    ("script-pretrained-lost", P, FILL.replace("{CALL}", "fill(path, model.emb.weight.clone())")),
    ("script-pretrained-lost", U, FILL.replace("{CALL}", "fill(path, model.emb.weight)")),
    ("script-pretrained-lost", P, CLASSIFIER.replace("{HOW}", "from_config(config)")),
    ("script-pretrained-lost", A, CLASSIFIER.replace("{HOW}", "from_pretrained('base')")),
    ("script-pretrained-lost", P, BACKBONE.replace("{WEIGHTS}", "None")),
    ("script-pretrained-lost", U, BACKBONE.replace("{WEIGHTS}", "'imagenet'")),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "wanted", "text"), CASES)
def test_objectives_scales_and_weights(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


def test_a_view_of_the_prediction_is_looked_through() -> None:
    text = "import torch\nfrom torch import nn\ncriterion = nn.CrossEntropyLoss()\nlogits = model(x).logits{SOFT}\nloss = criterion(logits.view(-1, 9), y.view(-1))\n"
    assert state("script-double-softmax", text.replace("{SOFT}", ".sigmoid()")) == P
    assert state("script-double-softmax", text.replace("{SOFT}", "")) == A


def test_a_model_beside_a_loss_of_its_own_class() -> None:
    text = """
import mindspore.nn as nn
import mindspore.ops as ops
class Net(nn.Cell):
    def construct(self, x):
        return {OUT}
class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ce = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    def construct(self, logit, label):
        return self.ce(logit, label)
net, loss = Net(), Loss()
"""
    assert state("script-double-softmax", text.replace("{OUT}", "ops.softmax(self.fc(x))")) == P
    assert state("script-double-softmax", text.replace("{OUT}", "self.fc(x)")) == A


def test_a_step_every_few_reports_is_no_accumulation() -> None:
    text = "import torch\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i, x in enumerate(loader):\n    net(x).sum().backward()\n    if i % {N} == 0:\n        opt.step()\n        opt.zero_grad()\n"
    assert state("script-accumulation-not-divided", text.replace("{N}", "accumulate")) == P
    assert state("script-accumulation-not-divided", text.replace("{N}", "log_every")) == U
