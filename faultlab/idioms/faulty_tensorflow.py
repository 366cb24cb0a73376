# ruff: noqa: E501
"""Known mistakes for the books of Keras and TensorFlow."""

from __future__ import annotations

from .composed import Fault

LOSS, MODE = ("graph.loss-function",), ("graph.node-mode",)
SIDES, SHUFFLE = ("processing.train-eval-mismatch",), ("processing.not-shuffled",)
SCHEDULE, LOGIC = ("hyperparameter.schedule-wrong",), ("evaluation.logic",)
LEAK, RATE = ("data.leakage",), ("hyperparameter.learning-rate-too-large",)
SCALE = ("porting.loss-scale-missing", "hyperparameter.loss-scale")

PICTURES = (
    Fault("softmax before a loss of logits", LOSS, (("activation=None", "activation='softmax'"),)),
    Fault("logits for a loss of probabilities", LOSS, (("activation='softmax'", "activation=None"),)),
    Fault("trained in inference mode", MODE, (("model(x, training=True)", "model(x, training=False)"),)),
    Fault(
        "trained in inference mode",
        MODE,
        (("self.network(x, training=True)", "self.network(x, training=False)"),),
    ),
    Fault("mode left out", MODE, (("model(x, training=True)", "model(x)"),), "layers.Dropout"),
    Fault("evaluated in training mode", MODE, (("model(x, training=False)", "model(x, training=True)"),)),
    Fault(
        "evaluated in training mode",
        MODE,
        (("self.network(x, training=False)", "self.network(x, training=True)"),),
    ),
    Fault("not shuffled", SHUFFLE, ((".shuffle(10000)", ""),), "load_data()"),
    Fault("not shuffled", SHUFFLE, (("        ds = ds.shuffle(buffer_size=5000)\n", ""),), "load_data()"),
    Fault("not shuffled", SHUFFLE, ((".shuffle(4096, reshuffle_each_iteration=True)", ""),), "load_data()"),
    Fault(
        "chosen by the test set",
        LEAK,
        (("validation_data=val_ds", "validation_data=test_ds"),),
        "EarlyStopping",
    ),
    Fault(
        "scaled twice",
        ("processing.parameters", "processing.not-normalized", "processing.algorithm"),
        (
            ("x_train.astype('float32')", "x_train.astype('float32') / 255.0"),
            ("x_val.astype('float32')", "x_val.astype('float32') / 255.0"),
            ("x_test.astype('float32')", "x_test.astype('float32') / 255.0"),
        ),
    ),
    Fault(
        "training data scaled alone",
        SIDES,
        (("x_train.astype('float32')", "x_train.astype('float32') / 255.0"),),
    ),
    Fault(
        "pretrained model without its preprocessing",
        ("processing.not-normalized", "processing.parameters", "processing.train-eval-mismatch"),
        (("x = keras.applications.mobilenet_v2.preprocess_input(x)\n", ""),),
    ),
    Fault("fine-tuned too fast", RATE, (("RMSprop(learning_rate=1e-5)", "RMSprop(learning_rate=1e-1)"),)),
    Fault(
        "metrics not reset",
        ("porting.training-procedure", "evaluation.logic"),
        (("    train_metric.reset_state()\n", ""), ("    val_metric.reset_state()\n", "")),
    ),
    Fault(
        "loop of half precision without a scale",
        SCALE,
        (("BATCH_SIZE = 64", "keras.mixed_precision.set_global_policy('mixed_float16')\nBATCH_SIZE = 64"),),
        "tf.GradientTape() as tape:\n        preds",
    ),
    Fault("rate by epochs", SCHEDULE, (("decay_steps=EPOCHS * steps_per_epoch", "decay_steps=EPOCHS"),)),
    Fault(
        "evaluation augmented",
        SIDES,
        (("val_ds = val_ds.batch(BATCH_SIZE)", "val_ds = val_ds.map(augment).batch(BATCH_SIZE)"),),
        "def augment",
    ),
    Fault(
        "evaluation augmented",
        SIDES,
        (
            (
                "val_ds = val_ds.cache().batch(BATCH_SIZE)",
                "val_ds = val_ds.cache().map(augment).batch(BATCH_SIZE)",
            ),
        ),
        "def augment",
    ),
    Fault(
        "batches are shuffled",
        SHUFFLE,
        (
            (".cache().shuffle(10000)", ".cache()"),
            (
                ".batch(BATCH_SIZE).prefetch(AUTOTUNE)\nval_ds",
                ".batch(BATCH_SIZE).shuffle(10000).prefetch(AUTOTUNE)\nval_ds",
            ),
        ),
    ),
    Fault(
        "worst checkpoint",
        ("evaluation.wrong-checkpoint",),
        (("save_best_only=True, mode='max'", "save_best_only=True, mode='min'"),),
    ),
)
TEXTS = (
    Fault(
        "vocabulary of all texts",
        LEAK,
        (
            (
                "tokenizer.fit_on_texts(train_texts)",
                "tokenizer.fit_on_texts(train_texts + val_texts + test_texts)",
            ),
        ),
    ),
    Fault(
        "other tokenizer for the test",
        (*SIDES, "processing.tokenizer-mismatch", "processing.label-mapping"),
        (
            (
                "x_test = pad_sequences(tok.",
                "test_tok = Tokenizer(num_words=max_features)\ntest_tok.fit_on_texts(test_texts)\nx_test = pad_sequences(test_tok.",
            ),
        ),
    ),
    Fault(
        "sigmoid before a loss of logits",
        LOSS,
        (("Dense(1, activation=None)", "Dense(1, activation='sigmoid')"),),
    ),
    Fault("logits for a loss of probabilities", LOSS, (("Dense(1, activation='sigmoid')", "Dense(1)"),)),
    Fault(
        "softmax of one unit",
        (*LOSS, "graph.wrong-operator"),
        (("Dense(1, activation='sigmoid')", "Dense(1, activation='softmax')"),),
    ),
    Fault(
        "relu as output",
        (*LOSS, "graph.wrong-operator", "graph.dead-activation"),
        (("Dense(2, activation='softmax')", "Dense(2, activation='relu')"),),
    ),
    Fault(
        "too few embeddings",
        ("processing.tokenizer-mismatch",),
        (
            (
                "layers.Embedding(max_features, embedding_dim)",
                "layers.Embedding(max_features // 2, embedding_dim)",
            ),
        ),
    ),
    Fault(
        "other length for the test",
        SIDES,
        (
            (
                "x_test = pad_sequences(tok.texts_to_sequences(test_texts), maxlen=sequence_length)",
                "x_test = pad_sequences(tok.texts_to_sequences(test_texts), maxlen=sequence_length // 4)",
            ),
        ),
    ),
    Fault(
        "threshold of probabilities for logits",
        LOGIC,
        (("model.predict(x_test)[:, 0] > 0)", "model.predict(x_test)[:, 0] > 0.5)"),),
    ),
    Fault(
        "only labels are shuffled",
        ("processing.algorithm", "data.label-errors"),
        (("np.random.shuffle(self.order)", "np.random.shuffle(self.y)"),),
    ),
    Fault("rate", RATE, (("learning_rate=1e-3", "learning_rate=1.0"),)),
    Fault("rate", RATE, (("optimizers.Adam(1e-4)", "optimizers.Adam(0.5)"),)),
    Fault(
        "chosen by the test set",
        LEAK,
        (
            ("validation_data=(x_val, ", "validation_data=(x_test, "),
            ("train_labels, batch_size", "train_labels, batch_size"),
        ),
        "EarlyStopping",
    ),
)
TABLES = (
    Fault(
        "scaled by all rows",
        LEAK,
        (("StandardScaler().fit(train[NUMERIC])", "StandardScaler().fit(frame[NUMERIC])"),),
    ),
    Fault(
        "scaled by all rows",
        LEAK,
        (
            (
                "mean, std = train[NUMERIC].mean(), train[NUMERIC].std()",
                "mean, std = frame[NUMERIC].mean(), frame[NUMERIC].std()",
            ),
        ),
    ),
    Fault(
        "test not scaled",
        SIDES,
        (
            (
                "for part in (train, val, test):\n    part[NUMERIC] =",
                "for part in (train, val):\n    part[NUMERIC] =",
            ),
        ),
    ),
    Fault("test not scaled", SIDES, (("test[NUMERIC] = (test[NUMERIC] - mean) / std\n", ""),)),
    Fault(
        "test scaled by itself",
        SIDES,
        (
            (
                "test[NUMERIC] = (test[NUMERIC] - mean) / std",
                "test[NUMERIC] = (test[NUMERIC] - test[NUMERIC].mean()) / test[NUMERIC].std()",
            ),
        ),
    ),
    Fault(
        "sigmoid before a loss of logits",
        LOSS,
        (("activation=None, name='churn'", "activation='sigmoid', name='churn'"),),
    ),
    Fault("loss of classes for a figure", LOSS, (("'spend': 'mse'", "'spend': 'binary_crossentropy'"),)),
    Fault(
        "codes of each part",
        (*SIDES, "processing.label-mapping"),
        (
            (
                "part[c] = part[c].map(codes).fillna(0).astype(int)",
                "part[c] = part[c].astype('category').cat.codes + 1",
            ),
        ),
    ),
    Fault(
        "empty fields kept",
        ("data.missing-values",),
        (("frame = frame.dropna().reset_index(drop=True)\n", ""),),
    ),
    Fault("answer among the inputs", LEAK, (("'tenure', 'balance']", "'tenure', 'balance', 'spend']"),)),
)
SESSIONS = (
    Fault(
        "softmax before the loss",
        LOSS,
        (
            (
                "return tf.layers.dense(net, labels_shape)",
                "return tf.layers.dense(net, labels_shape, activation=tf.nn.softmax)",
            ),
        ),
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (("labels_shape, activation_fn=None", "labels_shape, activation_fn=tf.nn.softmax"),),
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (
            (
                "    return tf.matmul(h, weight_variable('w4', [512, labels_shape])) + bias_variable('b4', [labels_shape])",
                "    return tf.nn.softmax(tf.matmul(h, weight_variable('w4', [512, labels_shape])) + bias_variable('b4', [labels_shape]))",
            ),
        ),
    ),
    Fault(
        "moments not updated",
        (*MODE, "porting.training-procedure"),
        (
            (
                "    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)\n    with tf.control_dependencies(update_ops):\n        train_op",
                "    train_op",
            ),
        ),
        "batch_normalization",
    ),
    Fault(
        "evaluated in training mode",
        MODE,
        ((":start + 100], is_training: False}", ":start + 100], is_training: True}"),),
    ),
    Fault("trained in inference mode", MODE, (("is_training: True}", "is_training: False}"),)),
    Fault(
        "not shuffled",
        SHUFFLE,
        (("order = np.random.permutation(len(train_x))", "order = np.arange(len(train_x))"),),
    ),
    Fault("not shuffled", SHUFFLE, (("            np.random.shuffle(idx)\n", ""),)),
    Fault(
        "only inputs are shuffled",
        ("processing.algorithm",),
        (("y: train_y[ids]", "y: train_y[i * FLAGS.batch_size:(i + 1) * FLAGS.batch_size]"),),
    ),
    Fault("test not scaled", SIDES, (("(test_x - mean) / std", "test_x"),)),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (
            (
                "tf.train.cosine_decay(FLAGS.learning_rate, global_step, FLAGS.epochs * steps_per_epoch)",
                "tf.train.cosine_decay(FLAGS.learning_rate, global_step, FLAGS.epochs)",
            ),
        ),
    ),
    Fault(
        "step is not counted",
        SCHEDULE,
        ((".minimize(loss, global_step=global_step)", ".minimize(loss)"),),
        "_decay(",
    ),
    Fault(
        "step is not counted",
        SCHEDULE,
        (("zip(gradients, variables), global_step=global_step)", "zip(gradients, variables))"),),
        "_decay(",
    ),
    Fault(
        "zero weights",
        ("init.zeros",),
        (("tf.truncated_normal_initializer(stddev=0.1)", "tf.zeros_initializer()"),),
    ),
    Fault(
        "wide weights",
        ("hyperparameter.weight-init",),
        (("tf.truncated_normal_initializer(stddev=0.1)", "tf.truncated_normal_initializer(stddev=5.0)"),),
    ),
    Fault(
        "initialised after it is restored",
        ("init.pretrained-not-loaded", "state.resume"),
        (
            (
                "            print('restored from', ckpt)",
                "            sess.run(tf.global_variables_initializer())",
            ),
        ),
    ),
    Fault(
        "argmax over samples",
        LOGIC,
        (("tf.equal(tf.argmax(logits, 1), y)", "tf.equal(tf.argmax(logits, 0), y)"),),
    ),
)
ESTIMATORS = (
    Fault(
        "evaluated in training mode",
        MODE,
        (("is_training = mode == tf.estimator.ModeKeys.TRAIN", "is_training = True"),),
    ),
    Fault("not shuffled", SHUFFLE, (("            d = d.shuffle(buffer_size=10000)\n", ""),)),
    Fault(
        "shards left out",
        ("porting.sharding-differs",),
        (
            (
                "        if is_training and int(os.getenv('RANK_SIZE', '1')) > 1:\n            d = d.shard(int(os.getenv('RANK_SIZE')), int(os.getenv('RANK_ID')))\n",
                "",
            ),
        ),
    ),
    Fault(
        "gradients not reduced",
        ("porting.distributed-not-enabled",),
        (("        optimizer = NPUDistributedOptimizer(optimizer)\n", ""),),
    ),
    Fault(
        "half precision without a scale",
        SCALE,
        (("    optimizer = NPULossScaleOptimizer(optimizer, loss_scale_manager)\n", ""),),
    ),
    Fault(
        "step is not counted",
        SCHEDULE,
        (("optimizer.minimize(loss, global_step=global_step)", "optimizer.minimize(loss)"),),
    ),
    Fault(
        "mask the wrong way",
        ("graph.wrong-operator", "processing.label-masking", "graph.connection"),
        (("bias = (1.0 - mask[:, None, :])", "bias = mask[:, None, :]"),),
    ),
    Fault("scored on training data", (*LOGIC, *LEAK), (("'dev*.tfrecord'", "'train*.tfrecord'"),)),
    Fault(
        "sign of the loss",
        LOSS,
        (("per_example_loss = -tf.reduce_sum(", "per_example_loss = tf.reduce_sum("),),
    ),
    Fault(
        "keeps what it should drop",
        ("api.misuse", "hyperparameter.regularization-too-strong"),
        (("keep_prob=0.9", "keep_prob=0.1"),),
    ),
)
