"""Which department gets a consumer's complaint? An LSTM over word ids with a tf.estimator (TensorFlow 1.x)."""

import argparse
import os

import tensorflow as tf

tf.logging.set_verbosity(tf.logging.INFO)

PAD_ID = 0
CONTEXT = {"department": tf.FixedLenFeature([], tf.int64)}
SEQUENCE = {"words": tf.FixedLenSequenceFeature([], tf.int64)}


def parse(serialized):
    context, sequence = tf.parse_single_sequence_example(serialized, CONTEXT, SEQUENCE)
    words = tf.cast(sequence["words"], tf.int32)
    return {"words": words, "length": tf.shape(words)[0]}, tf.cast(context["department"], tf.int32)


def drop_words(features, label, share):
    words = features["words"]
    keep = tf.random_uniform(tf.shape(words)) >= share
    kept = tf.boolean_mask(words, keep)
    enough = tf.greater(tf.size(kept), 0)
    words = tf.cond(enough, lambda: kept, lambda: words)
    return {"words": words, "length": tf.shape(words)[0]}, label


def make_input_fn(pattern, batch_size, training, seed=None, word_drop=0.1):
    def input_fn():
        files = tf.data.Dataset.list_files(pattern, shuffle=training, seed=seed)
        ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4)
        if training:
            ds = ds.shuffle(20000, seed=seed).repeat()
        ds = ds.map(parse, num_parallel_calls=4)
        if training:
            ds = ds.map(lambda f, y: drop_words(f, y, word_drop), num_parallel_calls=4)
        shapes = ({"words": [None], "length": []}, [])
        ds = ds.padded_batch(batch_size, shapes, padding_values=({"words": PAD_ID, "length": 0}, 0))
        return ds.prefetch(1)

    return input_fn


def lstm_cell(units, keep_prob):
    cell = tf.nn.rnn_cell.LSTMCell(units)
    return tf.nn.rnn_cell.DropoutWrapper(cell, input_keep_prob=keep_prob, output_keep_prob=keep_prob)


def encode(features, params, training):
    embedding = tf.get_variable("embedding", [params["vocabulary"], params["embedding"]])
    words = tf.nn.embedding_lookup(embedding, features["words"])
    keep_prob = params["keep_prob"] if training else 1.0
    forward = tf.nn.rnn_cell.MultiRNNCell([lstm_cell(params["units"], keep_prob) for _ in range(2)])
    backward = tf.nn.rnn_cell.MultiRNNCell([lstm_cell(params["units"], keep_prob) for _ in range(2)])
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, words, sequence_length=features["length"], dtype=tf.float32
    )
    states = tf.concat(outputs, axis=-1)
    mask = tf.sequence_mask(features["length"], tf.shape(states)[1], dtype=tf.float32)
    total = tf.reduce_sum(states * tf.expand_dims(mask, -1), axis=1)
    return total / tf.maximum(tf.cast(features["length"], tf.float32), 1.0)[:, None]


def model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    h = encode(features, params, training)
    h = tf.layers.dense(h, 256, use_bias=False)
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=training))
    h = tf.layers.dropout(h, rate=1.0 - params["keep_prob"], training=training)
    logits = tf.layers.dense(h, params["departments"])
    classes = tf.argmax(logits, axis=1, output_type=tf.int32)

    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(
            mode, predictions={"classes": classes, "probabilities": tf.nn.softmax(logits)}
        )

    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {
            "accuracy": tf.metrics.accuracy(labels, classes),
            "per_class": tf.metrics.mean_per_class_accuracy(labels, classes, params["departments"]),
        }
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)

    global_step = tf.train.get_global_step()
    warm = tf.minimum(1.0, tf.cast(global_step + 1, tf.float32) / params["warmup_steps"])
    rate = warm * tf.train.cosine_decay(params["learning_rate"], global_step, params["train_steps"])
    optimizer = tf.train.AdamOptimizer(rate)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        grads, variables = zip(*optimizer.compute_gradients(loss))
        grads, _ = tf.clip_by_global_norm(grads, params["clip_norm"])
        train_op = optimizer.apply_gradients(zip(grads, variables), global_step=global_step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", default="records")
    parser.add_argument("--model-dir", default="model")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--train-examples", type=int, default=180000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--keep-prob", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=41)
    args = parser.parse_args()

    train_steps = args.epochs * (args.train_examples // args.batch_size)
    params = {
        "vocabulary": 30000,
        "embedding": 128,
        "units": 192,
        "departments": 17,
        "keep_prob": args.keep_prob,
        "learning_rate": 1e-3,
        "warmup_steps": 800,
        "train_steps": train_steps,
        "clip_norm": 3.0,
    }
    config = tf.estimator.RunConfig(
        model_dir=args.model_dir, tf_random_seed=args.seed, save_checkpoints_steps=2000, keep_checkpoint_max=5
    )
    estimator = tf.estimator.Estimator(model_fn, params=params, config=config)
    train_fn = make_input_fn(os.path.join(args.records, "train-*"), args.batch_size, True, args.seed)
    eval_fn = make_input_fn(os.path.join(args.records, "eval-*"), args.batch_size, False)
    exporter = tf.estimator.BestExporter(
        name="best",
        serving_input_receiver_fn=tf.estimator.export.build_raw_serving_input_receiver_fn({
            "words": tf.placeholder(tf.int32, [None, None]),
            "length": tf.placeholder(tf.int32, [None]),
        }),
        exports_to_keep=1,
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(train_fn, max_steps=train_steps),
        tf.estimator.EvalSpec(eval_fn, steps=None, exporters=[exporter], throttle_secs=60),
    )


if __name__ == "__main__":
    main()
