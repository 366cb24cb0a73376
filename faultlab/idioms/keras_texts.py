# ruff: noqa: E501
"""Keras: texts by TextVectorization or Tokenizer, and tables with several outputs, weights and inputs."""

from __future__ import annotations

from .composed import Kit

TEXT = """import os
import re
import string
import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight
$IMPORTS

$CONST
$READ
$ENCODE
$MODEL
$COMPILE
$WEIGHTS
$CALLS
$FIT
$SCORE
"""
IMPORTS = (
    "from tensorflow.keras import Input, Model, Sequential, layers, optimizers, losses, callbacks as cb\nfrom tensorflow.keras.layers import TextVectorization\nfrom tensorflow.keras.preprocessing.sequence import pad_sequences\nfrom tensorflow.keras.preprocessing.text import Tokenizer",
    "from keras import Input, Model, Sequential, layers, optimizers, losses, callbacks as cb\nfrom keras.layers import TextVectorization\nfrom keras.preprocessing.sequence import pad_sequences\nfrom keras.preprocessing.text import Tokenizer",
)
CONST = (
    "max_features = 20000\nsequence_length = 200\nembedding_dim = 100\nbatch_size = 32",
    "max_features, sequence_length, embedding_dim, batch_size = 10000, 120, 50, 128",
)
# train_texts, val_texts, test_texts: lists of strings; labels are 0 and 1.
READ = (
    """df = pd.read_csv('reviews.csv')
df = df.dropna(subset=['review', 'sentiment']).drop_duplicates('review').reset_index(drop=True)
df['label'] = (df['sentiment'] == 'positive').astype(int)


def clean(text):
    text = text.lower()
    text = re.sub('<br />', ' ', text)
    return re.sub('[%s]' % re.escape(string.punctuation), '', text)


df['review'] = df['review'].apply(clean)
train_df, test_df = train_test_split(df, test_size=0.2, stratify=df['label'], random_state=42)
train_df, val_df = train_test_split(train_df, test_size=0.1, stratify=train_df['label'], random_state=42)
train_texts, train_labels = train_df['review'].tolist(), train_df['label'].values
val_texts, val_labels = val_df['review'].tolist(), val_df['label'].values
test_texts, test_labels = test_df['review'].tolist(), test_df['label'].values""",
    """def read_folder(path):
    texts, labels = [], []
    for label, name in enumerate(['neg', 'pos']):
        for file in sorted(os.listdir(os.path.join(path, name))):
            with open(os.path.join(path, name, file), encoding='utf-8') as f:
                texts.append(f.read())
            labels.append(label)
    return texts, np.array(labels)


all_texts, all_labels = read_folder('aclImdb/train')
test_texts, test_labels = read_folder('aclImdb/test')
rng = np.random.RandomState(1337)
order = rng.permutation(len(all_texts))
val_ids, train_ids = order[:5000], order[5000:]
train_texts, train_labels = [all_texts[i] for i in train_ids], all_labels[train_ids]
val_texts, val_labels = [all_texts[i] for i in val_ids], all_labels[val_ids]""",
)
ENCODE = (
    {
        "ENCODE": """tokenizer = Tokenizer(num_words=max_features, oov_token='<OOV>')
tokenizer.fit_on_texts(train_texts)


def encode(texts):
    return pad_sequences(tokenizer.texts_to_sequences(texts), maxlen=sequence_length, padding='post', truncating='post')


x_train, x_val, x_test = encode(train_texts), encode(val_texts), encode(test_texts)""",
        "INDEX": "tokenizer.word_index.items()",
    },
    {
        "ENCODE": """tok = Tokenizer(num_words=max_features)
tok.fit_on_texts(train_texts)
x_train = pad_sequences(tok.texts_to_sequences(train_texts), maxlen=sequence_length)
x_val = pad_sequences(tok.texts_to_sequences(val_texts), maxlen=sequence_length)
x_test = pad_sequences(tok.texts_to_sequences(test_texts), maxlen=sequence_length)""",
        "INDEX": "tok.word_index.items()",
    },
    {
        "ENCODE": """vectorize_layer = TextVectorization(max_tokens=max_features, output_mode='int', output_sequence_length=sequence_length)
vectorize_layer.adapt(tf.data.Dataset.from_tensor_slices(train_texts).batch(128))
x_train, x_val, x_test = (vectorize_layer(tf.constant(t)).numpy() for t in (train_texts, val_texts, test_texts))""",
        "INDEX": "((w, i) for i, w in enumerate(vectorize_layer.get_vocabulary()))",
    },
    {
        "ENCODE": """def custom_standardization(input_data):
    lowercase = tf.strings.lower(input_data)
    stripped_html = tf.strings.regex_replace(lowercase, '<br />', ' ')
    return tf.strings.regex_replace(stripped_html, f'[{re.escape(string.punctuation)}]', '')


vectorizer = TextVectorization(standardize=custom_standardization, max_tokens=max_features, output_sequence_length=sequence_length)
vectorizer.adapt(train_texts)
x_train = vectorizer(np.array([[s] for s in train_texts])).numpy()
x_val = vectorizer(np.array([[s] for s in val_texts])).numpy()
x_test = vectorizer(np.array([[s] for s in test_texts])).numpy()""",
        "INDEX": "zip(vectorizer.get_vocabulary(), range(max_features))",
    },
)
MODEL = (
    """model = Sequential([
    layers.Embedding(max_features, embedding_dim),
    layers.Dropout(0.2),
    layers.Conv1D(64, 5, padding='valid', activation='relu'),
    layers.GlobalMaxPooling1D(),
    layers.Dense(64, activation='relu'),
    layers.Dropout(0.5),
    layers.Dense($UNITS, activation=$ACT),
])""",
    """inputs = Input(shape=(None,), dtype='int64')
x = layers.Embedding(max_features, embedding_dim, mask_zero=True)(inputs)
x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
x = layers.Bidirectional(layers.LSTM(32))(x)
x = layers.Dropout(0.3)(x)
outputs = layers.Dense($UNITS, activation=$ACT)(x)
model = Model(inputs, outputs)""",
    """class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = Sequential([layers.Dense(ff_dim, activation='relu'), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs, training=None):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output, training=training)
        out1 = self.layernorm1(inputs + attn_output)
        ffn_output = self.dropout2(self.ffn(out1), training=training)
        return self.layernorm2(out1 + ffn_output)


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        positions = tf.range(start=0, limit=tf.shape(x)[-1], delta=1)
        return self.token_emb(x) + self.pos_emb(positions)


inputs = layers.Input(shape=(sequence_length,))
x = TokenAndPositionEmbedding(sequence_length, max_features, embedding_dim)(inputs)
x = TransformerBlock(embedding_dim, 2, 32)(x)
x = layers.GlobalAveragePooling1D()(x)
x = layers.Dropout(0.1)(x)
x = layers.Dense(20, activation='relu')(x)
x = layers.Dropout(0.1)(x)
outputs = layers.Dense($UNITS, activation=$ACT)(x)
model = Model(inputs=inputs, outputs=outputs)""",
    """embeddings_index = {}
with open('glove.6B.%dd.txt' % embedding_dim, encoding='utf-8') as f:
    for line in f:
        word, coefs = line.split(maxsplit=1)
        embeddings_index[word] = np.fromstring(coefs, 'f', sep=' ')
embedding_matrix = np.zeros((max_features, embedding_dim))
for word, i in $INDEX:
    vector = embeddings_index.get(word)
    if i < max_features and vector is not None:
        embedding_matrix[i] = vector
model = Sequential()
model.add(layers.Embedding(max_features, embedding_dim, embeddings_initializer=tf.keras.initializers.Constant(embedding_matrix), mask_zero=True, trainable=False))
model.add(layers.SpatialDropout1D(0.2))
model.add(layers.GRU(100, dropout=0.2))
model.add(layers.Dense($UNITS, activation=$ACT))""",
)
COMPILE = (
    {
        "COMPILE": "model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])",
        "UNITS": "1",
        "ACT": "'sigmoid'",
        "DECIDED": "(model.predict(x_test) > 0.5).astype(int).ravel()",
    },
    {
        "COMPILE": "model.compile(loss=losses.BinaryCrossentropy(from_logits=True), optimizer=optimizers.Adam(1e-4), metrics=[tf.metrics.BinaryAccuracy(threshold=0.0, name='accuracy')])",
        "UNITS": "1",
        "ACT": "None",
        "DECIDED": "(model.predict(x_test)[:, 0] > 0).astype('int32')",
    },
    {
        "COMPILE": "model.compile(optimizer=optimizers.Adam(learning_rate=1e-3), loss='sparse_categorical_crossentropy', metrics=['accuracy'])",
        "UNITS": "2",
        "ACT": "'softmax'",
        "DECIDED": "np.argmax(model.predict(x_test), axis=1)",
    },
    {
        "COMPILE": "model.compile(optimizer='rmsprop', loss='categorical_crossentropy', metrics=['acc'])\ny_train, y_val = tf.keras.utils.to_categorical(train_labels, 2), tf.keras.utils.to_categorical(val_labels, 2)\ny_test = tf.keras.utils.to_categorical(test_labels, 2)",
        "UNITS": "2",
        "ACT": "'softmax'",
        "DECIDED": "model.predict(x_test).argmax(axis=-1)",
        "YTRAIN": "y_train",
        "YVAL": "y_val",
        "YTEST": "y_test",
    },
)
WEIGHTS = (
    {"WEIGHTS": "", "WEIGHED": "", "YTRAIN": "train_labels", "YVAL": "val_labels", "YTEST": "test_labels"},
    {
        "WEIGHTS": "weights = compute_class_weight(class_weight='balanced', classes=np.unique(train_labels), y=train_labels)\nclass_weight = dict(enumerate(weights))",
        "WEIGHED": ", class_weight=class_weight",
        "YTRAIN": "train_labels",
        "YVAL": "val_labels",
        "YTEST": "test_labels",
    },
)
CALLS = (
    "calls = [cb.EarlyStopping(monitor='val_loss', patience=3, restore_best_weights=True)]",
    "calls = [cb.ModelCheckpoint('best.h5', monitor='val_loss', save_best_only=True), cb.ReduceLROnPlateau(monitor='val_loss', factor=0.5, patience=2, min_lr=1e-6)]",
    "calls = []",
)
FIT = (
    "history = model.fit(x_train, $YTRAIN, batch_size=batch_size, epochs=10, validation_data=(x_val, $YVAL), callbacks=calls$WEIGHED)",
    """train_data = tf.data.Dataset.from_tensor_slices((x_train, $YTRAIN)).shuffle(len(x_train)).batch(batch_size).prefetch(2)
val_data = tf.data.Dataset.from_tensor_slices((x_val, $YVAL)).batch(batch_size)
history = model.fit(train_data, validation_data=val_data, epochs=10, callbacks=calls$WEIGHED)""",
    """class BatchSequence(tf.keras.utils.Sequence):
    def __init__(self, x, y, batch_size, shuffle):
        self.x, self.y, self.batch_size, self.shuffle = x, y, batch_size, shuffle
        self.order = np.arange(len(x))
        self.on_epoch_end()

    def __len__(self):
        return int(np.ceil(len(self.x) / self.batch_size))

    def __getitem__(self, idx):
        ids = self.order[idx * self.batch_size:(idx + 1) * self.batch_size]
        return self.x[ids], self.y[ids]

    def on_epoch_end(self):
        if self.shuffle:
            np.random.shuffle(self.order)


history = model.fit(BatchSequence(x_train, $YTRAIN, batch_size, True), validation_data=BatchSequence(x_val, $YVAL, batch_size, False), epochs=10, callbacks=calls$WEIGHED)""",
)
SCORE = (
    "loss, acc = model.evaluate(x_test, $YTEST, verbose=0)\nprint(f'Test accuracy: {acc:.4f}')",
    "predicted = $DECIDED\nprint(classification_report(test_labels, predicted))",
    "print('accuracy', np.mean($DECIDED == test_labels))\nmodel.save('sentiment.keras')",
)
TEXTS = Kit(
    "keras_texts",
    TEXT,
    {
        "IMPORTS": IMPORTS,
        "CONST": CONST,
        "READ": READ,
        "ENCODE": ENCODE,
        "MODEL": MODEL,
        "WEIGHTS": WEIGHTS,
        "COMPILE": COMPILE,
        "CALLS": CALLS,
        "FIT": FIT,
        "SCORE": SCORE,
    },
    apart=((("IMPORTS", 1), ("FIT", 2)),),
)

TABLE = """import numpy as np
import pandas as pd
$IMPORTS
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

$SEED
NUMERIC = ['age', 'income', 'debt', 'tenure', 'balance']
CATEGORICAL = ['region', 'plan', 'device']
frame = pd.read_csv('customers.csv')
$CLEAN
$SPLIT
$SCALE
$CATEGORIES


def make_inputs(part):
    numeric = part[NUMERIC].values.astype('float32')
    return {'numeric': numeric, **{c: part[c].values.astype('int32') for c in CATEGORICAL}}


def make_targets(part):
    return {'churn': part['churn'].values.astype('float32'), 'spend': part['spend'].values.astype('float32')}


$MODEL
$COMPILE
$FIT
$SCORE
"""
TIMPORTS = (
    "import tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras import layers",
    "import keras\nfrom keras import layers, ops\nimport tensorflow as tf",
)
TSEED = ("tf.random.set_seed(0)\nnp.random.seed(0)", "keras.utils.set_random_seed(42)")
CLEAN = (
    "frame = frame.dropna().reset_index(drop=True)",
    "frame = frame.dropna(subset=['churn', 'spend'])\nframe[CATEGORICAL] = frame[CATEGORICAL].fillna('missing')\nframe = frame[frame[NUMERIC].notna().all(axis=1)]",
)
SPLIT = (
    "train, test = train_test_split(frame, test_size=0.2, random_state=0, stratify=frame['churn'])\ntrain, val = train_test_split(train, test_size=0.2, random_state=0)\ntrain, val, test = train.copy(), val.copy(), test.copy()",
    "frame = frame.sample(frac=1.0, random_state=7)\nn = len(frame)\ntrain, val, test = (p.copy() for p in (frame.iloc[: int(0.7 * n)], frame.iloc[int(0.7 * n): int(0.85 * n)], frame.iloc[int(0.85 * n):]))",
)
TSCALE = (
    "scaler = StandardScaler().fit(train[NUMERIC])\nfor part in (train, val, test):\n    part[NUMERIC] = scaler.transform(part[NUMERIC])\nspend_mean, spend_std = train['spend'].mean(), train['spend'].std()\nfor part in (train, val, test):\n    part['spend'] = (part['spend'] - spend_mean) / spend_std",
    "mean, std = train[NUMERIC].mean(), train[NUMERIC].std()\ntrain[NUMERIC] = (train[NUMERIC] - mean) / std\nval[NUMERIC] = (val[NUMERIC] - mean) / std\ntest[NUMERIC] = (test[NUMERIC] - mean) / std\nfor part in (train, val, test):\n    part['spend'] = np.log1p(part['spend'])",
    {
        "TSCALE": "for part in (train, val, test):\n    part['spend'] = np.log1p(part['spend'])",
        "ADAPT": "normalizer = layers.Normalization(axis=-1)\nnormalizer.adapt(train[NUMERIC].values.astype('float32'))",
        "FIRST": "x = normalizer(numeric)",
    },
)
CATEGORIES = (
    """sizes = {}
for c in CATEGORICAL:
    codes = {v: i + 1 for i, v in enumerate(sorted(train[c].unique()))}
    sizes[c] = len(codes) + 1
    for part in (train, val, test):
        part[c] = part[c].map(codes).fillna(0).astype(int)""",
    """sizes = {}
for c in CATEGORICAL:
    known = pd.Index(train[c].unique())
    train[c], val[c], test[c] = known.get_indexer(train[c]) + 1, known.get_indexer(val[c]) + 1, known.get_indexer(test[c]) + 1
    sizes[c] = len(known) + 1""",
)
TMODEL = (
    """$ADAPT
numeric = keras.Input(shape=(len(NUMERIC),), name='numeric')
$FIRST
parts, inputs = [x], [numeric]
for c in CATEGORICAL:
    inp = keras.Input(shape=(1,), name=c, dtype='int32')
    emb = layers.Flatten()(layers.Embedding(sizes[c], min(16, (sizes[c] + 1) // 2))(inp))
    inputs.append(inp)
    parts.append(emb)
x = layers.Concatenate()(parts)
x = layers.Dense(128, activation='relu')(x)
x = layers.Dropout(0.2)(x)
x = layers.Dense(64, activation='relu')(x)
churn = layers.Dense(1, activation=$ACT, name='churn')(x)
spend = layers.Dense(1, name='spend')(x)
model = keras.Model(inputs=inputs, outputs={'churn': churn, 'spend': spend})""",
    """$ADAPT
numeric = keras.Input((len(NUMERIC),), name='numeric')
ids = {c: keras.Input((), name=c, dtype='int32') for c in CATEGORICAL}
$FIRST
hidden = layers.concatenate([x] + [layers.Embedding(sizes[c], 8)(ids[c]) for c in CATEGORICAL])
shared = layers.Dense(64, 'relu', kernel_regularizer=keras.regularizers.L2(1e-5))(hidden)
shared = layers.BatchNormalization()(shared)
a = layers.Dense(32, 'relu')(shared)
b = layers.Dense(32, 'relu')(shared)
outputs = {'churn': layers.Dense(1, activation=$ACT, name='churn')(a), 'spend': layers.Dense(1, name='spend', activation='linear')(b)}
model = keras.Model({'numeric': numeric, **ids}, outputs)""",
)
TCOMPILE = (
    {
        "TCOMPILE": "model.compile(optimizer='adam', loss={'churn': 'binary_crossentropy', 'spend': 'mse'}, loss_weights={'churn': 1.0, 'spend': 0.5}, metrics={'churn': ['accuracy', keras.metrics.AUC(name='auc')], 'spend': ['mae']})",
        "ACT": "'sigmoid'",
        "PROB": "pred['churn'].ravel()",
    },
    {
        "TCOMPILE": "model.compile(optimizer=keras.optimizers.Adam(1e-3), loss={'churn': keras.losses.BinaryCrossentropy(from_logits=True), 'spend': keras.losses.Huber()}, metrics={'churn': keras.metrics.BinaryAccuracy(threshold=0.0), 'spend': keras.metrics.MeanAbsoluteError()})",
        "ACT": "None",
        "PROB": "1 / (1 + np.exp(-pred['churn'].ravel()))",
    },
)
TFIT = (
    "model.fit(make_inputs(train), make_targets(train), validation_data=(make_inputs(val), make_targets(val)), epochs=50, batch_size=256, callbacks=[keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)])",
    """def to_dataset(part, shuffle=False):
    data = tf.data.Dataset.from_tensor_slices((make_inputs(part), make_targets(part)))
    if shuffle:
        data = data.shuffle(len(part))
    return data.batch(256).prefetch(tf.data.AUTOTUNE)


model.fit(to_dataset(train, True), validation_data=to_dataset(val), epochs=30)""",
)
TSCORE = (
    "print(model.evaluate(make_inputs(test), make_targets(test), return_dict=True))",
    "from sklearn.metrics import mean_absolute_error, roc_auc_score\n\npred = model.predict(make_inputs(test))\nprob = $PROB\nprint('AUC', roc_auc_score(test['churn'], prob), 'MAE', mean_absolute_error(test['spend'], pred['spend'].ravel()))",
)
TABLES = Kit(
    "keras_tables",
    TABLE.replace("$SCALE", "$TSCALE")
    .replace("$MODEL", "$TMODEL")
    .replace("$COMPILE", "$TCOMPILE")
    .replace("$FIT", "$TFIT")
    .replace("$SCORE", "$TSCORE")
    .replace("$IMPORTS", "$TIMPORTS")
    .replace("$SEED", "$TSEED"),
    {
        "FIRST": ("x = numeric",),
        "TIMPORTS": TIMPORTS,
        "TSEED": TSEED,
        "CLEAN": CLEAN,
        "SPLIT": SPLIT,
        "TSCALE": TSCALE,
        "CATEGORIES": CATEGORIES,
        "TMODEL": TMODEL,
        "TCOMPILE": TCOMPILE,
        "TFIT": TFIT,
        "TSCORE": TSCORE,
    },
)
