"""Song of crickets: seven species from log-mel frames, a GradientTape loop."""
import os
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass
class Options:
    folder: str = 'songs'
    batch: int = 64
    epochs: int = 30
    rate: float = 1e-3
    species: int = 7
    patience: int = 6


opt = Options()
tf.keras.utils.set_random_seed(12)


def rows(part):
    with np.load(os.path.join(opt.folder, part + '.npz')) as z:
        return z['mel'].astype('float32')[..., None], z['species'].astype('int32')


train_x, train_y = rows('train')
valid_x, valid_y = rows('valid')
test_x, test_y = rows('test')
mean, dev = train_x.mean(), train_x.std()


def dataset(x, y, training=False):
    ds = tf.data.Dataset.from_tensor_slices(((x - mean) / dev, y))
    if training:
        ds = ds.shuffle(len(x), reshuffle_each_iteration=True)
    return ds.batch(opt.batch).prefetch(tf.data.AUTOTUNE)


train_ds = dataset(train_x, train_y, training=True)
valid_ds = dataset(valid_x, valid_y)
test_ds = dataset(test_x, test_y)


class SongNet(tf.keras.Model):
    def __init__(self, species):
        super().__init__()
        self.convs = [tf.keras.layers.Conv2D(c, 3, padding='same', use_bias=False) for c in (16, 32, 64)]
        self.norms = [tf.keras.layers.BatchNormalization() for _ in self.convs]
        self.pool = tf.keras.layers.MaxPooling2D()
        self.mean = tf.keras.layers.GlobalAveragePooling2D()
        self.drop = tf.keras.layers.Dropout(0.3)
        self.out = tf.keras.layers.Dense(species)

    def call(self, x, training=False):
        for conv, norm in zip(self.convs, self.norms):
            x = self.pool(tf.nn.relu(norm(conv(x), training=training)))
        return self.out(self.drop(self.mean(x), training=training))


net = SongNet(opt.species)
optimizer = tf.keras.optimizers.Adam(opt.rate)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = tf.keras.metrics.Mean()
valid_loss = tf.keras.metrics.Mean()
valid_acc = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, net(x, training=True))
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    train_loss.update_state(loss, sample_weight=tf.shape(x)[0])


@tf.function
def valid_step(x, y):
    logits = net(x, training=False)
    valid_loss.update_state(loss_of(y, logits), sample_weight=tf.shape(x)[0])
    valid_acc.update_state(y, logits)


def confusion(ds):
    table = np.zeros((opt.species, opt.species), dtype=np.int64)
    for x, y in ds:
        found = tf.argmax(net(x, training=False), axis=-1).numpy()
        np.add.at(table, (y.numpy(), found), 1)
    return table


def macro_f1(table):
    hit = np.diag(table).astype(float)
    precision = hit / np.maximum(table.sum(0), 1)
    recall = hit / np.maximum(table.sum(1), 1)
    return np.mean(2 * precision * recall / np.maximum(precision + recall, 1e-12))


best, best_weights, waited = 0.0, None, 0
for epoch in range(opt.epochs):
    train_loss.reset_state()
    valid_loss.reset_state()
    valid_acc.reset_state()
    for x, y in train_ds:
        train_step(x, y)
    for x, y in valid_ds:
        valid_step(x, y)
    f1 = macro_f1(confusion(valid_ds))
    print(f'{epoch} loss {train_loss.result():.4f} val {valid_loss.result():.4f} acc {valid_acc.result():.3f} f1 {f1:.3f}')
    if f1 > best:
        best, waited = f1, 0
        best_weights = net.get_weights()
    else:
        waited += 1
        if waited >= opt.patience:
            break

net.set_weights(best_weights)
table = confusion(test_ds)
print('test f1', macro_f1(table), 'accuracy', np.trace(table) / table.sum())
