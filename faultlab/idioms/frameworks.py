# ruff: noqa: E501
"""One classifier as the guides of Lightning, Flax, MindSpore, Paddle and Keras' own loops write it."""

from __future__ import annotations

from . import Book, Choice

LIGHTNING = (
    """import os
import torch
import torch.nn.functional as F
import lightning as L
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, random_split
from torchvision import transforms
from torchvision.datasets import MNIST


class MNISTDataModule(L.LightningDataModule):
    def __init__(self, data_dir='./', batch_size=64):
        super().__init__()
        self.data_dir, self.batch_size = data_dir, batch_size
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])

    def prepare_data(self):
        MNIST(self.data_dir, train=True, download=True)
        MNIST(self.data_dir, train=False, download=True)

    def setup(self, stage=None):
        if stage == 'fit' or stage is None:
            full = MNIST(self.data_dir, train=True, transform=self.transform)
            self.train_set, self.val_set = random_split(full, [55000, 5000], generator=torch.Generator().manual_seed(42))
        if stage == 'test' or stage is None:
            self.test_set = MNIST(self.data_dir, train=False, transform=self.transform)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True, num_workers=4)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.batch_size)

    def test_dataloader(self):
        return DataLoader(self.test_set, batch_size=self.batch_size)


class LitMNIST(L.LightningModule):
    def __init__(self, hidden=128, learning_rate=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 10))
        self.val_acc = torchmetrics.Accuracy(task='multiclass', num_classes=10)
        self.test_acc = torchmetrics.Accuracy(task='multiclass', num_classes=10)

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log('train_loss', loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.val_acc(logits.argmax(dim=1), y)
        self.log('val_loss', F.cross_entropy(logits, y), prog_bar=True)
        self.log('val_acc', self.val_acc, prog_bar=True)

    def test_step(self, batch, batch_idx):
        x, y = batch
        self.test_acc.update(self(x).argmax(dim=1), y)
        self.log('test_acc', self.test_acc)

    def configure_optimizers(self):
        CONFIGURED


L.seed_everything(42)
ckpt = L.pytorch.callbacks.ModelCheckpoint(monitor='val_loss', mode='min', save_top_k=1)
trainer = L.Trainer(max_epochs=10, accelerator='auto', gradient_clip_val=1.0, callbacks=[ckpt, L.pytorch.callbacks.EarlyStopping('val_acc', mode='max', patience=3)])
trainer.fit(LitMNIST(), MNISTDataModule())
trainer.test(ckpt_path='best', datamodule=MNISTDataModule())
""",
    """import pytorch_lightning as pl
import torch
import torch.nn as nn
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms


class LitResNet(pl.LightningModule):
    def __init__(self, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = torchvision.models.resnet18(weights=None, num_classes=10)
        self.net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.net.maxpool = nn.Identity()
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def _shared_step(self, batch, stage):
        x, y = batch
        logits = self(x)
        loss = self.loss(logits, y)
        acc = (logits.argmax(-1) == y).float().mean()
        self.log_dict({f'{stage}_loss': loss, f'{stage}_acc': acc}, prog_bar=True, on_epoch=True)
        return loss

    def training_step(self, batch, _):
        return self._shared_step(batch, 'train')

    def validation_step(self, batch, _):
        self._shared_step(batch, 'val')

    def configure_optimizers(self):
        CONFIGURED


norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
train_tf = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
val_tf = transforms.Compose([transforms.ToTensor(), norm])
train_loader = DataLoader(torchvision.datasets.CIFAR10('.', True, train_tf, download=True), 256, shuffle=True, num_workers=4)
val_loader = DataLoader(torchvision.datasets.CIFAR10('.', False, val_tf), 256, num_workers=4)
pl.seed_everything(7)
trainer = pl.Trainer(max_epochs=30, precision='16-mixed', callbacks=[pl.callbacks.LearningRateMonitor()])
trainer.fit(LitResNet(), train_loader, val_loader)
""",
)
CONFIGURED = (
    "return torch.optim.Adam(self.parameters(), lr=1e-3)",
    """optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        steps = self.trainer.estimated_stepping_batches
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)
        return {'optimizer': optimizer, 'lr_scheduler': {'scheduler': scheduler, 'interval': 'step'}}""",
    """optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3, weight_decay=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)]""",
)
OTHERS = (
    """import jax
import jax.numpy as jnp
import optax
import tensorflow_datasets as tfds
from flax import linen as nn
from flax.training import train_state


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(features=32, kernel_size=(3, 3))(x))
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        x = nn.relu(nn.Dense(features=256)(x))
        return nn.Dense(features=10)(x)


@jax.jit
def apply_model(state, images, labels):
    def loss_fn(params):
        logits = state.apply_fn({'params': params}, images)
        one_hot = jax.nn.one_hot(labels, 10)
        loss = jnp.mean(optax.softmax_cross_entropy(logits=logits, labels=one_hot))
        return loss, logits

    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(state.params)
    accuracy = jnp.mean(jnp.argmax(logits, -1) == labels)
    return grads, loss, accuracy


@jax.jit
def update_model(state, grads):
    return state.apply_gradients(grads=grads)


def train_epoch(state, train_ds, batch_size, rng):
    train_ds_size = len(train_ds['image'])
    steps_per_epoch = train_ds_size // batch_size
    perms = jax.random.permutation(rng, train_ds_size)
    perms = perms[: steps_per_epoch * batch_size]
    perms = perms.reshape((steps_per_epoch, batch_size))
    epoch_loss, epoch_accuracy = [], []
    for perm in perms:
        grads, loss, accuracy = apply_model(state, train_ds['image'][perm, ...], train_ds['label'][perm, ...])
        state = update_model(state, grads)
        epoch_loss.append(loss)
        epoch_accuracy.append(accuracy)
    return state, jnp.mean(jnp.array(epoch_loss)), jnp.mean(jnp.array(epoch_accuracy))


ds_builder = tfds.builder('mnist')
ds_builder.download_and_prepare()
train_ds = tfds.as_numpy(ds_builder.as_dataset(split='train', batch_size=-1))
test_ds = tfds.as_numpy(ds_builder.as_dataset(split='test', batch_size=-1))
train_ds['image'] = jnp.float32(train_ds['image']) / 255.0
test_ds['image'] = jnp.float32(test_ds['image']) / 255.0
rng = jax.random.key(0)
rng, init_rng = jax.random.split(rng)
cnn = CNN()
params = cnn.init(init_rng, jnp.ones([1, 28, 28, 1]))['params']
state = train_state.TrainState.create(apply_fn=cnn.apply, params=params, tx=optax.sgd(0.1, 0.9))
for epoch in range(1, 11):
    rng, input_rng = jax.random.split(rng)
    state, train_loss, train_accuracy = train_epoch(state, train_ds, 128, input_rng)
    _, test_loss, test_accuracy = apply_model(state, test_ds['image'], test_ds['label'])
    print('epoch:% 3d, train_loss: %.4f, test_loss: %.4f, test_accuracy: %.2f' % (epoch, train_loss, test_loss, test_accuracy * 100))
""",
    """import mindspore
from mindspore import nn
from mindspore.dataset import MnistDataset, transforms, vision

train_dataset = MnistDataset('MNIST_Data/train')
test_dataset = MnistDataset('MNIST_Data/test')


def datapipe(dataset, batch_size):
    image_transforms = [vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.1307,), std=(0.3081,)), vision.HWC2CHW()]
    label_transform = transforms.TypeCast(mindspore.int32)
    dataset = dataset.map(image_transforms, 'image')
    dataset = dataset.map(label_transform, 'label')
    dataset = dataset.batch(batch_size)
    return dataset


train_dataset = datapipe(train_dataset, 64)
test_dataset = datapipe(test_dataset, 64)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu_sequential = nn.SequentialCell(nn.Dense(28 * 28, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10))

    def construct(self, x):
        return self.dense_relu_sequential(self.flatten(x))


model = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(model.trainable_params(), 1e-2)


def forward_fn(data, label):
    logits = model(data)
    loss = loss_fn(logits, label)
    return loss, logits


grad_fn = mindspore.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)


def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    optimizer(grads)
    return loss


def train(model, dataset):
    size = dataset.get_dataset_size()
    model.set_train()
    for batch, (data, label) in enumerate(dataset.create_tuple_iterator()):
        loss = train_step(data, label)
        if batch % 100 == 0:
            print(f'loss: {loss.asnumpy():>7f}  [{batch:>3d}/{size:>3d}]')


def test(model, dataset, loss_fn):
    num_batches = dataset.get_dataset_size()
    model.set_train(False)
    total, test_loss, correct = 0, 0, 0
    for data, label in dataset.create_tuple_iterator():
        pred = model(data)
        total += len(data)
        test_loss += loss_fn(pred, label).asnumpy()
        correct += (pred.argmax(1) == label).asnumpy().sum()
    test_loss /= num_batches
    correct /= total
    print(f'Test: Accuracy: {(100 * correct):>0.1f}%, Avg loss: {test_loss:>8f}')


for t in range(3):
    train(model, train_dataset)
    test(model, test_dataset, loss_fn)
mindspore.save_checkpoint(model, 'model.ckpt')
""",
    """import mindspore as ms
from mindspore import nn, train
from mindspore.dataset import Cifar10Dataset, transforms, vision
from mindspore.common.initializer import Normal
from mindspore.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor

ms.set_seed(1)
ms.set_context(mode=ms.GRAPH_MODE, device_target='Ascend')


def create_dataset(path, usage, batch_size=32):
    ds = Cifar10Dataset(path, usage=usage, shuffle=usage == 'train')
    ops = []
    if usage == 'train':
        ops += [vision.RandomCrop((32, 32), (4, 4, 4, 4)), vision.RandomHorizontalFlip(prob=0.5)]
    ops += [vision.Rescale(1.0 / 255.0, 0.0), vision.Normalize([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]), vision.HWC2CHW()]
    ds = ds.map(operations=ops, input_columns='image')
    ds = ds.map(operations=transforms.TypeCast(ms.int32), input_columns='label')
    return ds.batch(batch_size, drop_remainder=usage == 'train')


class LeNet(nn.Cell):
    def __init__(self, num_class=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5, pad_mode='valid')
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode='valid')
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1 = nn.Dense(16 * 5 * 5, 120, weight_init=Normal(0.02))
        self.fc2 = nn.Dense(120, num_class, weight_init=Normal(0.02))

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc2(self.relu(self.fc1(self.flatten(x))))


train_ds, eval_ds = create_dataset('cifar10', 'train'), create_dataset('cifar10', 'test')
step_size = train_ds.get_dataset_size()
net = LeNet()
lr = nn.cosine_decay_lr(min_lr=0.0001, max_lr=0.05, total_step=90 * step_size, step_per_epoch=step_size, decay_epoch=90)
opt = nn.Momentum(net.trainable_params(), learning_rate=lr, momentum=0.9, weight_decay=1e-4, loss_scale=1024)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')
model = Model(net, loss_fn=loss, optimizer=opt, metrics={'acc'}, amp_level='O2', loss_scale_manager=train.FixedLossScaleManager(1024, drop_overflow_update=False))
ckpt = ModelCheckpoint(prefix='lenet', directory='ckpt', config=CheckpointConfig(save_checkpoint_steps=step_size, keep_checkpoint_max=10))
model.train(90, train_ds, callbacks=[LossMonitor(), TimeMonitor(), ckpt], dataset_sink_mode=True)
print(model.eval(eval_ds))
""",
    """import paddle
import paddle.nn.functional as F
from paddle.vision.transforms import Compose, Normalize

paddle.seed(0)
transform = Compose([Normalize(mean=[127.5], std=[127.5], data_format='CHW')])
train_dataset = paddle.vision.datasets.MNIST(mode='train', transform=transform)
test_dataset = paddle.vision.datasets.MNIST(mode='test', transform=transform)


class LeNet(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv1 = paddle.nn.Conv2D(1, 6, 5, padding=2)
        self.pool = paddle.nn.MaxPool2D(2, 2)
        self.conv2 = paddle.nn.Conv2D(6, 16, 5)
        self.fc1 = paddle.nn.Linear(16 * 5 * 5, 120)
        self.fc2 = paddle.nn.Linear(120, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = paddle.flatten(x, start_axis=1)
        return self.fc2(F.relu(self.fc1(x)))


train_loader = paddle.io.DataLoader(train_dataset, batch_size=64, shuffle=True)
test_loader = paddle.io.DataLoader(test_dataset, batch_size=64)
model = LeNet()
optim = paddle.optimizer.Adam(learning_rate=0.001, parameters=model.parameters())
for epoch in range(5):
    model.train()
    for batch_id, data in enumerate(train_loader()):
        x_data, y_data = data[0], data[1]
        predicts = model(x_data)
        loss = F.cross_entropy(predicts, y_data)
        acc = paddle.metric.accuracy(predicts, y_data)
        loss.backward()
        if batch_id % 300 == 0:
            print('epoch: {}, batch_id: {}, loss is: {}, acc is: {}'.format(epoch, batch_id, loss.numpy(), acc.numpy()))
        optim.step()
        optim.clear_grad()
    model.eval()
    with paddle.no_grad():
        accs = [paddle.metric.accuracy(model(d[0]), d[1]).item() for d in test_loader()]
    print('test acc', sum(accs) / len(accs))
""",
    """import tensorflow as tf

(x_train, y_train), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
x_train, x_test = x_train / 255.0, x_test / 255.0
x_train = x_train[..., tf.newaxis].astype('float32')
x_test = x_test[..., tf.newaxis].astype('float32')
train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(10000).batch(32)
test_ds = tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(32)


class MyModel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = tf.keras.layers.Conv2D(32, 3, activation='relu')
        self.flatten = tf.keras.layers.Flatten()
        self.d1 = tf.keras.layers.Dense(128, activation='relu')
        self.d2 = tf.keras.layers.Dense(10)

    def call(self, x):
        return self.d2(self.d1(self.flatten(self.conv1(x))))


model = MyModel()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()
train_loss = tf.keras.metrics.Mean(name='train_loss')
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name='train_accuracy')
test_loss = tf.keras.metrics.Mean(name='test_loss')
test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name='test_accuracy')


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = loss_object(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss(loss)
    train_accuracy(labels, predictions)


@tf.function
def test_step(images, labels):
    predictions = model(images, training=False)
    test_loss(loss_object(labels, predictions))
    test_accuracy(labels, predictions)


for epoch in range(5):
    train_loss.reset_state()
    train_accuracy.reset_state()
    test_loss.reset_state()
    test_accuracy.reset_state()
    for images, labels in train_ds:
        train_step(images, labels)
    for test_images, test_labels in test_ds:
        test_step(test_images, test_labels)
    print(f'Epoch {epoch + 1}, Loss: {train_loss.result():0.2f}, Accuracy: {train_accuracy.result() * 100:0.2f}, Test Accuracy: {test_accuracy.result() * 100:0.2f}')
""",
    """import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

train_ds, val_ds = keras.utils.image_dataset_from_directory('PetImages', validation_split=0.2, subset='both', seed=1337, image_size=(180, 180), batch_size=32)
data_augmentation = keras.Sequential([layers.RandomFlip('horizontal'), layers.RandomRotation(0.1)])
train_ds = train_ds.map(lambda img, label: (data_augmentation(img), label), num_parallel_calls=tf.data.AUTOTUNE)
train_ds = train_ds.prefetch(tf.data.AUTOTUNE)
val_ds = val_ds.prefetch(tf.data.AUTOTUNE)
base_model = keras.applications.Xception(weights='imagenet', input_shape=(180, 180, 3), include_top=False)
base_model.trainable = False
inputs = keras.Input(shape=(180, 180, 3))
x = layers.Rescaling(scale=1 / 127.5, offset=-1)(inputs)
x = base_model(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.2)(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(), loss=keras.losses.BinaryCrossentropy(from_logits=True), metrics=[keras.metrics.BinaryAccuracy()])
model.fit(train_ds, epochs=2, validation_data=val_ds)
base_model.trainable = True
model.compile(optimizer=keras.optimizers.Adam(1e-5), loss=keras.losses.BinaryCrossentropy(from_logits=True), metrics=[keras.metrics.BinaryAccuracy()])
model.fit(train_ds, epochs=1, validation_data=val_ds)
""",
    """from keras.callbacks import ModelCheckpoint, ReduceLROnPlateau
from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential
from keras.preprocessing.image import ImageDataGenerator

img_width, img_height, batch_size = 150, 150, 16
nb_train_samples, nb_validation_samples = 2000, 800
model = Sequential()
model.add(Conv2D(32, (3, 3), activation='relu', input_shape=(img_width, img_height, 3)))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Conv2D(64, (3, 3), activation='relu'))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(64, activation='relu'))
model.add(Dropout(0.5))
model.add(Dense(1, activation='sigmoid'))
model.compile(loss='binary_crossentropy', optimizer='rmsprop', metrics=['accuracy'])
train_datagen = ImageDataGenerator(rescale=1.0 / 255, shear_range=0.2, zoom_range=0.2, horizontal_flip=True)
test_datagen = ImageDataGenerator(rescale=1.0 / 255)
train_generator = train_datagen.flow_from_directory('data/train', target_size=(img_width, img_height), batch_size=batch_size, class_mode='binary')
validation_generator = test_datagen.flow_from_directory('data/validation', target_size=(img_width, img_height), batch_size=batch_size, class_mode='binary')
model.fit(train_generator, steps_per_epoch=nb_train_samples // batch_size, epochs=50, validation_data=validation_generator, validation_steps=nb_validation_samples // batch_size, callbacks=[ModelCheckpoint('best.h5', monitor='val_loss', save_best_only=True), ReduceLROnPlateau(monitor='val_loss', factor=0.2, patience=5)])
model.save_weights('first_try.h5')
""",
)
GUIDES = (*LIGHTNING, *OTHERS)


def write(choice: Choice) -> str | None:
    """The program of one choice; only Lightning has several ways to configure its optimizer."""
    guide, configured = choice
    if guide >= len(LIGHTNING):
        return GUIDES[guide] if configured == 0 else None
    return GUIDES[guide].replace("CONFIGURED", CONFIGURED[configured])


BOOK = Book("frameworks", (len(GUIDES), len(CONFIGURED)), write)
