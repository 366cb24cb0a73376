# %% [markdown]
# Sentiment of short remarks with an LSTM (MindSpore 1.8)

# %%
import os
import random
import tarfile

import mindspore
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.numpy as mnp
import mindspore.ops as ops
import numpy as np
from mindspore import Parameter, Tensor, context
from mindspore.common.initializer import HeUniform, Uniform
from tqdm import tqdm

context.set_context(mode=context.GRAPH_MODE, device_target="CPU")
mindspore.set_seed(5)
random.seed(5)
np.random.seed(5)

ROOT = "remarks"
EPOCHS, BATCH, MAX_LEN = 8, 64, 200
HIDDEN, LAYERS, DROP, RATE = 256, 2, 0.5, 1e-3


# %%
def read(split):
    """[(tokens, 0 or 1)] of a split."""
    rows = []
    for name, label in (("neg", 0), ("pos", 1)):
        folder = os.path.join(ROOT, split, name)
        for file in sorted(os.listdir(folder)):
            with open(os.path.join(folder, file), encoding="utf-8") as handle:
                rows.append((handle.read().lower().split(), label))
    return rows


rows = read("train")
random.shuffle(rows)
cut = int(0.7 * len(rows))
train_rows, valid_rows, test_rows = rows[:cut], rows[cut:], read("test")

counts = {}
for words, _ in train_rows:
    for word in words:
        counts[word] = counts.get(word, 0) + 1
words = sorted((w for w, n in counts.items() if n > 2), key=lambda w: (-counts[w], w))[:30000]
vocab = {w: i + 2 for i, w in enumerate(words)}  # 0: padding, 1: unknown


class Remarks:
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        tokens, label = self.rows[i]
        ids = [vocab.get(t, 1) for t in tokens[:MAX_LEN]] or [1]
        padded = np.zeros(MAX_LEN, np.int32)
        padded[:len(ids)] = ids
        return padded, np.int32(len(ids)), np.array([label], np.float32)


def batches(rows, training):
    data = ds.GeneratorDataset(Remarks(rows), column_names=["ids", "length", "label"], shuffle=training)
    return data.batch(BATCH, drop_remainder=training)


train_data, valid_data, test_data = batches(train_rows, True), batches(valid_rows, False), batches(test_rows, False)


# %%
class RNN(nn.Cell):
    """Embedding, two-way LSTM, last states, one logit."""

    def __init__(self, vocab_size, dim, hidden, layers, drop):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0, embedding_table=Uniform(0.1))
        self.rnn = nn.LSTM(dim, hidden, num_layers=layers, bidirectional=True, dropout=drop, batch_first=True)
        self.fc = nn.Dense(2 * hidden, 1, weight_init=HeUniform(5 ** 0.5))
        self.dropout = nn.Dropout(1 - drop)

    def construct(self, ids, length):
        embedded = self.dropout(self.embedding(ids))
        _, (hidden, _) = self.rnn(embedded, seq_length=length)
        hidden = ops.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1)
        return self.fc(self.dropout(hidden))


class WithLoss(nn.Cell):
    def __init__(self, net, loss_fn):
        super().__init__()
        self.net = net
        self.loss_fn = loss_fn

    def construct(self, ids, length, label):
        return self.loss_fn(self.net(ids, length), label)


class TrainOneStep(nn.TrainOneStepCell):
    """One update with clipped gradients."""

    def __init__(self, network, optimizer, clip):
        super().__init__(network, optimizer)
        self.clip = clip

    def construct(self, ids, length, label):
        loss = self.network(ids, length, label)
        sens = ops.ones_like(loss)
        grads = self.grad(self.network, self.weights)(ids, length, label, sens)
        grads = self.grad_reducer(grads)
        grads = ops.clip_by_global_norm(grads, self.clip)
        return ops.depend(loss, self.optimizer(grads))


net = RNN(len(vocab) + 2, 100, HIDDEN, LAYERS, DROP)
loss_fn = nn.BCEWithLogitsLoss(reduction="mean")
optimizer = nn.Adam(net.trainable_params(), learning_rate=RATE)
train_one_step = TrainOneStep(WithLoss(net, loss_fn), optimizer, 5.0)


# %%
def train_epoch(epoch):
    train_one_step.set_train(True)
    total = 0.0
    with tqdm(total=train_data.get_dataset_size(), desc=f"epoch {epoch}") as bar:
        for step, (ids, length, label) in enumerate(train_data.create_tuple_iterator()):
            loss = train_one_step(ids, length, label)
            total += float(loss.asnumpy())
            bar.set_postfix(loss=total / (step + 1))
            bar.update(1)


def evaluate(data):
    net.set_train(False)
    right = total = 0
    loss = 0.0
    for ids, length, label in data.create_tuple_iterator():
        logits = net(ids, length)
        loss += float(loss_fn(logits, label).asnumpy()) * len(label)
        guess = ops.sigmoid(logits).asnumpy() > 0.5
        right += (guess == (label.asnumpy() > 0.5)).sum()
        total += len(label)
    return loss / total, right / total


# %%
best_loss = float("inf")
for epoch in range(EPOCHS):
    train_epoch(epoch)
    valid_loss, valid_acc = evaluate(valid_data)
    print(f"epoch {epoch}: valid loss {valid_loss:.4f}, accuracy {valid_acc:.4f}")
    if valid_loss < best_loss:
        best_loss = valid_loss
        mindspore.save_checkpoint(net, "remarks.ckpt")

# %%
mindspore.load_param_into_net(net, mindspore.load_checkpoint("remarks.ckpt"))
print("test:", evaluate(test_data))
