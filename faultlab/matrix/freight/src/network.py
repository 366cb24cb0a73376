"""An LSTM over station and delay with masked padding (station 0)."""

import tensorflow as tf

from settings import Settings


class DelayNet(tf.keras.Model):
    def __init__(self, settings: Settings):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(settings.stations, settings.embedding)
        self.lstm = tf.keras.layers.LSTM(settings.hidden, return_sequences=True)
        self.norm = tf.keras.layers.LayerNormalization()
        self.dropout = tf.keras.layers.Dropout(settings.drop_rate)
        self.score = tf.keras.layers.Dense(1)
        self.out = tf.keras.layers.Dense(1)

    def call(self, inputs, training=False):
        mask = tf.not_equal(inputs["stations"], 0)
        x = tf.concat([self.embed(inputs["stations"]), inputs["delays"][..., None]], axis=-1)
        h = self.lstm(x, mask=mask, training=training)
        h = self.dropout(self.norm(h), training=training)
        scores = tf.squeeze(self.score(h), axis=-1)
        scores = tf.where(mask, scores, tf.fill(tf.shape(scores), -1e9))
        weights = tf.nn.softmax(scores, axis=1)
        pooled = tf.reduce_sum(h * weights[..., None], axis=1)
        return tf.squeeze(self.out(pooled), axis=-1)
