# ruff: noqa: E501
"""Keras: functional, subclassed and pretrained models of pictures, fed by tf.data, by fit or by a loop of one's own."""

from __future__ import annotations

from .composed import Kit

TEXT = """$IMPORTS

$SEED
$POLICY
BATCH_SIZE = 64
EPOCHS = 30
AUTOTUNE = tf.data.AUTOTUNE

$DATA

$AUGMENT
$PIPE


$MODEL
$TRAIN
"""
IMPORTS = (
    "import os\nimport numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras import layers, losses, metrics, optimizers, callbacks",
    "import os\nos.environ['KERAS_BACKEND'] = 'tensorflow'\nimport numpy as np\nimport tensorflow as tf\nimport keras\nfrom keras import layers, losses, metrics, optimizers, callbacks",
)
SEED = ("keras.utils.set_random_seed(812)", "tf.random.set_seed(42)\nnp.random.seed(42)", "")
POLICY = ("", "keras.mixed_precision.set_global_policy('mixed_float16')")
# Each gives train_ds and val_ds of single pictures of 0 to 255 with whole labels, and test_ds.
DATA = (
    """import tensorflow_datasets as tfds

(train_ds, val_ds, test_ds), info = tfds.load('tf_flowers', split=['train[:80%]', 'train[80%:90%]', 'train[90%:]'], as_supervised=True, with_info=True)
IMG_SIZE = 180
num_classes = info.features['label'].num_classes
steps_per_epoch = int(0.8 * info.splits['train'].num_examples) // BATCH_SIZE
train_ds, val_ds, test_ds = (d.map(lambda image, label: (tf.cast(tf.image.resize(image, (IMG_SIZE, IMG_SIZE)), tf.float32), label)) for d in (train_ds, val_ds, test_ds))""",
    """(x_train, y_train), (x_test, y_test) = keras.datasets.cifar10.load_data()
y_train, y_test = y_train.squeeze(), y_test.squeeze()
IMG_SIZE = 32
num_classes = 10
x_train, x_val = x_train[:-5000], x_train[-5000:]
y_train, y_val = y_train[:-5000], y_train[-5000:]
steps_per_epoch = len(x_train) // BATCH_SIZE
train_ds = tf.data.Dataset.from_tensor_slices((x_train.astype('float32'), y_train))
val_ds = tf.data.Dataset.from_tensor_slices((x_val.astype('float32'), y_val))
test_ds = tf.data.Dataset.from_tensor_slices((x_test.astype('float32'), y_test))""",
    """IMG_SIZE = 224
num_classes = 5
NUM_TRAIN_IMAGES = 12753
steps_per_epoch = NUM_TRAIN_IMAGES // BATCH_SIZE
feature_description = {'image': tf.io.FixedLenFeature([], tf.string), 'label': tf.io.FixedLenFeature([], tf.int64)}


def parse_example(serialized):
    example = tf.io.parse_single_example(serialized, feature_description)
    image = tf.io.decode_jpeg(example['image'], channels=3)
    image = tf.image.resize(tf.cast(image, tf.float32), [IMG_SIZE, IMG_SIZE])
    return image, tf.cast(example['label'], tf.int32)


def load_dataset(pattern, training):
    files = tf.data.Dataset.list_files(pattern, shuffle=training)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=AUTOTUNE, deterministic=not training)
    return records.map(parse_example, num_parallel_calls=AUTOTUNE)


train_ds = load_dataset('records/train-*.tfrec', True)
val_ds = load_dataset('records/val-*.tfrec', False)
test_ds = load_dataset('records/test-*.tfrec', False)""",
    """import pathlib

IMG_SIZE = 160
data_dir = pathlib.Path('flower_photos')
class_names = np.array(sorted(item.name for item in data_dir.glob('*') if item.is_dir()))
num_classes = len(class_names)
image_count = len(list(data_dir.glob('*/*.jpg')))
list_ds = tf.data.Dataset.list_files(str(data_dir / '*/*'), shuffle=False)
list_ds = list_ds.shuffle(image_count, seed=1, reshuffle_each_iteration=False)
val_size = int(image_count * 0.1)
steps_per_epoch = (image_count - 2 * val_size) // BATCH_SIZE


def process_path(file_path):
    label = tf.argmax(tf.strings.split(file_path, os.path.sep)[-2] == class_names)
    img = tf.io.decode_jpeg(tf.io.read_file(file_path), channels=3)
    return tf.image.resize(img, [IMG_SIZE, IMG_SIZE]), label


test_ds = list_ds.take(val_size).map(process_path, num_parallel_calls=AUTOTUNE)
val_ds = list_ds.skip(val_size).take(val_size).map(process_path, num_parallel_calls=AUTOTUNE)
train_ds = list_ds.skip(2 * val_size).map(process_path, num_parallel_calls=AUTOTUNE)""",
)
AUGMENT = (
    {
        "AUGMENT": "data_augmentation = keras.Sequential([layers.RandomFlip('horizontal'), layers.RandomRotation(0.1), layers.RandomZoom(0.1)])",
        "INSIDE": "x = data_augmentation(x)",
        "INSIDETRAIN": "x = data_augmentation(x, training=training)",
        "LISTED": "data_augmentation,",
    },
    {
        "AUGMENT": """def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=20.0)
    image = tf.clip_by_value(image, 0.0, 255.0)
    return image, label

""",
        "MAPPED": ".map(augment, num_parallel_calls=AUTOTUNE)",
    },
    {
        "AUGMENT": "data_augmentation = keras.Sequential([layers.RandomFlip('horizontal'), layers.RandomTranslation(0.1, 0.1)])\n",
        "MAPPED": ".map(lambda x, y: (data_augmentation(x, training=True), y), num_parallel_calls=AUTOTUNE)",
    },
)
PIPE = (
    """train_ds = train_ds.cache().shuffle(10000)$MAPPED.batch(BATCH_SIZE).prefetch(AUTOTUNE)
val_ds = val_ds.cache().batch(BATCH_SIZE).prefetch(AUTOTUNE)
test_ds = test_ds.batch(BATCH_SIZE)""",
    """def configure_for_performance(ds, training=False):
    ds = ds.cache()
    if training:
        ds = ds.shuffle(buffer_size=5000)
        ds = ds$MAPPED
    ds = ds.batch(BATCH_SIZE, drop_remainder=training)
    return ds.prefetch(buffer_size=tf.data.AUTOTUNE)


train_ds = configure_for_performance(train_ds, training=True)
val_ds = configure_for_performance(val_ds)
test_ds = configure_for_performance(test_ds)""",
    """train_ds = train_ds.shuffle(4096, reshuffle_each_iteration=True)$MAPPED.batch(BATCH_SIZE)
val_ds = val_ds.batch(BATCH_SIZE)
test_ds = test_ds.batch(BATCH_SIZE)
train_ds, val_ds, test_ds = (d.prefetch(AUTOTUNE) for d in (train_ds, val_ds, test_ds))""",
)
MODEL = (
    """def make_model(input_shape, num_classes):
    inputs = keras.Input(shape=input_shape)
    x = inputs
    $INSIDE
    x = $SCALE(x)
    x = layers.Conv2D(32, 3, strides=2, padding='same')(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation('relu')(x)
    previous_block_activation = x
    for size in [64, 128, 256]:
        x = layers.Activation('relu')(x)
        x = layers.SeparableConv2D(size, 3, padding='same')(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding='same')(x)
        residual = layers.Conv2D(size, 1, strides=2, padding='same')(previous_block_activation)
        x = layers.add([x, residual])
        previous_block_activation = x
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.5)(x)
    outputs = layers.Dense(num_classes, activation=$HEADACT, dtype='float32')(x)
    return keras.Model(inputs, outputs)


model = make_model((IMG_SIZE, IMG_SIZE, 3), num_classes)""",
    """class ConvBlock(layers.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, 3, padding='same', use_bias=False)
        self.bn = layers.BatchNormalization()
        self.pool = layers.MaxPooling2D()

    def call(self, inputs, training=None):
        x = self.conv(inputs)
        x = self.bn(x, training=training)
        return self.pool(tf.nn.relu(x))


class Classifier(keras.Model):
    def __init__(self, num_classes):
        super().__init__()
        self.scale = $SCALE
        self.blocks = [ConvBlock(f) for f in (32, 64, 128)]
        self.pool = layers.GlobalAveragePooling2D()
        self.dropout = layers.Dropout(0.3)
        self.out = layers.Dense(num_classes, activation=$HEADACT, dtype='float32')

    def call(self, x, training=False):
        $INSIDETRAIN
        x = self.scale(x)
        for block in self.blocks:
            x = block(x, training=training)
        return self.out(self.dropout(self.pool(x), training=training))


model = Classifier(num_classes)""",
    {
        "MODEL": """model = keras.Sequential([
    keras.Input(shape=(IMG_SIZE, IMG_SIZE, 3)),
    $LISTED
    $SCALE,
    layers.Conv2D(32, 3, activation='relu'),
    layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation='relu'),
    layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation='relu'),
    layers.Flatten(),
    layers.Dense(128, activation='relu', kernel_regularizer=keras.regularizers.l2(1e-4)),
    layers.Dropout(0.4),
    layers.Dense(num_classes, activation=$HEADACT, dtype='float32'),
])
model.summary()""",
        "REGULAR": "loss_value += tf.add_n(model.losses)",
        "REGULARNET": "loss += sum(self.network.losses)",
    },
    {
        "MODEL": """base_model = keras.applications.MobileNetV2(input_shape=(IMG_SIZE, IMG_SIZE, 3), include_top=False, weights='imagenet')
base_model.trainable = False
inputs = keras.Input(shape=(IMG_SIZE, IMG_SIZE, 3))
x = inputs
$INSIDE
x = keras.applications.mobilenet_v2.preprocess_input(x)
x = base_model(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.2)(x)
outputs = layers.Dense(num_classes, activation=$HEADACT, dtype='float32')(x)
model = keras.Model(inputs, outputs)""",
        "FINE": """base_model.trainable = True
for layer in base_model.layers[:100]:
    layer.trainable = False
model.compile(optimizer=optimizers.RMSprop(learning_rate=1e-5), loss=$LOSS, metrics=[$METRIC])
model.fit(train_ds, epochs=EPOCHS + 10, initial_epoch=history.epoch[-1] + 1, validation_data=val_ds)""",
    },
    {
        "MODEL": """base = keras.applications.EfficientNetB0(include_top=False, weights='imagenet', pooling='avg')
base.trainable = False
inputs = layers.Input(shape=(IMG_SIZE, IMG_SIZE, 3))
x = inputs
$INSIDE
x = base(x, training=False)
x = layers.BatchNormalization()(x)
x = layers.Dropout(0.2, name='top_dropout')(x)
outputs = layers.Dense(num_classes, activation=$HEADACT, dtype='float32', name='pred')(x)
model = keras.Model(inputs, outputs, name='EfficientNet')""",
        "FINE": """for layer in model.layers[-20:]:
    if not isinstance(layer, layers.BatchNormalization):
        layer.trainable = True
model.compile(optimizer=optimizers.Adam(learning_rate=1e-5), loss=$LOSS, metrics=[$METRIC])
model.fit(train_ds, validation_data=val_ds, epochs=4)""",
    },
)
SCALE = ("layers.Rescaling(1.0 / 255)", "layers.Rescaling(scale=1 / 127.5, offset=-1)")
LOSS = (
    {
        "LOSS": "losses.SparseCategoricalCrossentropy(from_logits=True)",
        "HEADACT": "None",
        "METRIC": "metrics.SparseCategoricalAccuracy(name='accuracy')",
    },
    {
        "LOSS": "losses.SparseCategoricalCrossentropy()",
        "HEADACT": "'softmax'",
        "METRIC": "metrics.SparseCategoricalAccuracy(name='accuracy')",
    },
    {
        "LOSS": "losses.SparseCategoricalCrossentropy(from_logits=False)",
        "HEADACT": "'softmax'",
        "METRIC": "metrics.SparseCategoricalAccuracy(name='accuracy')",
    },
)
OPTIM = (
    "optimizers.Adam(1e-3)",
    "optimizers.SGD(learning_rate=optimizers.schedules.CosineDecay(0.05, decay_steps=EPOCHS * steps_per_epoch), momentum=0.9, nesterov=True)",
    "optimizers.AdamW(learning_rate=3e-4, weight_decay=1e-4, clipnorm=1.0)",
    "optimizers.RMSprop(learning_rate=optimizers.schedules.ExponentialDecay(1e-3, decay_steps=1000, decay_rate=0.96, staircase=True))",
)
FIT = """history = model.fit(train_ds, validation_data=val_ds, epochs=EPOCHS, callbacks=$CALLS)
$FINE
loss, acc = model.evaluate(test_ds)
print('Test accuracy:', acc)"""
STEPS = """loss_fn = $LOSS
optimizer = $OPTIM
train_metric = $METRIC
val_metric = $METRIC
"""
TRAIN = (
    "model.compile(optimizer=$OPTIM, loss=$LOSS, metrics=[$METRIC])\n" + FIT,
    "model.compile(loss=$LOSS, optimizer=$OPTIM, metrics=[$METRIC], jit_compile=False)\n"
    + FIT.replace("test_ds)", "test_ds, verbose=0)"),
    STEPS
    + """

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        preds = model(x, training=True)
        loss_value = loss_fn(y, preds)
        $REGULAR
    grads = tape.gradient(loss_value, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    train_metric.update_state(y, preds)
    return loss_value


@tf.function
def test_step(x, y):
    val_preds = model(x, training=False)
    val_metric.update_state(y, val_preds)


best = 0.0
for epoch in range(EPOCHS):
    print('Start of epoch %d' % (epoch,))
    for step, (x_batch, y_batch) in enumerate(train_ds):
        loss_value = train_step(x_batch, y_batch)
        if step % 200 == 0:
            print('Training loss at step %d: %.4f' % (step, float(loss_value)))
    print('Training acc over epoch: %.4f' % (float(train_metric.result()),))
    train_metric.reset_state()
    for x_batch, y_batch in val_ds:
        test_step(x_batch, y_batch)
    val_acc = float(val_metric.result())
    val_metric.reset_state()
    print('Validation acc: %.4f' % val_acc)
    if val_acc > best:
        best = val_acc
        model.save_weights('best.weights.h5')
model.load_weights('best.weights.h5')
for x_batch, y_batch in test_ds:
    test_step(x_batch, y_batch)
print('Test acc: %.4f' % float(val_metric.result()))""",
    """class Trainer(keras.Model):
    def __init__(self, network):
        super().__init__()
        self.network = network
        self.loss_tracker = metrics.Mean(name='loss')
        self.acc = $METRIC
        self.loss_fn = $LOSS

    @property
    def metrics(self):
        return [self.loss_tracker, self.acc]

    def call(self, x, training=False):
        return self.network(x, training=training)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self.network(x, training=True)
            loss = self.loss_fn(y, y_pred)
            $REGULARNET
        gradients = tape.gradient(loss, self.network.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.acc.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        y_pred = self.network(x, training=False)
        self.loss_tracker.update_state(self.loss_fn(y, y_pred))
        self.acc.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


trainer = Trainer(model)
trainer.compile(optimizer=$OPTIM)
trainer.fit(train_ds, epochs=EPOCHS, validation_data=val_ds, callbacks=$CALLS)
print(trainer.evaluate(test_ds, return_dict=True))""",
    """strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.models.clone_model(model)
    model.compile(optimizer=$OPTIM, loss=$LOSS, metrics=[$METRIC])
model.fit(train_ds, epochs=EPOCHS, validation_data=val_ds, callbacks=$CALLS)
print(dict(zip(model.metrics_names, model.evaluate(test_ds, verbose=0))))""",
)
CALLS = (
    "[callbacks.EarlyStopping(monitor='val_loss', patience=5, restore_best_weights=True)]",
    "[callbacks.ModelCheckpoint('model.keras', monitor='val_accuracy', save_best_only=True, mode='max'), callbacks.TensorBoard('logs')]",
    "[callbacks.CSVLogger('log.csv'), callbacks.TerminateOnNaN()]",
    "None",
)
PICTURES = Kit(
    "keras_pictures",
    TEXT,
    {
        "IMPORTS": IMPORTS,
        "SEED": SEED,
        "POLICY": POLICY,
        "DATA": DATA,
        "AUGMENT": AUGMENT,
        "PIPE": PIPE,
        "MODEL": MODEL,
        "SCALE": SCALE,
        "LOSS": LOSS,
        "OPTIM": OPTIM,
        "CALLS": CALLS,
        "TRAIN": TRAIN,
    },
    # a loop of one's own scales no losses; a subclassed model cannot be cloned
    apart=(
        (("POLICY", 1), ("TRAIN", 2)),
        (("POLICY", 1), ("TRAIN", 3)),
        (("MODEL", 1), ("TRAIN", 4)),
        (("MODEL", 3), ("TRAIN", 4)),
        (("MODEL", 4), ("TRAIN", 4)),
        (("MODEL", 3), ("DATA", 1)),
        (("MODEL", 4), ("DATA", 1)),
    ),
)
