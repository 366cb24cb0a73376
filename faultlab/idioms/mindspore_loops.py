# ruff: noqa: E501
"""MindSpore: loops of one's own, with value_and_grad, TrainOneStepCell or GradOperation."""

from __future__ import annotations

from .composed import Kit

TEXT = """import math
import os
import time
import numpy as np
import pandas as pd
import mindspore as ms
from mindspore import Parameter, Tensor, amp, dataset, nn, ops
from mindspore.communication import get_group_size, get_rank, init
from mindspore.dataset import GeneratorDataset, NumpySlicesDataset, transforms, vision
from mindspore.common.initializer import HeUniform, Normal, One, Uniform, XavierUniform, Zero, initializer

$BEGIN
$CONTEXT
$READ


$MODEL


net = Network()
$LOAD
$LOSS
epochs = 20
steps = train_dataset.get_dataset_size()
$RATE
$OPTIM
$STEP
$EVAL
$LOOP
"""
BEGIN = (
    "ms.set_seed(42)\nnp.random.seed(42)",
    "def set_seed(seed=1234):\n    ms.set_seed(seed)\n    np.random.seed(seed)\n    dataset.config.set_seed(seed)\n\n\nset_seed()",
    "",
)
CONTEXT = (
    {
        "CONTEXT": "ms.set_context(mode=ms.GRAPH_MODE, device_target='Ascend')",
        "SHARD": "",
        "REDUCER": "",
        "REDUCE": "",
    },
    {"CONTEXT": "ms.set_context(mode=ms.PYNATIVE_MODE)\nms.set_device('Ascend', 0)"},
    {
        "CONTEXT": """ms.set_context(mode=ms.GRAPH_MODE, device_target='Ascend')
init('hccl')
rank_id, rank_size = get_rank(), get_group_size()
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=rank_size)
ms.set_seed(1)""",
        "SHARD": ", num_shards=rank_size, shard_id=rank_id",
        "REDUCER": "grad_reducer = nn.DistributedGradReducer(optimizer.parameters, True, rank_size)",
        "REDUCE": "grads = grad_reducer(grads)",
    },
)
DENSE = """class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.body = nn.SequentialCell(nn.Dense($WIDTH, 512), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(512, 512), nn.ReLU())
        self.head = nn.Dense(512, $CLASSES)

    def construct(self, x):
        return self.head(self.body(self.flatten(x)))"""
READ = (
    {
        "READ": """def datapipe(path, batch_size, training):
    images = dataset.MnistDataset(path, shuffle=training$SHARD)
    image_transforms = [vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.1307,), std=(0.3081,)), vision.HWC2CHW()]
    images = images.map(image_transforms, 'image')
    images = images.map(transforms.TypeCast(ms.int32), 'label')
    return images.batch(batch_size, drop_remainder=training)


train_dataset = datapipe('MNIST_Data/train', 64, True)
test_dataset = datapipe('MNIST_Data/test', 64, False)""",
        "WIDTH": "28 * 28",
        "CLASSES": "10",
        "MODEL": DENSE,
    },
    {
        "READ": """frame = pd.read_csv('covtype.csv')
labels = frame.pop('Cover_Type').values.astype(np.int32) - 1
features = frame.values.astype(np.float32)
order = np.random.RandomState(0).permutation(len(features))
cut = int(0.8 * len(order))
train_ids, test_ids = order[:cut], order[cut:]
mean, std = features[train_ids].mean(axis=0), features[train_ids].std(axis=0) + 1e-6
features = (features - mean) / std


class TableSource:
    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        row = self.ids[index]
        return features[row], labels[row]


train_dataset = GeneratorDataset(TableSource(train_ids), column_names=['data', 'label'], shuffle=True$SHARD).batch(256, drop_remainder=True)
test_dataset = GeneratorDataset(TableSource(test_ids), ['data', 'label'], shuffle=False).batch(256)""",
        "WIDTH": "features.shape[1]",
        "CLASSES": "7",
        "MODEL": DENSE,
    },
    {
        "READ": """train_images = np.load('cifar/x_train.npy').astype(np.float32) / 255.0
train_labels = np.load('cifar/y_train.npy').astype(np.int32).reshape(-1)
test_images = np.load('cifar/x_test.npy').astype(np.float32) / 255.0
test_labels = np.load('cifar/y_test.npy').astype(np.int32).reshape(-1)
mean = train_images.mean(axis=(0, 1, 2), keepdims=True)
std = train_images.std(axis=(0, 1, 2), keepdims=True)
train_images = ((train_images - mean) / std).transpose(0, 3, 1, 2)
test_images = ((test_images - mean) / std).transpose(0, 3, 1, 2)
train_dataset = NumpySlicesDataset((train_images, train_labels), column_names=['image', 'label'], shuffle=True$SHARD)
train_dataset = train_dataset.batch(128, drop_remainder=True)
test_dataset = NumpySlicesDataset({'image': test_images, 'label': test_labels}, shuffle=False).batch(128)""",
        "CLASSES": "10",
        "MODEL": """class Network(nn.Cell):
    def __init__(self, num_classes=$CLASSES):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, pad_mode='same', weight_init=HeUniform())
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, pad_mode='same', weight_init=HeUniform())
        self.bn2 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.dropout = nn.Dropout(p=0.3)
        self.fc1 = nn.Dense(64 * 8 * 8, 128, weight_init=Normal(0.02))
        self.fc2 = nn.Dense(128, num_classes, weight_init=Normal(0.02))

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.bn1(self.conv1(x))))
        x = self.max_pool2d(self.relu(self.bn2(self.conv2(x))))
        x = self.dropout(self.relu(self.fc1(self.flatten(x))))
        return self.fc2(x)""",
    },
    {
        "READ": """def load_reviews(path):
    texts, labels = [], []
    for label in ('pos', 'neg'):
        for name in sorted(os.listdir(os.path.join(path, label))):
            with open(os.path.join(path, label, name), encoding='utf-8') as f:
                texts.append(f.read().lower().split())
            labels.append(1 if label == 'pos' else 0)
    return texts, labels


train_texts, train_labels = load_reviews('aclImdb/train')
test_texts, test_labels = load_reviews('aclImdb/test')
counts = {}
for words in train_texts:
    for word in words:
        counts[word] = counts.get(word, 0) + 1
vocab = {'<pad>': 0, '<unk>': 1}
for word, count in sorted(counts.items(), key=lambda x: -x[1])[:20000]:
    vocab[word] = len(vocab)
max_len = 500


def encode(words):
    ids = [vocab.get(w, 1) for w in words][:max_len]
    return np.array(ids + [0] * (max_len - len(ids)), dtype=np.int32)


class Reviews:
    def __init__(self, texts, labels):
        self.texts, self.labels = texts, labels

    def __getitem__(self, i):
        return encode(self.texts[i]), np.int32(self.labels[i])

    def __len__(self):
        return len(self.texts)


train_dataset = GeneratorDataset(Reviews(train_texts, train_labels), ['text', 'label'], shuffle=True$SHARD).batch(64, drop_remainder=True)
test_dataset = GeneratorDataset(Reviews(test_texts, test_labels), ['text', 'label'], shuffle=False).batch(64)""",
        "CLASSES": "2",
        "MODEL": """class Network(nn.Cell):
    def __init__(self, vocab_size=len(vocab), dim=100, hidden=256, classes=$CLASSES):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, dropout=0.5, batch_first=True)
        self.fc = nn.Dense(hidden * 2, classes, weight_init=HeUniform(math.sqrt(5)), bias_init=Uniform(1 / math.sqrt(hidden * 2)))
        self.dropout = nn.Dropout(p=0.5)

    def construct(self, inputs):
        embedded = self.dropout(self.embedding(inputs))
        _, (hidden, _) = self.rnn(embedded)
        hidden = self.dropout(ops.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1))
        return self.fc(hidden)""",
    },
)
LOAD = (
    "",
    """if os.path.exists('pretrained.ckpt'):
    param_not_load, _ = ms.load_param_into_net(net, ms.load_checkpoint('pretrained.ckpt'))
    print(param_not_load)""",
)
LOSS = (
    "loss_fn = nn.CrossEntropyLoss()",
    "loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')",
    "def loss_fn(logits, label):\n    return ops.cross_entropy(logits, label)\n",
    "loss_fn = nn.CrossEntropyLoss(reduction='mean', label_smoothing=0.1)",
)
RATE = (
    "lr = 1e-3",
    "lr = nn.cosine_decay_lr(min_lr=1e-6, max_lr=1e-3, total_step=epochs * steps, step_per_epoch=steps, decay_epoch=epochs)",
    """class WarmUpCosine(nn.learning_rate_schedule.LearningRateSchedule):
    def __init__(self, peak, warmup_steps, total_steps):
        super().__init__()
        self.warm = nn.WarmUpLR(peak, warmup_steps)
        self.cosine = nn.CosineDecayLR(0.0, peak, total_steps - warmup_steps)
        self.warmup_steps = Tensor(warmup_steps, ms.int32)

    def construct(self, global_step):
        warm = self.warm(global_step)
        cosine = self.cosine(global_step - self.warmup_steps)
        return ops.select(global_step < self.warmup_steps, warm, cosine)


lr = WarmUpCosine(1e-3, steps, epochs * steps)""",
    "lr = nn.dynamic_lr.exponential_decay_lr(1e-3, 0.9, epochs * steps, steps, 2)",
)
OPTIM = (
    "optimizer = nn.Adam(net.trainable_params(), learning_rate=lr)",
    "optimizer = nn.AdamWeightDecay(net.trainable_params(), lr, weight_decay=0.01)",
    "optimizer = nn.Adam(params=net.trainable_params(), learning_rate=lr, beta1=0.9, beta2=0.999, weight_decay=1e-5)",
)
STEP = (
    """def forward_fn(data, label):
    logits = net(data)
    loss = loss_fn(logits, label)
    return loss, logits


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
$REDUCER


@ms.jit
def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    $REDUCE
    optimizer(grads)
    return loss

""",
    """loss_scaler = amp.DynamicLossScaler(scale_value=2 ** 10, scale_factor=2, scale_window=50)
net = amp.auto_mixed_precision(net, 'O2')


def forward_fn(data, label):
    logits = net(data)
    loss = loss_fn(logits, label)
    return loss_scaler.scale(loss), logits


grad_fn = ops.value_and_grad(forward_fn, None, net.trainable_params(), has_aux=True)
$REDUCER


def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    $REDUCE
    loss = loss_scaler.unscale(loss)
    is_finite = amp.all_finite(grads)
    if is_finite:
        grads = loss_scaler.unscale(grads)
        $CLIP
        optimizer(grads)
    loss_scaler.adjust(is_finite)
    return loss

""",
    """net_with_loss = nn.WithLossCell(net, loss_fn)
train_step = nn.TrainOneStepCell(net_with_loss, optimizer)
train_step.set_train()
""",
    """net_with_loss = nn.WithLossCell(net, loss_fn)
manager = nn.DynamicLossScaleUpdateCell(loss_scale_value=2 ** 12, scale_factor=2, scale_window=1000)
scaled_step = nn.TrainOneStepWithLossScaleCell(net_with_loss, optimizer, scale_sense=manager)
scaled_step.set_train()


def train_step(data, label):
    loss, overflow, scale = scaled_step(data, label)
    return loss

""",
    """class TrainStep(nn.Cell):
    def __init__(self, network, optimizer, clip=1.0):
        super().__init__()
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True)
        self.clip = clip

    def construct(self, data, label):
        loss = self.network(data, label)
        grads = self.grad(self.network, self.weights)(data, label)
        grads = ops.clip_by_global_norm(grads, self.clip)
        loss = ops.depend(loss, self.optimizer(grads))
        return loss


train_step = TrainStep(nn.WithLossCell(net, loss_fn), optimizer)
train_step.set_train()
""",
    """def forward(data, label):
    return loss_fn(net(data), label)


grad_fn = ms.value_and_grad(forward, grad_position=None, weights=optimizer.parameters)
$REDUCER


def train_step(data, label):
    loss, grads = grad_fn(data, label)
    $REDUCE
    $CLIP
    loss = ops.depend(loss, optimizer(grads))
    return loss

""",
)
EVAL = (
    """def test(model, data_loader):
    model.set_train(False)
    total, correct, test_loss = 0, 0, 0.0
    for data, label in data_loader.create_tuple_iterator():
        pred = model(data)
        total += len(data)
        test_loss += float(loss_fn(pred, label).asnumpy())
        correct += (pred.argmax(1) == label).asnumpy().sum()
    print(f'Test: accuracy {100 * correct / total:.2f}%, loss {test_loss / data_loader.get_dataset_size():.4f}')
    return correct / total

""",
    """def test(model, data_loader):
    metric = ms.train.Accuracy()
    metric.clear()
    model.set_train(False)
    for batch in data_loader.create_dict_iterator(num_epochs=1):
        data, label = batch.values()
        metric.update(model(data), label)
    acc = metric.eval()
    model.set_train(True)
    print('accuracy:', acc)
    return acc

""",
    """eval_net = nn.WithEvalCell(net, loss_fn)


def test(model, data_loader):
    eval_net.set_train(False)
    hits, seen = 0, 0
    for data, label in data_loader.create_tuple_iterator(num_epochs=1):
        _, outputs, targets = eval_net(data, label)
        hits += int((outputs.asnumpy().argmax(-1) == targets.asnumpy()).sum())
        seen += targets.shape[0]
    print('acc = %.4f' % (hits / seen))
    return hits / seen

""",
)
LOOP = (
    """for epoch in range(epochs):
    net.set_train()
    for batch, (data, label) in enumerate(train_dataset.create_tuple_iterator()):
        loss = train_step(data, label)
        if batch % 100 == 0:
            print(f'epoch {epoch} [{batch}/{steps}] loss: {loss.asnumpy():.6f}')
    test(net, test_dataset)
ms.save_checkpoint(net, 'last.ckpt')""",
    """train_iter = train_dataset.create_tuple_iterator(num_epochs=epochs)
for epoch in range(epochs):
    start = time.time()
    losses = []
    net.set_train(True)
    for data, label in train_iter:
        losses.append(train_step(data, label).asnumpy())
    print('epoch %d: loss %.4f, %.1f s' % (epoch + 1, np.mean(losses), time.time() - start))
ms.save_checkpoint(net, 'last.ckpt')
test(net, test_dataset)""",
    """def train_loop(model, data_loader, epoch):
    model.set_train(True)
    total = 0.0
    for i, batch in enumerate(data_loader.create_dict_iterator()):
        data, label = list(batch.values())
        loss = train_step(data, label)
        total += float(loss.asnumpy())
        if (i + 1) % 50 == 0:
            print(f'Epoch [{epoch}] step [{i + 1}/{steps}] loss {total / (i + 1):.4f}')


for t in range(epochs):
    print(f'Epoch {t + 1}\\n-------------------------------')
    train_loop(net, train_dataset, t)
    test(net, test_dataset)
ms.save_checkpoint(net, 'last.ckpt')
print('Done!')""",
)
CLIP = ("grads = ops.clip_by_global_norm(grads, 1.0)", "")
LOOPS = Kit(
    "mindspore_loops",
    TEXT,
    {
        "BEGIN": BEGIN,
        "CONTEXT": CONTEXT,
        "READ": READ,
        "LOAD": LOAD,
        "LOSS": LOSS,
        "RATE": RATE,
        "OPTIM": OPTIM,
        "STEP": STEP,
        "CLIP": CLIP,
        "EVAL": EVAL,
        "LOOP": LOOP,
    },
    apart=((("CONTEXT", 2), ("STEP", 4)),),
)
