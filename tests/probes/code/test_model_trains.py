"""MindSpore's Model puts its network into training mode by itself; a loop of one's own does not."""

from .._scripts import state

MODEL = """
import mindspore as ms
from mindspore import nn
net = Net()
def dice(net, data):
    net.set_train(False)
    return sum(score(net(x), y) for x, y in data.create_tuple_iterator())
loss, opt = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), learning_rate=1e-3)
model = ms.Model(net, loss_fn=loss, optimizer=opt)
model.train(20, train_set)
print(dice(net, test_set))
"""


def test_a_model_that_trains_sets_its_mode() -> None:
    assert state("script-eval-mode-while-training", MODEL) != "present"


def test_a_loop_of_ones_own_does_not() -> None:
    begin = MODEL.index("model = ")
    own = (
        MODEL[:begin]
        + """
grad = ms.value_and_grad(lambda x, y: loss(net(x), y), None, opt.parameters)
for epoch in range(20):
    net.set_train(False)
    for x, y in train_set.create_tuple_iterator():
        value, grads = grad(x, y)
        opt(grads)
"""
    )
    own = own.replace(MODEL[MODEL.index("def dice") : MODEL.index("loss, opt")], "")
    assert state("script-eval-mode-while-training", own) == "present"
