"""WaveNet-like causal convolution stack over log-mel frames."""
import tensorflow as tf


class GatedBlock(tf.keras.layers.Layer):
    def __init__(self, filters, dilation, dropout, **kwargs):
        super().__init__(**kwargs)
        self.norm = tf.keras.layers.LayerNormalization(epsilon=1e-5)
        self.content = tf.keras.layers.Conv1D(filters, 3, dilation_rate=dilation, padding="causal")
        self.gate = tf.keras.layers.Conv1D(filters, 3, dilation_rate=dilation, padding="causal")
        self.mix = tf.keras.layers.Conv1D(filters, 1)
        self.dropout = tf.keras.layers.Dropout(dropout)

    def call(self, x, training=None):
        h = self.norm(x)
        h = tf.tanh(self.content(h)) * tf.sigmoid(self.gate(h))
        h = self.dropout(self.mix(h), training=training)
        return x + h


class InstrumentNet(tf.keras.Model):
    """Which instruments play in a clip (several at a time)."""

    def __init__(self, num_tags, filters=128, stacks=2, depth=6, dropout=0.1):
        super().__init__()
        self.stem = tf.keras.layers.Conv1D(filters, 1)
        self.blocks = [GatedBlock(filters, 2**i, dropout) for _ in range(stacks) for i in range(depth)]
        self.norm = tf.keras.layers.LayerNormalization(epsilon=1e-5)
        self.hidden = tf.keras.layers.Dense(256, activation="gelu")
        self.dropout = tf.keras.layers.Dropout(dropout)
        self.tags = tf.keras.layers.Dense(num_tags, dtype="float32")

    def call(self, mel, training=None):
        x = self.stem(mel)
        for block in self.blocks:
            x = block(x, training=training)
        x = tf.reduce_mean(self.norm(x), axis=1)
        x = self.dropout(self.hidden(x), training=training)
        return self.tags(x)
