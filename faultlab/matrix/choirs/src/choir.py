# %% [markdown]
# Which voice sings: soprano, alto, tenor, bass; from mel frames of choir recordings.

# In[1]:
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(11)

# In[2]:
data = np.load("choir.npz")
mels, voice, piece = data["mels"].astype("float32"), data["voice"].astype("int32"), data["piece"]
held = np.isin(piece, np.unique(piece)[::6])
train_x, train_y, valid_x, valid_y = mels[~held], voice[~held], mels[held], voice[held]

# In[3]:
BATCH, EPOCHS, WARM_EPOCHS, PEAK = 64, 60, 3, 1e-3
strategy = tf.distribute.MirroredStrategy()
GLOBAL = BATCH * strategy.num_replicas_in_sync
steps = len(train_x) // GLOBAL
print(steps, "steps")


# In[4]:
def make(x, y, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if training:
        ds = ds.shuffle(len(x), seed=11).repeat()
    return ds.batch(GLOBAL, drop_remainder=training).prefetch(tf.data.AUTOTUNE)


train, valid = make(train_x, train_y, True), make(valid_x, valid_y, False)


# In[5]:
class WarmCosine(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warm, total):
        self.peak, self.warm, self.total = peak, warm, total

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        up = self.peak * (step + 1.0) / self.warm
        f = tf.clip_by_value((step - self.warm) / (self.total - self.warm), 0.0, 1.0)
        down = 0.5 * self.peak * (1.0 + tf.cos(np.pi * f))
        return tf.where(step < self.warm, up, down)

    def get_config(self):
        return {"peak": self.peak, "warm": self.warm, "total": self.total}


# In[6]:
with strategy.scope():
    norm = layers.Normalization(axis=-1)
    norm.adapt(train_x)
    inp = keras.Input(train_x.shape[1:])
    x = norm(inp)
    for width in (64, 128, 128):
        x = layers.Conv1D(width, 5, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.MaxPool1D(2)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.3)(x)
    out = layers.Dense(4)(x)
    model = keras.Model(inp, out)
    schedule = WarmCosine(PEAK, WARM_EPOCHS * steps, EPOCHS * steps)
    opt = keras.optimizers.AdamW(schedule, weight_decay=1e-2, use_ema=True, ema_momentum=0.99)
    opt.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    model.compile(opt, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])

# In[7]:
os.makedirs("out", exist_ok=True)
callbacks = [
    keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
    keras.callbacks.BackupAndRestore("out/backup"),
    keras.callbacks.CSVLogger("out/log.csv", append=True),
]
hist = model.fit(train, steps_per_epoch=steps, epochs=EPOCHS, validation_data=valid, callbacks=callbacks)

# In[8]:
model.save("out/choir.keras")
print(max(hist.history["val_accuracy"]))
print(model.evaluate(valid, return_dict=True))
