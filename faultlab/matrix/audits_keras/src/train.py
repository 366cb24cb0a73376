# Energy rating of houses from audit sheets (five classes) -- Keras functional API
import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow import keras
from tensorflow.keras import layers

SEED = 7
BATCH = 128
EPOCHS = 60
LR = 1e-3
NUMERIC = ["area", "year", "floors", "window_area", "roof_u", "wall_u", "heating_kw"]
CATEGORIES = {"region": 24, "fuel": 6, "kind": 9}
CLASSES = ["A", "B", "C", "D", "E"]

tf.random.set_seed(SEED)
np.random.seed(SEED)

df = pd.read_csv("audits.csv").dropna(subset=["rating"])
y = df["rating"].map({c: i for i, c in enumerate(CLASSES)}).values
train_df, rest_df, y_train, y_rest = train_test_split(df, y, test_size=0.3, random_state=SEED, stratify=y)
val_df, test_df, y_val, y_test = train_test_split(rest_df, y_rest, test_size=0.5, random_state=SEED, stratify=y_rest)

medians = train_df[NUMERIC].median()
scaler = StandardScaler().fit(train_df[NUMERIC].fillna(medians))


def features(frame):
    out = {name: frame[name].values.astype("int32") for name in CATEGORIES}
    out["numeric"] = scaler.transform(frame[NUMERIC].fillna(medians)).astype("float32")
    return out


def dataset(frame, target, training=False):
    ds = tf.data.Dataset.from_tensor_slices((features(frame), target))
    if training:
        ds = ds.shuffle(len(target), seed=SEED)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = {"numeric": keras.Input((len(NUMERIC),), name="numeric")}
    parts = [inputs["numeric"]]
    for name, size in CATEGORIES.items():
        inputs[name] = keras.Input((), dtype="int32", name=name)
        parts.append(layers.Embedding(size, 8)(inputs[name]))
    x = layers.concatenate(parts)
    for width in (128, 64):
        x = layers.Dense(width)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.Dropout(0.3)(x)
    outputs = layers.Dense(len(CLASSES), activation="softmax")(x)
    return keras.Model(inputs, outputs)


model = build_model()
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=LR),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
callbacks = [
    keras.callbacks.ModelCheckpoint("best.keras", monitor="val_accuracy", mode="max", save_best_only=True),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3),
    keras.callbacks.CSVLogger("history.csv"),
]
train_ds = dataset(train_df, y_train, training=True)
val_ds = dataset(val_df, y_val)
test_ds = dataset(test_df, y_test)
counts = np.bincount(y_train, minlength=len(CLASSES))
weights = {i: len(y_train) / (len(CLASSES) * n) for i, n in enumerate(counts)}
model.fit(train_ds, validation_data=val_ds, epochs=EPOCHS, callbacks=callbacks, class_weight=weights, verbose=2)

model = keras.models.load_model("best.keras")
loss, accuracy = model.evaluate(test_ds, verbose=0)
print(f"test loss {loss:.4f} accuracy {accuracy:.4f}")
