#!/usr/bin/env python
# coding: utf-8

# # Flat listings: price and condition from the photo and the form
# Two outputs, one network. First the head on a fixed EfficientNet, then the upper blocks as well.

# In[1]:

import json
import os

import numpy as np
import pandas as pd
import keras
from keras import layers, regularizers
from PIL import Image

SEED = 7
DATA = "input/flats"
WEIGHTS = "input/effnet/efficientnetb0_notop.h5"
OUT = "working"
IMG = 224
BS = 32
EPOCHS_HEAD = 12
EPOCHS_FINE = 12
LR_HEAD = 1e-3
LR_FINE = 2e-5
N_COND = 5

keras.utils.set_random_seed(SEED)
keras.mixed_precision.set_global_policy("mixed_float16")
os.makedirs(OUT, exist_ok=True)

# In[2]: read

df = pd.read_csv(f"{DATA}/flats.csv")
df = df[df["price"].between(20_000, 3_000_000)].reset_index(drop=True)

NUM = ["area", "rooms", "floor", "floors_total", "year_built", "dist_center", "dist_metro", "has_lift"]
df["area"] = np.log1p(df["area"])
df["dist_metro"] = np.log1p(df["dist_metro"])
# agents grade 1 (bad) ... 5 (new)
df["cond"] = df["condition"].astype(int) - 1
df["y"] = np.log1p(df["price"])

# In[3]: split, flats of one building stay together

rng = np.random.default_rng(SEED)
buildings = df["building_id"].unique()
val_buildings = rng.choice(buildings, size=len(buildings) // 6, replace=False)
is_val = df["building_id"].isin(val_buildings)
tr, va = df[~is_val].reset_index(drop=True), df[is_val].reset_index(drop=True)
print(len(tr), "train,", len(va), "val")

# In[4]: tabular features, everything fitted on train

med = tr[NUM].median()
tr_num, va_num = tr[NUM].fillna(med), va[NUM].fillna(med)
mu, sd = tr_num.mean(), tr_num.std().replace(0, 1)
tr_num, va_num = (tr_num - mu) / sd, (va_num - mu) / sd

zones = sorted(tr["zone"].unique())
zone_id = {z: i + 1 for i, z in enumerate(zones)}  # 0 = zone not seen in train
tr_zone = tr["zone"].map(zone_id).fillna(0).astype("int32")
va_zone = va["zone"].map(zone_id).fillna(0).astype("int32")

y_mu, y_sd = tr["y"].mean(), tr["y"].std()

counts = tr["cond"].value_counts().reindex(range(N_COND), fill_value=0)
cond_w = np.sqrt(counts.sum() / (N_COND * counts.clip(lower=1))).to_numpy("float32")

# In[5]: generator


class Flats(keras.utils.PyDataset):
    def __init__(self, frame, num, zone, train, **kw):
        super().__init__(**kw)
        self.files = frame["photo"].to_numpy()
        self.num = num.to_numpy("float32")
        self.zone = zone.to_numpy()
        self.price = ((frame["y"] - y_mu) / y_sd).to_numpy("float32")
        self.cond = frame["cond"].to_numpy("int32")
        self.train = train
        self.order = np.arange(len(frame))
        self.on_epoch_end()

    def __len__(self):
        return int(np.ceil(len(self.order) / BS))

    def on_epoch_end(self):
        if self.train:
            np.random.shuffle(self.order)

    def photo(self, name):
        img = Image.open(f"{DATA}/photos/{name}").convert("RGB").resize((IMG, IMG), Image.BICUBIC)
        img = np.asarray(img, dtype="float32")  # EfficientNet rescales 0..255 itself
        if self.train:
            if np.random.rand() < 0.5:
                img = img[:, ::-1]
            img = np.clip(img * np.random.uniform(0.85, 1.15), 0, 255)
        return img

    def __getitem__(self, k):
        i = self.order[k * BS:(k + 1) * BS]
        x = {
            "photo": np.stack([self.photo(f) for f in self.files[i]]),
            "num": self.num[i],
            "zone": self.zone[i],
        }
        y = {"price": self.price[i], "cond": self.cond[i]}
        w = {"price": np.ones(len(i), "float32"), "cond": cond_w[self.cond[i]]}
        return x, y, w


gen_tr = Flats(tr, tr_num, tr_zone, train=True, workers=4)
gen_va = Flats(va, va_num, va_zone, train=False, workers=4)

# In[6]: network

base = keras.applications.EfficientNetB0(include_top=False, weights=WEIGHTS, input_shape=(IMG, IMG, 3), pooling="avg")
base.trainable = False


def build(n_num, n_zones):
    photo_in = keras.Input((IMG, IMG, 3), name="photo")
    num_in = keras.Input((n_num,), name="num")
    zone_in = keras.Input((), dtype="int32", name="zone")

    p = base(photo_in, training=False)
    p = layers.Dropout(0.3)(p)
    p = layers.Dense(96, activation="relu")(p)

    n = layers.Dense(64, activation="relu")(num_in)
    n = layers.BatchNormalization()(n)
    n = layers.Dense(64, activation="relu")(n)

    z = layers.Embedding(n_zones + 1, 12)(zone_in)

    h = layers.Concatenate()([p, n, z])
    h = layers.Dense(192, activation="relu", kernel_regularizer=regularizers.l2(1e-5))(h)
    h = layers.BatchNormalization()(h)
    h = layers.Dropout(0.2)(h)

    hp = layers.Dense(48, activation="relu")(h)
    price = layers.Dense(1, dtype="float32", name="price")(hp)
    hc = layers.Dense(48, activation="relu")(h)
    cond = layers.Dense(N_COND, activation="softmax", dtype="float32", name="cond")(hc)
    return keras.Model([photo_in, num_in, zone_in], {"price": price, "cond": cond})


model = build(len(NUM), len(zones))


def compile_with(lr):
    model.compile(
        optimizer=keras.optimizers.Adam(lr, clipnorm=1.0),
        loss={"price": keras.losses.Huber(), "cond": "sparse_categorical_crossentropy"},
        loss_weights={"price": 1.0, "cond": 0.5},
        metrics={"price": ["mae"], "cond": ["accuracy"]},
    )


# In[7]: head first

callbacks = [
    keras.callbacks.CSVLogger(f"{OUT}/log.csv", append=True),
    keras.callbacks.ModelCheckpoint(f"{OUT}/best.weights.h5", monitor="val_price_mae", mode="min",
                                    save_best_only=True, save_weights_only=True),
]
plateau = keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.3, patience=2, min_lr=1e-5)

compile_with(LR_HEAD)
hist_head = model.fit(gen_tr, validation_data=gen_va, epochs=EPOCHS_HEAD, callbacks=callbacks + [plateau], verbose=2)

# In[8]: upper blocks too, batch norms of the base keep their statistics (training=False above)

base.trainable = True
for layer in base.layers:
    if not layer.name.startswith(("block6", "block7", "top")):
        layer.trainable = False
compile_with(keras.optimizers.schedules.CosineDecay(LR_FINE, decay_steps=EPOCHS_FINE * len(gen_tr)))
hist_fine = model.fit(gen_tr, validation_data=gen_va, initial_epoch=EPOCHS_HEAD, epochs=EPOCHS_HEAD + EPOCHS_FINE,
                      callbacks=callbacks, verbose=2)

# In[9]: result of the best epoch

model.load_weights(f"{OUT}/best.weights.h5")
pred = model.predict(gen_va, verbose=0)
price_hat = np.expm1(pred["price"][:, 0] * y_sd + y_mu)
ape = np.abs(price_hat - va["price"].to_numpy()) / va["price"].to_numpy()
hit = pred["cond"].argmax(1) == va["cond"].to_numpy()
recall = [float(hit[va["cond"].to_numpy() == c].mean()) for c in range(N_COND) if (va["cond"] == c).any()]
result = {"median_ape": float(np.median(ape)), "mape": float(ape.mean()), "cond_acc": float(hit.mean()),
          "cond_macro_recall": float(np.mean(recall))}
print(result)
with open(f"{OUT}/result.json", "w") as f:
    json.dump(result, f)
