"""The moss embedding network: an encoder, a projection, a classifier, and their own training step."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class ConvBlock(layers.Layer):
    """Convolution, batch norm, activation, dropout."""

    def __init__(self, filters, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer="he_normal")
        self.norm = layers.BatchNormalization()
        self.drop = layers.Dropout(rate)
        self.pool = layers.MaxPooling2D()

    def call(self, x, training=None):
        x = self.conv(x)
        x = self.norm(x, training=training)
        x = tf.nn.relu(x)
        x = self.pool(x)
        return self.drop(x, training=training)


class Encoder(layers.Layer):
    """Four blocks and a global average."""

    def __init__(self, widths, rate, **kwargs):
        super().__init__(**kwargs)
        self.blocks = [ConvBlock(w, rate) for w in widths]
        self.gap = layers.GlobalAveragePooling2D()

    def call(self, x, training=None):
        for block in self.blocks:
            x = block(x, training=training)
        return self.gap(x)


class MossNet(keras.Model):
    """A classifier with a consistency term between two views of an image."""

    def __init__(self, num_classes, widths=(32, 64, 96, 128), rate=0.1, weight=0.5, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = num_classes
        self.weight = weight
        self.encoder = Encoder(widths, rate)
        self.project = layers.Dense(64)
        self.head = layers.Dense(num_classes)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.consistency_tracker = keras.metrics.Mean(name="consistency")
        self.accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")

    def call(self, x, training=None):
        return self.head(self.encoder(x, training=training))

    def embed(self, x, training=None):
        z = self.project(self.encoder(x, training=training))
        return tf.math.l2_normalize(z, axis=-1)

    @property
    def metrics(self):
        return [self.loss_tracker, self.consistency_tracker, self.accuracy]

    def train_step(self, data):
        (first, second), y = data
        with tf.GradientTape() as tape:
            logits = self(first, training=True)
            ce = keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
            za = self.embed(first, training=True)
            zb = self.embed(second, training=True)
            consistency = 1.0 - tf.reduce_sum(za * zb, axis=-1)
            loss = tf.reduce_mean(ce + self.weight * consistency)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
        self.optimizer.apply_gradients(zip(gradients, variables))
        self.loss_tracker.update_state(loss)
        self.consistency_tracker.update_state(consistency)
        self.accuracy.update_state(y, logits)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        logits = self(x, training=False)
        ce = keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
        self.loss_tracker.update_state(ce)
        self.accuracy.update_state(y, logits)
        return {"loss": self.loss_tracker.result(), "accuracy": self.accuracy.result()}
