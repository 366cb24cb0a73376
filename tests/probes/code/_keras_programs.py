"""Right programs in TensorFlow and Keras, in ten hands, and the slips that are written into them."""

# ruff: noqa: E501
from __future__ import annotations

RIGHT = {
    "functional": """\
import keras
import pandas as pd
import tensorflow as tf

keras.utils.set_random_seed(3)
kl = keras.layers
frame = pd.read_csv("mushrooms.csv")
frame = frame.sample(frac=1, random_state=3)
cut = int(0.8 * len(frame))
features = frame.drop(columns="edible").to_numpy("float32")
labels = frame["edible"].to_numpy("int32")
mean, std = features[:cut].mean(0), features[:cut].std(0)
features = (features - mean) / std


def pipeline(x, y, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if training:
        ds = ds.shuffle(len(x))
    return ds.batch(64).prefetch(tf.data.AUTOTUNE)


train = pipeline(features[:cut], labels[:cut], True)
held = pipeline(features[cut:], labels[cut:], False)

entry = keras.Input((features.shape[1],))
h = kl.Dense(64)(entry)
h = kl.BatchNormalization()(h)
h = kl.Activation("relu")(h)
h = kl.Dropout(0.3)(h)
out = kl.Dense(1, activation="sigmoid")(h)
net = keras.Model(entry, out)
net.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
net.fit(
    train,
    validation_data=held,
    epochs=40,
    callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True)],
)
print(net.evaluate(held))
""",
    "finetune": """\
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.applications import EfficientNetB0, ResNet50
from tensorflow.keras.applications.resnet50 import preprocess_input

SIZE = (224, 224)
train_ds = tf.keras.utils.image_dataset_from_directory("flowers/train", image_size=SIZE, batch_size=32, label_mode="categorical")
val_ds = tf.keras.utils.image_dataset_from_directory("flowers/val", image_size=SIZE, batch_size=32, label_mode="categorical", shuffle=False)
names = train_ds.class_names
flip = tf.keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.1)])
train_ds = train_ds.map(lambda x, y: (flip(x, training=True), y)).prefetch(tf.data.AUTOTUNE)
val_ds = val_ds.cache().prefetch(tf.data.AUTOTUNE)

trunk = ResNet50(include_top=False, weights="imagenet", pooling="avg")
trunk.trainable = False
image = layers.Input(SIZE + (3,))
x = preprocess_input(image)
x = trunk(x, training=False)
x = layers.Dropout(0.2)(x)
scores = layers.Dense(len(names), activation="softmax")(x)
model = tf.keras.Model(image, scores)

model.compile(tf.keras.optimizers.Adam(1e-3), loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(train_ds, validation_data=val_ds, epochs=5)

trunk.trainable = True
for layer in trunk.layers[:-30]:
    layer.trainable = False
model.compile(tf.keras.optimizers.Adam(1e-5), loss="categorical_crossentropy", metrics=["accuracy"])
keep = tf.keras.callbacks.ModelCheckpoint("flowers.keras", monitor="val_accuracy", save_best_only=True)
model.fit(train_ds, validation_data=val_ds, initial_epoch=5, epochs=20, callbacks=[keep])
model = tf.keras.models.load_model("flowers.keras")
model.evaluate(val_ds)
""",
    "tape": """\
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(11)
(x_train, y_train), (x_test, y_test) = keras.datasets.fashion_mnist.load_data()
x_train = x_train[..., None].astype("float32") / 255.0
x_test = x_test[..., None].astype("float32") / 255.0
train = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(60000).batch(128)
test = tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(256)


class Garments(keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = keras.layers.Conv2D(32, 3, activation="relu")
        self.norm = keras.layers.BatchNormalization()
        self.conv2 = keras.layers.Conv2D(64, 3, activation="relu")
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.drop = keras.layers.Dropout(0.4)
        self.head = keras.layers.Dense(classes)

    def call(self, x, training=False):
        x = self.norm(self.conv1(x), training=training)
        x = self.pool(self.conv2(x))
        x = self.drop(x, training=training)
        return self.head(x)


model = Garments(10)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)
train_loss = keras.metrics.Mean()
accuracy = keras.metrics.SparseCategoricalAccuracy()
test_accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = criterion(labels, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    train_loss.update_state(loss)
    accuracy.update_state(labels, logits)


@tf.function
def test_step(images, labels):
    logits = model(images, training=False)
    test_accuracy.update_state(labels, logits)


for epoch in range(20):
    train_loss.reset_state()
    accuracy.reset_state()
    test_accuracy.reset_state()
    for images, labels in train:
        train_step(images, labels)
    for images, labels in test:
        test_step(images, labels)
    print(epoch, float(train_loss.result()), float(accuracy.result()), float(test_accuracy.result()))
""",
    "mixed": """\
import tensorflow as tf
from tensorflow.keras import mixed_precision

mixed_precision.set_global_policy("mixed_float16")
AUTO = tf.data.AUTOTUNE
ROWS = 48000


def decode(record):
    feats = tf.io.parse_single_example(record, {"wave": tf.io.FixedLenFeature([16000], tf.float32), "word": tf.io.FixedLenFeature([], tf.int64)})
    return feats["wave"], feats["word"]


def jitter(wave, word):
    return wave + tf.random.normal(tf.shape(wave), stddev=0.005), word


def read(pattern, training):
    files = tf.data.Dataset.list_files(pattern, shuffle=training, seed=5)
    ds = tf.data.TFRecordDataset(files, num_parallel_reads=AUTO).map(decode, AUTO)
    ds = ds.cache()
    if training:
        ds = ds.shuffle(10000).map(jitter, AUTO).repeat()
    return ds.batch(64, drop_remainder=training).prefetch(AUTO)


net = tf.keras.Sequential(
    [
        tf.keras.layers.Reshape((16000, 1)),
        tf.keras.layers.Conv1D(32, 80, strides=4, activation="relu"),
        tf.keras.layers.GlobalMaxPooling1D(),
        tf.keras.layers.Dense(30),
        tf.keras.layers.Activation("softmax", dtype="float32"),
    ]
)
opt = mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.05, momentum=0.9))
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy()


@tf.function
def update(wave, word):
    with tf.GradientTape() as tape:
        probs = net(wave, training=True)
        loss = loss_fn(word, probs)
        scaled = opt.get_scaled_loss(loss)
    grads = opt.get_unscaled_gradients(tape.gradient(scaled, net.trainable_variables))
    grads, _ = tf.clip_by_global_norm(grads, 1.0)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


steps = ROWS // 64
batches = iter(read("train-*.tfrecord", True))
for epoch in range(30):
    total = 0.0
    for _ in range(steps):
        total += float(update(*next(batches)))
    hits = seen = 0
    for wave, word in read("dev-*.tfrecord", False):
        guess = tf.argmax(net(wave, training=False), axis=-1)
        hits += int(tf.reduce_sum(tf.cast(guess == word, tf.int32)))
        seen += len(word)
    print(epoch, total / steps, hits / seen)
""",
    "trainstep": """\
import keras
import tensorflow as tf
from keras import layers, ops


class VAE(keras.Model):
    def __init__(self, encoder, decoder, beta=1.0):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.beta = beta
        self.total = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.total]

    def call(self, x, training=None):
        mean, log_var = self.encoder(x, training=training)
        return self.decoder(mean, training=training)

    def _loss(self, x, training):
        mean, log_var = self.encoder(x, training=training)
        z = mean + ops.exp(0.5 * log_var) * tf.random.normal(tf.shape(mean))
        out = self.decoder(z, training=training)
        rec = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(x, out), axis=(1, 2)))
        kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + log_var - tf.square(mean) - tf.exp(log_var), axis=1))
        return rec + self.beta * kl

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self._loss(data, training=True)
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total.update_state(loss)
        return {"loss": self.total.result()}

    def test_step(self, data):
        self.total.update_state(self._loss(data, training=False))
        return {"loss": self.total.result()}


def make_encoder(width):
    i = keras.Input((28, 28, 1))
    h = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(i)
    h = layers.Flatten()(h)
    return keras.Model(i, [layers.Dense(width)(h), layers.Dense(width)(h)])


def make_decoder(width):
    i = keras.Input((width,))
    h = layers.Dense(14 * 14 * 32, activation="relu")(i)
    h = layers.Reshape((14, 14, 32))(h)
    h = layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu")(h)
    return keras.Model(i, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(h))


(digits, _), (others, _) = keras.datasets.mnist.load_data()
digits = digits[..., None].astype("float32") / 255
others = others[..., None].astype("float32") / 255
vae = VAE(make_encoder(8), make_decoder(8))
vae.compile(optimizer=keras.optimizers.Adam(learning_rate=1e-3))
vae.fit(digits, validation_data=(others, None), epochs=30, batch_size=128)
""",
    "multi": """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
PER_REPLICA = 32
GLOBAL = PER_REPLICA * strategy.num_replicas_in_sync
photos, tags = load_arrays("train.npz")
train = tf.data.Dataset.from_tensor_slices((photos, tags)).shuffle(len(photos), reshuffle_each_iteration=True).batch(GLOBAL, drop_remainder=True)
train = strategy.experimental_distribute_dataset(train)

with strategy.scope():
    model = tf.keras.applications.ResNet50(weights=None, classes=100, classifier_activation=None)
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    per_example = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=tf.keras.losses.Reduction.NONE)
    acc = tf.keras.metrics.SparseCategoricalAccuracy()


def replica_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = tf.nn.compute_average_loss(per_example(y, logits), global_batch_size=GLOBAL)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    acc.update_state(y, logits)
    return loss


@tf.function
def step(x, y):
    losses = strategy.run(replica_step, args=(x, y))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


for epoch in range(90):
    acc.reset_state()
    mean = tf.keras.metrics.Mean()
    for x, y in train:
        mean(step(x, y))
    print(epoch, mean.result().numpy(), acc.result().numpy())
""",
    "graph": """\
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(7)
data = np.load("ecg.npz")
x_all, y_all = data["x"], data["y"]
x_dev, y_dev = data["x_dev"], data["y_dev"]

x = tf.placeholder(tf.float32, [None, 187])
y = tf.placeholder(tf.int64, [None])
is_training = tf.placeholder(tf.bool, [])
h = tf.layers.dense(x, 128)
h = tf.layers.batch_normalization(h, training=is_training)
h = tf.nn.relu(h)
h = tf.layers.dropout(h, 0.5, training=is_training)
logits = tf.layers.dense(h, 5)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
hits = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
saver = tf.train.Saver()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    best = 0.0
    for epoch in range(50):
        order = np.random.permutation(len(x_all))
        for i in range(0, len(order), 64):
            rows = order[i : i + 64]
            sess.run(train_op, feed_dict={x: x_all[rows], y: y_all[rows], is_training: True})
        acc = sess.run(hits, feed_dict={x: x_dev, y: y_dev, is_training: False})
        if acc > best:
            best = acc
            saver.save(sess, "best.ckpt")
    print(best)
""",
    "text": """\
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.layers import LSTM, Bidirectional, Dense, Dropout, Embedding, TextVectorization

raw = tf.data.experimental.CsvDataset("tickets.csv", [tf.string, tf.int32], header=True)
raw = raw.shuffle(20000, seed=1, reshuffle_each_iteration=False)
held_raw = raw.take(2000)
train_raw = raw.skip(2000)

words = TextVectorization(max_tokens=12000, output_sequence_length=120)
words.adapt(train_raw.map(lambda text, label: text).batch(512))


def encode(text, label):
    return words(text), tf.one_hot(label, 6)


train = train_raw.map(encode).cache().shuffle(20000).batch(64).prefetch(2)
held = held_raw.map(encode).batch(64).prefetch(2)


def build():
    return keras.Sequential([
        Embedding(12000, 64, mask_zero=True),
        Bidirectional(LSTM(64)),
        Dropout(0.5),
        Dense(6),
    ])


model = build()
steps_per_epoch = 18000 // 64
rate = keras.optimizers.schedules.CosineDecay(1e-3, decay_steps=15 * steps_per_epoch)
model.compile(
    loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    optimizer=keras.optimizers.AdamW(rate, weight_decay=1e-4),
    metrics=[keras.metrics.CategoricalAccuracy()],
)
model.fit(train, epochs=15, validation_data=held)
""",
    "regress": """\
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

table = np.loadtxt("concrete.csv", delimiter=",", skiprows=1)
X, strength = table[:, :-1], table[:, -1]
X_train, X_test, y_train, y_test = train_test_split(X, strength, test_size=0.2, random_state=0)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = Sequential()
model.add(Input((X.shape[1],)))
model.add(Dense(64, activation="relu"))
model.add(Dense(32, activation="relu"))
model.add(Dense(1))
model.compile(loss="mse", optimizer="rmsprop", metrics=["mae"])
callbacks = [
    ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=8),
    EarlyStopping(monitor="val_loss", patience=30, restore_best_weights=True),
    ModelCheckpoint("concrete.keras", monitor="val_loss", save_best_only=True),
]
model.fit(X_train, y_train, validation_split=0.2, epochs=400, batch_size=32, callbacks=callbacks, verbose=2)
guess = model.predict(X_test)[:, 0]
print("MAE", np.abs(guess - y_test).mean())
""",
    "gan": """\
import tensorflow as tf
from tensorflow.keras import layers

LATENT = 100


def make_generator():
    return tf.keras.Sequential([
        layers.Input((LATENT,)),
        layers.Dense(7 * 7 * 128, use_bias=False),
        layers.BatchNormalization(),
        layers.LeakyReLU(),
        layers.Reshape((7, 7, 128)),
        layers.Conv2DTranspose(64, 5, strides=2, padding="same", use_bias=False),
        layers.BatchNormalization(),
        layers.LeakyReLU(),
        layers.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh"),
    ])


def make_discriminator():
    return tf.keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(64, 5, strides=2, padding="same"),
        layers.LeakyReLU(),
        layers.Dropout(0.3),
        layers.Flatten(),
        layers.Dense(1),
    ])


generator, discriminator = make_generator(), make_discriminator()
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
g_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
d_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
(images, _), _ = tf.keras.datasets.mnist.load_data()
images = (images[..., None].astype("float32") - 127.5) / 127.5
dataset = tf.data.Dataset.from_tensor_slices(images).shuffle(60000).batch(256)


@tf.function
def train_step(real):
    noise = tf.random.normal([tf.shape(real)[0], LATENT])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        fake = generator(noise, training=True)
        on_real = discriminator(real, training=True)
        on_fake = discriminator(fake, training=True)
        g_loss = bce(tf.ones_like(on_fake), on_fake)
        d_loss = bce(tf.ones_like(on_real), on_real) + bce(tf.zeros_like(on_fake), on_fake)
    g_grads = gen_tape.gradient(g_loss, generator.trainable_variables)
    d_grads = disc_tape.gradient(d_loss, discriminator.trainable_variables)
    g_opt.apply_gradients(zip(g_grads, generator.trainable_variables))
    d_opt.apply_gradients(zip(d_grads, discriminator.trainable_variables))
    return g_loss, d_loss


checkpoint = tf.train.Checkpoint(g=generator, d=discriminator, g_opt=g_opt, d_opt=d_opt)
manager = tf.train.CheckpointManager(checkpoint, "gan", max_to_keep=3)
for epoch in range(50):
    for real in dataset:
        g_loss, d_loss = train_step(real)
    manager.save()
    print(epoch, float(g_loss), float(d_loss))
""",
}

# name, program, edits, symptom that must be present, what stands in the line where
BROKEN = [
    (
        "shuffle-of-batches",
        "functional",
        [
            (
                "        ds = ds.shuffle(len(x))\n    return ds.batch(64)",
                "        ds = ds.batch(64).shuffle(4)\n    else:\n        ds = ds.batch(64)\n    return ds",
            )
        ],
        "script-order-fixed",
        "shuffle(4)",
    ),
    (
        "sigmoid-and-logits",
        "functional",
        [('loss="binary_crossentropy"', "loss=keras.losses.BinaryCrossentropy(from_logits=True)")],
        "script-double-softmax",
        "compile(",
    ),
    (
        "softmax-of-one",
        "functional",
        [('kl.Dense(1, activation="sigmoid")', 'kl.Dense(1, activation="softmax")')],
        "script-output-without-gradient",
        "softmax",
    ),
    (
        "dropout-off",
        "functional",
        [("kl.Dropout(0.3)(h)", "kl.Dropout(0.3)(h, training=False)")],
        "script-mode-fixed",
        "training=False",
    ),
    (
        "other-preprocess",
        "finetune",
        [("applications.resnet50 import", "applications.efficientnet import")],
        "script-range-mismatch",
        "preprocess_input(image)",
    ),
    (
        "rescaled-and-preprocessed",
        "finetune",
        [("x = preprocess_input(image)", "x = layers.Rescaling(1.0 / 255)(image)\nx = preprocess_input(x)")],
        "script-range-mismatch",
        "preprocess_input(x)",
    ),
    (
        "frozen-after-compile",
        "finetune",
        [
            (
                'trunk.trainable = True\nfor layer in trunk.layers[:-30]:\n    layer.trainable = False\nmodel.compile(tf.keras.optimizers.Adam(1e-5), loss="categorical_crossentropy", metrics=["accuracy"])\n',
                "trunk.trainable = True\nfor layer in trunk.layers[:-30]:\n    layer.trainable = False\n",
            )
        ],
        "script-trainable-undone",
        "trunk.trainable = True",
    ),
    (
        "cache-after-flip",
        "finetune",
        [("y)).prefetch", "y)).cache().prefetch")],
        "script-augmentation-kept",
        ".cache().prefetch",
    ),
    (
        "flip-val",
        "finetune",
        [
            (
                "val_ds = val_ds.cache()",
                "val_ds = val_ds.map(lambda x, y: (flip(x, training=True), y)).cache()",
            )
        ],
        "script-evaluation-augmented",
        "val_ds.map",
    ),
    (
        "no-imagenet",
        "finetune",
        [('weights="imagenet"', "weights=None")],
        "script-pretrained-lost",
        "weights=None",
    ),
    (
        "logits-unsaid",
        "tape",
        [("(from_logits=True)", "()")],
        "script-activation-missing-before-loss",
        "criterion",
    ),
    (
        "args-swapped",
        "tape",
        [("criterion(labels, logits)", "criterion(logits, labels)")],
        "script-loss-arguments-swapped",
        "criterion(logits",
    ),
    (
        "eval-train-mode",
        "tape",
        [("training=False)\n    test_acc", "training=True)\n    test_acc")],
        "script-mode-fixed",
        "training=True)",
    ),
    (
        "train-infer-mode",
        "tape",
        [("logits = model(images, training=True)", "logits = model(images)")],
        "script-eval-mode-while-training",
        "model(images)",
    ),
    (
        "no-reset",
        "tape",
        [("    test_accuracy.reset_state()\n", "")],
        "script-metric-miscounts",
        "test_accuracy",
    ),
    (
        "head-only-vars",
        "tape",
        [
            (
                "grads = tape.gradient(loss, model.trainable_variables)\n    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
                "grads = tape.gradient(loss, model.head.trainable_variables)\n    optimizer.apply_gradients(zip(grads, model.head.trainable_variables))",
            )
        ],
        "script-optimizer-gets-part",
        "model.head.trainable_variables",
    ),
    (
        "vars-misaligned",
        "tape",
        [("zip(grads, model.trainable_variables)", "zip(grads, model.variables)")],
        "script-gradients-misplaced",
        "model.variables",
    ),
    (
        "call-drops-training",
        "tape",
        [("self.drop(x, training=training)", "self.drop(x, training=True)")],
        "script-mode-fixed",
        "training=True)",
    ),
    (
        "never-applied",
        "tape",
        [("    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n", "")],
        "script-step-missing",
        "tape.gradient",
    ),
    (
        "loss-outside-tape",
        "tape",
        [
            (
                "        loss = criterion(labels, logits)\n    grads",
                "        probs = tf.nn.softmax(logits)\n    loss = criterion(labels, logits)\n    grads",
            )
        ],
        "script-gradient-path-cut",
        "loss = criterion",
    ),
    (
        "argmax-loss",
        "tape",
        [
            (
                "loss = criterion(labels, logits)",
                "loss = tf.reduce_mean(tf.cast(tf.argmax(logits, -1) != tf.cast(labels, tf.int64), tf.float32))",
            )
        ],
        "script-gradient-path-cut",
        "argmax",
    ),
    (
        "scaled-not-unscaled",
        "mixed",
        [
            (
                "opt.get_unscaled_gradients(tape.gradient(scaled, net.trainable_variables))",
                "tape.gradient(scaled, net.trainable_variables)",
            )
        ],
        "script-scale-not-divided-out",
        "tape.gradient",
    ),
    (
        "clip-before-unscale",
        "mixed",
        [
            (
                "    grads = opt.get_unscaled_gradients(tape.gradient(scaled, net.trainable_variables))\n    grads, _ = tf.clip_by_global_norm(grads, 1.0)",
                "    grads, _ = tf.clip_by_global_norm(tape.gradient(scaled, net.trainable_variables), 1.0)\n    grads = opt.get_unscaled_gradients(grads)",
            )
        ],
        "script-clip-before-unscale",
        "clip_by_global_norm",
    ),
    (
        "cache-after-jitter",
        "mixed",
        [
            (
                "    ds = ds.cache()\n    if training:\n        ds = ds.shuffle(10000).map(jitter, AUTO).repeat()",
                "    if training:\n        ds = ds.map(jitter, AUTO).cache().shuffle(10000).repeat()",
            )
        ],
        "script-augmentation-kept",
        "cache()",
    ),
    (
        "batch-shape",
        "mixed",
        [("tf.argmax(net(wave, training=False), axis=-1)", "tf.argmax(net(wave, training=False), axis=0)")],
        "script-metric-wrong",
        "axis=0",
    ),
    (
        "no-loss-scale",
        "mixed",
        [
            (
                "mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.05, momentum=0.9))",
                "tf.keras.optimizers.SGD(0.05, momentum=0.9)",
            ),
            ("        scaled = opt.get_scaled_loss(loss)\n", ""),
            (
                "opt.get_unscaled_gradients(tape.gradient(scaled, net.trainable_variables))",
                "tape.gradient(loss, net.trainable_variables)",
            ),
        ],
        "script-half-without-scaler",
        "set_global_policy",
    ),
    (
        "decoder-untrained",
        "trainstep",
        [
            (
                "tape.gradient(loss, self.trainable_weights)",
                "tape.gradient(loss, self.encoder.trainable_weights)",
            ),
            ("zip(grads, self.trainable_weights)", "zip(grads, self.encoder.trainable_weights)"),
        ],
        "script-part-not-trained",
        "self.encoder.trainable_weights",
    ),
    (
        "test-step-trains",
        "trainstep",
        [("self._loss(data, training=False)", "self._loss(data, training=True)")],
        "script-mode-fixed",
        "training=True))",
    ),
    (
        "summed-loss",
        "multi",
        [
            (
                "tf.nn.compute_average_loss(per_example(y, logits), global_batch_size=GLOBAL)",
                "tf.reduce_mean(per_example(y, logits))",
            )
        ],
        "script-mean-of-parts",
        "reduce_mean",
    ),
    (
        "fixed-order",
        "multi",
        [("reshuffle_each_iteration=True", "reshuffle_each_iteration=False")],
        "script-order-fixed",
        "reshuffle_each",
    ),
    (
        "bn-updates-lost",
        "graph",
        [
            (
                "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):\n    train_op",
                "train_op",
            )
        ],
        "script-batch-statistics-off",
        "minimize",
    ),
    (
        "dropout-in-eval",
        "graph",
        [("y_dev, is_training: False", "y_dev, is_training: True")],
        "script-mode-fixed",
        "x_dev, y: y_dev",
    ),
    (
        "labels-apart",
        "graph",
        [("y: y_all[rows]", "y: y_all[i : i + 64]")],
        "script-sample-torn-apart",
        "y_all[i",
    ),
    (
        "softmax-twice-tf1",
        "graph",
        [("logits = tf.layers.dense(h, 5)", "logits = tf.nn.softmax(tf.layers.dense(h, 5))")],
        "script-keras-output-activated",
        "softmax",
    ),
    (
        "reshuffled-split",
        "text",
        [("seed=1, reshuffle_each_iteration=False", "seed=1")],
        "script-training-sees-evaluation",
        "shuffle(20000",
    ),
    (
        "adapt-all",
        "text",
        [("words.adapt(train_raw.map", "words.adapt(raw.map")],
        "script-learns-from-held-out",
        "adapt",
    ),
    (
        "skip-less",
        "text",
        [("raw.skip(2000)", "raw.skip(200)")],
        "script-training-sees-evaluation",
        "skip(200)",
    ),
    (
        "decay-epochs",
        "text",
        [("decay_steps=15 * steps_per_epoch", "decay_steps=15")],
        "script-schedule-unit",
        "decay_steps=15",
    ),
    (
        "stop-mode",
        "regress",
        [
            (
                'EarlyStopping(monitor="val_loss", patience',
                'EarlyStopping(monitor="val_loss", mode="max", patience',
            )
        ],
        "script-best-chosen-wrongly",
        "EarlyStopping(",
    ),
    (
        "monitor-train",
        "regress",
        [
            (
                'EarlyStopping(monitor="val_loss", patience=30, restore_best_weights=True)',
                'EarlyStopping(monitor="loss", patience=30, restore_best_weights=True)',
            )
        ],
        "script-best-chosen-wrongly",
        'monitor="loss"',
    ),
    (
        "scaler-refit",
        "regress",
        [("scaler.transform(X_test)", "scaler.fit_transform(X_test)")],
        "script-splits-processed-differently",
        "X_test = scaler",
    ),
    (
        "zeros",
        "regress",
        [('Dense(64, activation="relu")', 'Dense(64, activation="relu", kernel_initializer="zeros")')],
        "script-zero-init",
        "zeros",
    ),
    (
        "gan-one-tape",
        "gan",
        [
            (
                "d_opt.apply_gradients(zip(d_grads, discriminator",
                "g_opt.apply_gradients(zip(d_grads, discriminator",
            )
        ],
        "script-gradients-misplaced",
        "g_opt.apply_gradients(zip(d_grads",
    ),
    (
        "gan-wrong-vars",
        "gan",
        [("disc_tape.gradient(d_loss, discriminator.", "disc_tape.gradient(d_loss, generator.")],
        "script-gradients-misplaced",
        "zip(d_grads",
    ),
    (
        "best-left",
        "regress",
        [("patience=30, restore_best_weights=True", "patience=30")],
        "script-last-instead-of-best",
        "model.predict",
    ),
    (
        "weights-by-rank",
        "functional",
        [
            (
                "    train,\n    validation_data",
                '    train,\n    class_weight={i: len(frame) / n for i, n in enumerate(frame["edible"].value_counts())},\n    validation_data',
            )
        ],
        "script-classes-numbered-apart",
        "enumerate(",
    ),
    (
        "recall-by-column",
        "functional",
        [
            (
                "print(net.evaluate(held))\n",
                "print(net.evaluate(held))\nmatrix = tf.math.confusion_matrix(labels[cut:], net.predict(features[cut:])[:, 0] > 0.5)\nrecall = tf.linalg.diag_part(matrix) / tf.reduce_sum(matrix, axis=0)\nprint(recall)\n",
            )
        ],
        "script-metric-wrong",
        "recall = ",
    ),
    (
        "branch-left",
        "functional",
        [("h = kl.Dropout(0.3)(h)", "dropped = kl.Dropout(0.3)(h)")],
        "script-branch-lost",
        "dropped",
    ),
    (
        "photos-alone",
        "multi",
        [
            ('load_arrays("train.npz")\n', 'load_arrays("train.npz")\nnp.random.shuffle(photos)\n'),
            ("import tensorflow as tf\n", "import numpy as np\nimport tensorflow as tf\n"),
        ],
        "script-labels-permuted-alone",
        "shuffle(photos)",
    ),
]
