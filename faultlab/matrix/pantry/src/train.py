"""Tags the words of ingredient lines (quantity, unit, food, remark) with a small Keras model."""
import csv
import random

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MAX_WORDS = 24
BATCH = 64
EPOCHS = 25
TAGS = ["O", "QUANTITY", "UNIT", "FOOD", "REMARK"]
PAD_TAG = 0  # tags begin at 1, 0 is behind the end of the line


def read_lines(path):
    """Sentences as pairs of words and tags; an empty row ends a sentence."""
    lines, words, tags = [], [], []
    with open(path, encoding="utf-8", newline="") as handle:
        for row in csv.reader(handle, delimiter="\t"):
            if not row:
                if words:
                    lines.append((words, tags))
                words, tags = [], []
                continue
            words.append(row[0].lower())
            tags.append(row[1])
    if words:
        lines.append((words, tags))
    return lines


def make_vocabulary(lines):
    counts = {}
    for words, _ in lines:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    kept = sorted(w for w, c in counts.items() if c > 1)
    return {w: i + 2 for i, w in enumerate(kept)}


tag_ids = {tag: i + 1 for i, tag in enumerate(TAGS)}


def to_arrays(lines, word_ids):
    x = np.zeros((len(lines), MAX_WORDS), dtype="int32")
    y = np.full((len(lines), MAX_WORDS), PAD_TAG, dtype="int32")
    for i, (words, tags) in enumerate(lines):
        words, tags = words[:MAX_WORDS], tags[:MAX_WORDS]
        x[i, : len(words)] = [word_ids.get(w, 1) for w in words]
        y[i, : len(tags)] = [tag_ids[t] for t in tags]
    weight = (y != PAD_TAG).astype("float32")
    return x, y, weight


def make_dataset(arrays, training):
    ds = tf.data.Dataset.from_tensor_slices(arrays)
    if training:
        ds = ds.shuffle(len(arrays[0]), seed=3)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def make_model(n_words):
    inputs = keras.Input((MAX_WORDS,), dtype="int32")
    h = layers.Embedding(n_words, 64, mask_zero=True)(inputs)
    h = layers.SpatialDropout1D(0.2)(h)
    h = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(h)
    outputs = layers.Dense(len(TAGS) + 1, activation="softmax")(h)
    return keras.Model(inputs, outputs)


random.seed(3)
keras.utils.set_random_seed(3)

train_lines = read_lines("ingredients_train.tsv")
valid_lines = read_lines("ingredients_valid.tsv")
word_ids = make_vocabulary(train_lines)
train_ds = make_dataset(to_arrays(train_lines, word_ids), training=True)
valid_ds = make_dataset(to_arrays(valid_lines, word_ids), training=False)

model = make_model(len(word_ids) + 2)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3, clipnorm=1.0),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    weighted_metrics=["accuracy"],
)
model.fit(
    train_ds,
    validation_data=valid_ds,
    epochs=EPOCHS,
    callbacks=[keras.callbacks.EarlyStopping("val_loss", patience=4, restore_best_weights=True)],
)
model.save("pantry.keras")

# one line as an example
example = "2 cups flour , sifted".split()
ids = np.zeros((1, MAX_WORDS), dtype="int32")
ids[0, : len(example)] = [word_ids.get(w, 1) for w in example]
best = model.predict(ids)[0].argmax(-1)
print([(w, TAGS[k - 1]) for w, k in zip(example, best)])
