"""What books of idioms of other frameworks showed to be right, beside what is wrong."""

from __future__ import annotations

import pytest

from .._scripts import state

RECORDS = """
import tensorflow as tf

def input_fn(pattern, is_training):
    d = tf.data.Dataset.list_files(pattern, shuffle=False)
    if is_training:
        d = d.interleave(tf.data.TFRecordDataset, cycle_length=4)
        {SHUFFLE}
    else:
        d = d.flat_map(tf.data.TFRecordDataset)
    return d.map(decode).batch(32)

def model_fn(features, labels, mode):
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(features, 3))
    train_op = tf.train.AdamOptimizer(1e-3).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.Estimator(model_fn).train(lambda: input_fn("train*", True), steps=100)
"""


@pytest.mark.parametrize(("line", "told"), [("d = d.shuffle(9000).repeat()", "absent"), ("pass", "present")])
def test_files_that_are_read_on_the_other_branch_are_not_what_is_shuffled(line: str, told: str) -> None:
    found = state("script-order-fixed", RECORDS.replace("{SHUFFLE}", line))
    assert (found == "present") is (told == "present")


TEXTS = """
import numpy as np
import tensorflow as tf

texts, labels = read_folder("train")
test_texts, test_labels = read_folder("test")
order = np.random.RandomState(0).permutation(len(texts))
train_ids, val_ids = order[500:], order[:500]
train_texts, train_labels = [{EACH} for i in train_ids], labels[train_ids]
val_texts, val_labels = [texts[i] for i in val_ids], labels[val_ids]
layer = tf.keras.layers.TextVectorization()
layer.adapt(train_texts)
model = tf.keras.Sequential([tf.keras.layers.Embedding(9, 9), tf.keras.layers.Dense(1)])
model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(layer(train_texts), train_labels, validation_data=(layer(val_texts), val_labels))
print(model.evaluate(layer(test_texts), test_labels))
"""


def test_texts_that_are_chosen_by_a_comprehension_are_not_processed() -> None:
    assert state("script-splits-processed-differently", TEXTS.replace("{EACH}", "texts[i]")) != "present"


HUB = """
import numpy as np
from datasets import load_dataset
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments

pairs = load_dataset("kde4", lang1="en", lang2="fr")["train"].train_test_split(train_size=0.9, seed=20)
tokenizer = AutoTokenizer.from_pretrained("t5-small")
model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")

def prepare(rows):
    return tokenizer(rows["en"], text_target=rows["fr"], truncation=True)

coded = pairs.map(prepare, batched=True, remove_columns=pairs["train"].column_names)
held = coded["test"].train_test_split(test_size=0.5, seed=20)
trainer = Seq2SeqTrainer(
    model=model, args=Seq2SeqTrainingArguments("out", eval_strategy="epoch"),
    train_dataset=coded["train"], eval_dataset={EVAL},
)
trainer.train()
"""


@pytest.mark.parametrize(("held", "told"), [('held["train"]', False), ('coded["train"]', True)])
def test_parts_of_a_split_stay_apart_when_they_are_mapped(held: str, told: bool) -> None:
    found = state("script-training-sees-evaluation", HUB.replace("{EVAL}", held))
    assert (found == "present") is told


STEP = """
import mindspore as ms
from mindspore import nn, ops
from mindspore.dataset import GeneratorDataset

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.drop, self.head = nn.Dropout(p=0.2), nn.Dense(9, 3)

    def construct(self, x):
        return self.head(self.drop(x))

class TrainStep(nn.Cell):
    def __init__(self, network, optimizer):
        super().__init__()
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True)

    def construct(self, data, label):
        loss = self.network(data, label)
        grads = self.grad(self.network, self.weights)(data, label)
        return ops.depend(loss, self.optimizer(grads))

train_set = GeneratorDataset(Rows("train"), ["x", "y"], shuffle=True).batch(8)
test_set = GeneratorDataset(Rows("test"), ["x", "y"], shuffle=False).batch(8)
net, loss_fn = Net(), nn.CrossEntropyLoss()
step = TrainStep(nn.WithLossCell(net, loss_fn), nn.Adam(net.trainable_params()))
for epoch in range(5):
    net.set_train()
    for x, y in train_set.create_tuple_iterator():
        loss = step(x, y)
        print(epoch, loss.asnumpy())
    net.set_train({MODE})
    hits = 0
    for x, y in test_set.create_tuple_iterator():
        hits += (net(x).argmax(1) == y).asnumpy().sum()
    print("accuracy", hits)
"""


@pytest.mark.parametrize(("mode", "told"), [("False", False), ("True", True)])
def test_the_loss_of_a_training_cell_is_no_figure_of_held_out_data(mode: str, told: bool) -> None:
    assert (state("script-mode-wrong", STEP.replace("{MODE}", mode)) == "present") is told
