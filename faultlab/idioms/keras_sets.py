# ruff: noqa: E501
"""Keras with the data sets that it brings: names, cuts, scales, labels and ways to be fed."""

from __future__ import annotations

from . import Book, Choice

NAMES = [
    ("x_train", "y_train", "x_test", "y_test"),
    ("X_train", "Y_train", "X_test", "Y_test"),
    ("train_images", "train_labels", "test_images", "test_labels"),
    ("x_tr", "y_tr", "x_te", "y_te"),
    ("trainX", "trainY", "testX", "testY"),
    ("train_x", "train_y", "val_x", "val_y"),
]
LOAD = [
    "({x}, {y}), ({a}, {b}) = tf.keras.datasets.mnist.load_data()",
    "train, test = tf.keras.datasets.mnist.load_data()\n{x}, {y} = train\n{a}, {b} = test",
]
CUT = [
    "",
    "{x}, {y} = {x}[:5000], {y}[:5000]\n{a}, {b} = {a}[:1000], {b}[:1000]",
    "{x} = {x}[:20000]\n{y} = {y}[:20000]",
    "{x}_val, {y}_val = {x}[-5000:], {y}[-5000:]\n{x}, {y} = {x}[:-5000], {y}[:-5000]",
]
PREPARE = [
    "{x}, {a} = {x} / 255.0, {a} / 255.0",
    "{x} = {x}.reshape(60000, 784).astype('float32') / 255\n{a} = {a}.reshape(10000, 784).astype('float32') / 255",
    "{x} = {x}.reshape(-1, 28, 28, 1).astype('float32')\n{a} = {a}.reshape(-1, 28, 28, 1).astype('float32')\n{x} /= 255\n{a} /= 255",
    "{x} = np.expand_dims({x}, -1).astype('float32') / 255\n{a} = np.expand_dims({a}, -1).astype('float32') / 255",
    "mean, std = {x}.mean(), {x}.std()\n{x} = ({x} - mean) / std\n{a} = ({a} - mean) / std",
    "def prep(x, y):\n    return tf.cast(x, tf.float32) / 255.0, y",
]
LABELS = [
    "",
    "{y} = tf.keras.utils.to_categorical({y}, 10)\n{b} = tf.keras.utils.to_categorical({b}, 10)",
    "{y}, {b} = {y}.astype('int32'), {b}.astype('int32')",
    "{y} = np.eye(10)[{y}]\n{b} = np.eye(10)[{b}]",
]
FEED = [
    "model.fit({x}, {y}, epochs=5, batch_size=64, validation_data=({a}, {b}))\nprint(model.evaluate({a}, {b}))",
    "model.fit({x}, {y}, epochs=5, batch_size=128, validation_split=0.1)\nloss, acc = model.evaluate({a}, {b}, verbose=0)\nprint('Accuracy: %.2f' % (100 * acc))",
    "train_ds = tf.data.Dataset.from_tensor_slices(({x}, {y})).shuffle(10000){map}.batch(32)\ntest_ds = tf.data.Dataset.from_tensor_slices(({a}, {b})){map}.batch(32)\nmodel.fit(train_ds, epochs=5, validation_data=test_ds)\nprint(model.evaluate(test_ds))",
    "model.fit({x}, {y}, epochs=5, batch_size=64)\npred = model.predict({a}).argmax(axis=1)\nprint((pred == {truth}).mean())",
]


HEAD = "import numpy as np\nimport tensorflow as tf"
MODEL = """model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(128, activation='relu'), tf.keras.layers.Dense(10, activation='softmax')])
model.compile(optimizer='adam', loss='{loss}', metrics=['accuracy'])"""
OF_VALIDATION = {
    0: "{x}_val = {x}_val / 255.0",
    2: "{x}_val = {x}_val.reshape(-1, 28, 28, 1).astype('float32')\n{x}_val /= 255",
    3: "{x}_val = np.expand_dims({x}_val, -1).astype('float32') / 255",
    4: "{x}_val = ({x}_val - mean) / std",
}


def write(choice: Choice) -> str | None:
    """The program of one choice; none where rows are cut before their number is written out, and the like."""
    names, load, cut, prepare, labels, feed = choice
    parted, mapped, hot = cut == 3, prepare == 5, labels in (1, 3)
    if (cut and prepare == 1) or (mapped and feed != 2) or (parted and feed != 0):
        return None
    lines = [LOAD[load], CUT[cut], PREPARE[prepare]]
    fed = FEED[feed].replace("{map}", ".map(prep)" if mapped else "")
    fed = fed.replace("{truth}", "{b}.argmax(axis=1)" if hot else "{b}")
    if parted:
        lines.append(OF_VALIDATION[prepare])
        fed = fed.replace("validation_data=({a}, {b})", "validation_data=({x}_val, {y}_val)")
    lines.append(LABELS[labels])
    if parted and hot:
        lines.append("{y}_val = tf.keras.utils.to_categorical({y}_val, 10)")
    loss = "categorical_crossentropy" if hot else "sparse_categorical_crossentropy"
    text = "\n".join([HEAD, *lines, MODEL.replace("{loss}", loss), fed]) + "\n"
    for mark, name in zip(("{x}", "{y}", "{a}", "{b}"), NAMES[names], strict=True):
        text = text.replace(mark, name)
    return text


BOOK = Book("keras_sets", tuple(map(len, (NAMES, LOAD, CUT, PREPARE, LABELS, FEED))), write)
