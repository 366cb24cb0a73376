"""A tagger: embedding, two bidirectional LSTMs, and a linear layer; tag 0 is padding."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class Tagger(keras.Model):
    def __init__(self, num_words, num_tags, dim=128, units=192, rate=0.3, smoothing=0.05):
        super().__init__()
        self.num_tags = num_tags
        self.smoothing = smoothing
        self.embed = layers.Embedding(num_words, dim, mask_zero=True)
        self.drop = layers.Dropout(rate)
        self.first = layers.Bidirectional(layers.LSTM(units, return_sequences=True))
        self.second = layers.Bidirectional(layers.LSTM(units, return_sequences=True))
        self.norm = layers.LayerNormalization()
        self.out = layers.Dense(num_tags)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.acc_tracker = keras.metrics.Mean(name="accuracy")

    @property
    def metrics(self):
        return [self.loss_tracker, self.acc_tracker]

    def call(self, words, training=False):
        mask = self.embed.compute_mask(words)
        x = self.embed(words)
        x = self.drop(x, training=training)
        x = self.first(x, mask=mask, training=training)
        x = self.drop(x, training=training)
        x = self.second(x, mask=mask, training=training)
        x = self.norm(x)
        return self.out(x)

    def masked_loss(self, tags, logits):
        weights = tf.cast(tf.not_equal(tags, 0), logits.dtype)
        targets = tf.one_hot(tags, self.num_tags)
        targets = targets * (1.0 - self.smoothing) + self.smoothing / self.num_tags
        losses = tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=logits)
        return tf.reduce_sum(losses * weights) / tf.maximum(tf.reduce_sum(weights), 1.0)

    def count_right(self, tags, logits):
        weights = tf.cast(tf.not_equal(tags, 0), tf.float32)
        guess = tf.argmax(logits, axis=-1, output_type=tf.int32)
        hits = tf.cast(tf.equal(guess, tags), tf.float32)
        return hits, weights

    def train_step(self, data):
        words, tags = data
        with tf.GradientTape() as tape:
            logits = self(words, training=True)
            loss = self.masked_loss(tags, logits)
        grads = tape.gradient(loss, self.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 5.0)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        hits, weights = self.count_right(tags, logits)
        self.loss_tracker.update_state(loss)
        self.acc_tracker.update_state(hits, sample_weight=weights)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        words, tags = data
        logits = self(words, training=False)
        loss = self.masked_loss(tags, logits)
        hits, weights = self.count_right(tags, logits)
        tokens = tf.reduce_sum(weights)
        self.loss_tracker.update_state(loss, sample_weight=tokens)
        self.acc_tracker.update_state(hits, sample_weight=weights)
        return {m.name: m.result() for m in self.metrics}
