# Which kettles come back within a year? Tabular notebook, exported as a flat script.
import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau

SEED = 11
BATCH = 128
EPOCHS = 60
tf.random.set_seed(SEED)
np.random.seed(SEED)

# ---------------------------------------------------------------- load
df = pd.read_csv("kettles.csv", parse_dates=["sold_at"])
df = df.drop_duplicates(subset="serial").reset_index(drop=True)
df["month"] = df["sold_at"].dt.month
df["log_price"] = np.log(df["price"] + 1.0)
df["watts_per_litre"] = df["watts"] / df["litres"].clip(lower=0.1)

numeric = ["log_price", "watts_per_litre", "weight", "boil_seconds", "warranty_months"]
categorical = ["maker", "shop", "month"]
target = "returned"

print(df[target].value_counts(normalize=True))

# ---------------------------------------------------------------- split
train_df, rest = train_test_split(df, test_size=0.3, stratify=df[target], random_state=SEED)
val_df, test_df = train_test_split(rest, test_size=0.5, stratify=rest[target], random_state=SEED)
train_df, val_df, test_df = train_df.copy(), val_df.copy(), test_df.copy()

# ---------------------------------------------------------------- features
medians = train_df[numeric].median()
for part in (train_df, val_df, test_df):
    part[numeric] = part[numeric].fillna(medians)

scaler = StandardScaler()
x_train_num = scaler.fit_transform(train_df[numeric])
x_val_num = scaler.transform(val_df[numeric])
x_test_num = scaler.transform(test_df[numeric])


def one_hot(part, columns):
    dummies = pd.get_dummies(part[categorical].astype(str))
    return dummies.reindex(columns=columns, fill_value=0).to_numpy(dtype="float32")


dummy_columns = pd.get_dummies(train_df[categorical].astype(str)).columns
x_train = np.hstack([x_train_num, one_hot(train_df, dummy_columns)]).astype("float32")
x_val = np.hstack([x_val_num, one_hot(val_df, dummy_columns)]).astype("float32")
x_test = np.hstack([x_test_num, one_hot(test_df, dummy_columns)]).astype("float32")

y_train = train_df[target].to_numpy(dtype="float32")
y_val = val_df[target].to_numpy(dtype="float32")
y_test = test_df[target].to_numpy(dtype="float32")

positives = y_train.sum()
class_weight = {0: 1.0, 1: float((len(y_train) - positives) / max(positives, 1.0))}

# ---------------------------------------------------------------- model
model = keras.Sequential([
    keras.Input(shape=(x_train.shape[1],)),
    layers.Dense(128, activation="relu", kernel_initializer="he_normal"),
    layers.BatchNormalization(),
    layers.Dropout(0.3),
    layers.Dense(64, activation="relu", kernel_initializer="he_normal"),
    layers.BatchNormalization(),
    layers.Dropout(0.2),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=1e-3),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryAccuracy(name="acc"), keras.metrics.AUC(name="auc")],
)
model.summary()

callbacks = [
    ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=4, min_lr=1e-5),
    EarlyStopping(monitor="val_auc", mode="max", patience=12),
    ModelCheckpoint("kettle_best.keras", monitor="val_auc", mode="max", save_best_only=True),
]

# ---------------------------------------------------------------- train
history = model.fit(
    x_train,
    y_train,
    batch_size=BATCH,
    epochs=EPOCHS,
    validation_data=(x_val, y_val),
    class_weight=class_weight,
    callbacks=callbacks,
    shuffle=True,
    verbose=2,
)
pd.DataFrame(history.history).to_csv("history.csv", index=False)

# ---------------------------------------------------------------- evaluate
best = keras.models.load_model("kettle_best.keras")
val_scores = best.predict(x_val, batch_size=1024)[:, 0]
grid = np.linspace(0.05, 0.95, 19)
threshold = grid[np.argmax([f1_score(y_val, val_scores > t) for t in grid])]

test_scores = best.predict(x_test, batch_size=1024)[:, 0]
print("threshold", threshold)
print("test auc", roc_auc_score(y_test, test_scores))
print("test f1", f1_score(y_test, test_scores > threshold))
