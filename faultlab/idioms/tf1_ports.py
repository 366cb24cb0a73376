# ruff: noqa: E501
"""TensorFlow 1 as it is still ported to Ascend: sessions with placeholders, estimators, slim."""

from __future__ import annotations

from .composed import Kit

SESSION = """$IMPORTS

$FLAGS


$DATA


def network(images, labels_shape, is_training):
    $NET


def main(_):
    $READ
    $SEED
    with tf.variable_scope('all', reuse=tf.AUTO_REUSE):
        x = tf.placeholder(tf.float32, [None, HEIGHT, WIDTH, CHANNELS], name='x')
        y = tf.placeholder(tf.int64, [None], name='y')
        is_training = tf.placeholder(tf.bool, shape=(), name='is_training')
        logits = network(x, CLASSES, is_training)
    $LOSS
    global_step = tf.train.get_or_create_global_step()
    steps_per_epoch = len(train_x) // FLAGS.batch_size
    $RATE
    $OPTIM
    correct = tf.equal(tf.argmax(logits, 1), y)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    saver = tf.train.Saver(max_to_keep=5)
    $CONFIG
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        $RESTORE
        for epoch in range($FIRST FLAGS.epochs):
            $EPOCH
            $TEST
        saver.save(sess, os.path.join(FLAGS.model_dir, 'model.ckpt'), global_step=global_step)


if __name__ == '__main__':
    tf.app.run()
"""
IMPORTS = (
    {
        "IMPORTS": "from __future__ import absolute_import, division, print_function\n\nimport os\nimport numpy as np\nimport tensorflow as tf\nimport tensorflow.contrib.slim as slim",
        "CONFIG": "config = tf.ConfigProto(allow_soft_placement=True)\nconfig.gpu_options.allow_growth = True",
    },
    {
        "IMPORTS": "import os\nimport numpy as np\nimport tensorflow as tf\nimport tensorflow.contrib.slim as slim\nfrom npu_bridge.npu_init import *",
        "CONFIG": """config = tf.ConfigProto()
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = 'NpuOptimizer'
custom_op.parameter_map['use_off_line'].b = True
custom_op.parameter_map['precision_mode'].s = tf.compat.as_bytes($PRECISION)
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF""",
    },
    {
        "IMPORTS": "import os\nimport numpy as np\nimport tensorflow.compat.v1 as tf\nimport tf_slim as slim\n\ntf.disable_v2_behavior()",
        "CONFIG": "config = tf.ConfigProto()",
    },
)
PRECISION = ("'allow_fp32_to_fp16'", "'must_keep_origin_dtype'")
FLAGS = (
    """tf.app.flags.DEFINE_string('data_dir', './data', 'where the data lie')
tf.app.flags.DEFINE_string('model_dir', './ckpt', 'where checkpoints are written')
tf.app.flags.DEFINE_integer('batch_size', 128, 'batch size')
tf.app.flags.DEFINE_integer('epochs', 50, 'epochs')
tf.app.flags.DEFINE_float('learning_rate', 0.001, 'initial learning rate')
FLAGS = tf.app.flags.FLAGS""",
    """flags = tf.app.flags
flags.DEFINE_string(name='data_dir', default='/cache/data', help='')
flags.DEFINE_string(name='model_dir', default='/cache/result', help='')
flags.DEFINE_integer(name='batch_size', default=64, help='')
flags.DEFINE_integer(name='epochs', default=100, help='')
flags.DEFINE_float(name='learning_rate', default=5e-4, help='')
FLAGS = flags.FLAGS""",
)
DATA = (
    """HEIGHT, WIDTH, CHANNELS, CLASSES = 32, 32, 3, 10


def load_data(root):
    with np.load(os.path.join(root, 'cifar10.npz')) as f:
        train_x, train_y, test_x, test_y = f['x_train'], f['y_train'], f['x_test'], f['y_test']
    train_x, test_x = train_x.astype(np.float32) / 255.0, test_x.astype(np.float32) / 255.0
    mean, std = train_x.mean(axis=(0, 1, 2)), train_x.std(axis=(0, 1, 2))
    return (train_x - mean) / std, train_y.reshape(-1), (test_x - mean) / std, test_y.reshape(-1)


def augment(batch):
    flipped = batch[:, :, ::-1]
    pick = np.random.rand(len(batch)) < 0.5
    return np.where(pick[:, None, None, None], flipped, batch)""",
    """HEIGHT, WIDTH, CHANNELS, CLASSES = 28, 28, 1, 10


def read_idx(path, offset):
    with open(path, 'rb') as f:
        return np.frombuffer(f.read(), np.uint8, offset=offset)


def load_data(root):
    train_x = read_idx(root + '/train-images-idx3-ubyte', 16).reshape(-1, 28, 28, 1).astype('float32') / 255.
    train_y = read_idx(root + '/train-labels-idx1-ubyte', 8).astype('int64')
    test_x = read_idx(root + '/t10k-images-idx3-ubyte', 16).reshape(-1, 28, 28, 1).astype('float32') / 255.
    test_y = read_idx(root + '/t10k-labels-idx1-ubyte', 8).astype('int64')
    return train_x, train_y, test_x, test_y


def augment(batch):
    return batch""",
)
READ = (
    "train_x, train_y, test_x, test_y = load_data(FLAGS.data_dir)",
    "(train_x, train_y, test_x, test_y) = load_data(root=FLAGS.data_dir)\nprint(train_x.shape, test_x.shape)",
)
NET = (
    """net = tf.layers.conv2d(images, 32, 3, padding='same', use_bias=False)
net = tf.layers.batch_normalization(net, training=is_training)
net = tf.nn.relu(net)
net = tf.layers.max_pooling2d(net, 2, 2)
net = tf.layers.conv2d(net, 64, 3, padding='same', use_bias=False)
net = tf.layers.batch_normalization(net, training=is_training)
net = tf.nn.relu(net)
net = tf.layers.max_pooling2d(net, 2, 2)
net = tf.layers.flatten(net)
net = tf.layers.dense(net, 256, activation=tf.nn.relu)
net = tf.layers.dropout(net, rate=0.5, training=is_training)
return tf.layers.dense(net, labels_shape)""",
    """with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.0005), normalizer_fn=slim.batch_norm, normalizer_params={'is_training': is_training, 'decay': 0.95}):
    net = slim.conv2d(images, 32, [3, 3], scope='conv1')
    net = slim.max_pool2d(net, [2, 2], scope='pool1')
    net = slim.conv2d(net, 64, [3, 3], scope='conv2')
    net = slim.max_pool2d(net, [2, 2], scope='pool2')
    net = slim.flatten(net)
    net = slim.fully_connected(net, 256, scope='fc3')
net = slim.dropout(net, keep_prob=0.5, is_training=is_training, scope='drop3')
return slim.fully_connected(net, labels_shape, activation_fn=None, scope='logits')""",
    """def weight_variable(name, shape):
    return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=0.1))


def bias_variable(name, shape):
    return tf.get_variable(name, shape, initializer=tf.constant_initializer(0.1))


keep_prob = tf.cond(is_training, lambda: tf.constant(0.5), lambda: tf.constant(1.0))
h = tf.nn.relu(tf.nn.conv2d(images, weight_variable('w1', [5, 5, CHANNELS, 32]), strides=[1, 1, 1, 1], padding='SAME') + bias_variable('b1', [32]))
h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')
h = tf.nn.relu(tf.nn.conv2d(h, weight_variable('w2', [5, 5, 32, 64]), strides=[1, 1, 1, 1], padding='SAME') + bias_variable('b2', [64]))
h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')
flat = (HEIGHT // 4) * (WIDTH // 4) * 64
h = tf.reshape(h, [-1, flat])
h = tf.nn.relu(tf.matmul(h, weight_variable('w3', [flat, 512])) + bias_variable('b3', [512]))
h = tf.nn.dropout(h, keep_prob=keep_prob)
return tf.matmul(h, weight_variable('w4', [512, labels_shape])) + bias_variable('b4', [labels_shape])""",
)
SEED = ("tf.set_random_seed(1234)\nnp.random.seed(1234)", "")
LOSS = (
    "loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))",
    "one_hot = tf.one_hot(y, CLASSES)\nloss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=logits))",
    "tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)\nloss = tf.losses.get_total_loss()",
    "cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y)\nl2 = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if 'bias' not in v.name])\nloss = tf.reduce_mean(cross_entropy) + 1e-4 * l2",
)
RATE = (
    "learning_rate = FLAGS.learning_rate",
    "learning_rate = tf.train.exponential_decay(FLAGS.learning_rate, global_step, decay_steps=10 * steps_per_epoch, decay_rate=0.5, staircase=True)",
    "learning_rate = tf.train.cosine_decay(FLAGS.learning_rate, global_step, FLAGS.epochs * steps_per_epoch)",
    "boundaries = [int(steps_per_epoch * FLAGS.epochs * f) for f in (0.5, 0.75)]\nlearning_rate = tf.train.piecewise_constant(global_step, boundaries, [FLAGS.learning_rate * f for f in (1.0, 0.1, 0.01)])",
)
OPTIM = (
    """update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = tf.train.AdamOptimizer(learning_rate).minimize(loss, global_step=global_step)""",
    """optimizer = tf.train.AdamOptimizer(learning_rate=learning_rate)
grads_and_vars = optimizer.compute_gradients(loss)
gradients, variables = zip(*grads_and_vars)
gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=global_step)""",
    "optimizer = tf.train.RMSPropOptimizer(learning_rate, decay=0.9, momentum=0.9)\ntrain_op = slim.learning.create_train_op(loss, optimizer, global_step=global_step)",
    {
        "OPTIM": """optimizer = tf.train.AdamOptimizer(learning_rate)
loss_scale_manager = ExponentialUpdateLossScaleManager(init_loss_scale=2 ** 16, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2, decr_ratio=0.5)
optimizer = NPULossScaleOptimizer(optimizer, loss_scale_manager)
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = optimizer.minimize(loss, global_step=global_step)""",
        "IMPORTS": IMPORTS[1]["IMPORTS"],
        "CONFIG": IMPORTS[1]["CONFIG"],
    },
)
RESTORE = (
    "",
    {
        "RESTORE": "first = 0\nckpt = tf.train.latest_checkpoint(FLAGS.model_dir)\nif ckpt is not None:\n    saver.restore(sess, ckpt)\n    first = int(sess.run(global_step)) // steps_per_epoch\n    print('restored from', ckpt)",
        "FIRST": "first,",
    },
)
EPOCH = (
    """order = np.random.permutation(len(train_x))
total = 0.0
for i in range(steps_per_epoch):
    ids = order[i * FLAGS.batch_size:(i + 1) * FLAGS.batch_size]
    _, batch_loss = sess.run([train_op, loss], feed_dict={x: augment(train_x[ids]), y: train_y[ids], is_training: True})
    total += batch_loss
print('epoch %d, loss %.4f' % (epoch, total / steps_per_epoch))""",
    """idx = np.arange(train_x.shape[0])
np.random.shuffle(idx)
for start in range(0, steps_per_epoch * FLAGS.batch_size, FLAGS.batch_size):
    batch_x, batch_y = augment(train_x[idx[start:start + FLAGS.batch_size]]), train_y[idx[start:start + FLAGS.batch_size]]
    sess.run(train_op, {x: batch_x, y: batch_y, is_training: True})
train_loss, train_acc = sess.run([loss, accuracy], {x: batch_x, y: batch_y, is_training: False})
print('Epoch: {} loss: {:.4f} acc: {:.4f}'.format(epoch + 1, train_loss, train_acc))""",
)
TEST = (
    """accs = []
for start in range(0, len(test_x), 100):
    accs.append(sess.run(accuracy, feed_dict={x: test_x[start:start + 100], y: test_y[start:start + 100], is_training: False}))
print('test accuracy: %.4f' % np.mean(accs))""",
    """if (epoch + 1) % 5 == 0:
    hits = 0
    for start in range(0, len(test_x), FLAGS.batch_size):
        part = {x: test_x[start:start + FLAGS.batch_size], y: test_y[start:start + FLAGS.batch_size], is_training: False}
        hits += np.sum(sess.run(correct, feed_dict=part))
    print('accuracy on the test set', hits / len(test_x))""",
)
SESSIONS = Kit(
    "tf1_sessions",
    SESSION,
    {
        "PRECISION": PRECISION,
        "IMPORTS": IMPORTS,
        "FLAGS": FLAGS,
        "DATA": DATA,
        "READ": READ,
        "NET": NET,
        "SEED": SEED,
        "LOSS": LOSS,
        "RATE": RATE,
        "OPTIM": OPTIM,
        "RESTORE": RESTORE,
        "EPOCH": EPOCH,
        "TEST": TEST,
    },
    apart=((("NET", 1), ("LOSS", 0)), (("NET", 1), ("LOSS", 1)), (("NET", 1), ("LOSS", 3))),
)

ESTIMATOR = """import os
$IMPORTS

FLAGS = tf.flags.FLAGS
tf.flags.DEFINE_string('data_dir', './tfrecords', '')
tf.flags.DEFINE_string('model_dir', './output', '')
tf.flags.DEFINE_integer('train_batch_size', 32, '')
tf.flags.DEFINE_integer('eval_batch_size', 32, '')
tf.flags.DEFINE_float('learning_rate', 5e-4, '')
tf.flags.DEFINE_integer('num_train_steps', 20000, '')
tf.flags.DEFINE_integer('num_warmup_steps', 2000, '')
tf.flags.DEFINE_integer('save_checkpoints_steps', 1000, '')
tf.flags.DEFINE_integer('iterations_per_loop', 100, '')
SEQ, VOCAB, HIDDEN, CLASSES = 128, 30522, 256, 3


def file_based_input_fn(pattern, is_training, batch_size):
    name_to_features = {'input_ids': tf.FixedLenFeature([SEQ], tf.int64), 'input_mask': tf.FixedLenFeature([SEQ], tf.int64), 'label_ids': tf.FixedLenFeature([], tf.int64)}

    def decode(record):
        example = tf.parse_single_example(record, name_to_features)
        for name in list(example.keys()):
            example[name] = tf.to_int32(example[name])
        return example

    def input_fn(params=None):
        $INPUT

    return input_fn


def encoder(input_ids, input_mask, is_training):
    table = tf.get_variable('word_embeddings', [VOCAB, HIDDEN], initializer=tf.truncated_normal_initializer(stddev=0.02))
    hidden = tf.nn.embedding_lookup(table, input_ids)
    mask = tf.cast(input_mask, tf.float32)
    $BODY
    return pooled


$CREATE


def model_fn(features, labels, mode, params):
    input_ids, input_mask, label_ids = features['input_ids'], features['input_mask'], features['label_ids']
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    pooled = encoder(input_ids, input_mask, is_training)
    $HEAD
    $LOSS
    if mode == tf.estimator.ModeKeys.TRAIN:
        train_op = create_optimizer(loss, FLAGS.learning_rate, FLAGS.num_train_steps, FLAGS.num_warmup_steps)
        $SPEC
    predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
    metrics = {'eval_accuracy': tf.metrics.accuracy(labels=label_ids, predictions=predictions), 'eval_loss': tf.metrics.mean(per_example_loss)}
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, eval_metric_ops=metrics)


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    $CONFIG
    train_input_fn = file_based_input_fn(os.path.join(FLAGS.data_dir, 'train*.tfrecord'), True, FLAGS.train_batch_size)
    eval_input_fn = file_based_input_fn(os.path.join(FLAGS.data_dir, 'dev*.tfrecord'), False, FLAGS.eval_batch_size)
    $RUN


if __name__ == '__main__':
    tf.app.run()
"""
EIMPORTS = (
    {
        "EIMPORTS": "import tensorflow as tf",
        "CONFIG": "config = tf.estimator.RunConfig(model_dir=FLAGS.model_dir, save_checkpoints_steps=FLAGS.save_checkpoints_steps, tf_random_seed=1, keep_checkpoint_max=5)\nestimator = tf.estimator.Estimator(model_fn=model_fn, config=config, params={})",
        "WRAP": "",
    },
    {
        "EIMPORTS": "import tensorflow as tf\nfrom npu_bridge.estimator.npu.npu_config import NPURunConfig\nfrom npu_bridge.estimator.npu.npu_estimator import NPUEstimator\nfrom npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager, FixedLossScaleManager\nfrom npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer\nfrom npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer",
        "CONFIG": "config = NPURunConfig(model_dir=FLAGS.model_dir, save_checkpoints_steps=FLAGS.save_checkpoints_steps, iterations_per_loop=FLAGS.iterations_per_loop, session_config=tf.ConfigProto(), precision_mode='allow_mix_precision', enable_data_pre_proc=True)\nestimator = NPUEstimator(model_fn=model_fn, config=config, params={})",
        "WRAP": """loss_scale_manager = ExponentialUpdateLossScaleManager(init_loss_scale=2 ** 32, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2, decr_ratio=0.5)
optimizer = NPULossScaleOptimizer(optimizer, loss_scale_manager)""",
    },
    {
        "EIMPORTS": "import tensorflow as tf\nfrom npu_bridge.npu_init import *",
        "CONFIG": "rank_size = int(os.getenv('RANK_SIZE', '1'))\nsession_config = tf.ConfigProto(allow_soft_placement=True)\nconfig = NPURunConfig(hcom_parallel=True, model_dir=FLAGS.model_dir, session_config=session_config, save_checkpoints_steps=FLAGS.save_checkpoints_steps, precision_mode='allow_mix_precision')\nestimator = NPUEstimator(model_fn=model_fn, config=config, model_dir=FLAGS.model_dir, params={})",
        "WRAP": """if int(os.getenv('RANK_SIZE', '1')) > 1:
    optimizer = NPUDistributedOptimizer(optimizer)
    optimizer = NPULossScaleOptimizer(optimizer, FixedLossScaleManager(loss_scale=1024), is_distributed=True)
else:
    optimizer = NPULossScaleOptimizer(optimizer, FixedLossScaleManager(loss_scale=1024))""",
        "SHARD": "if is_training and int(os.getenv('RANK_SIZE', '1')) > 1:\n    d = d.shard(int(os.getenv('RANK_SIZE')), int(os.getenv('RANK_ID')))",
    },
)
INPUT = (
    """files = tf.gfile.Glob(pattern)
d = tf.data.TFRecordDataset(sorted(files))
$SHARD
if is_training:
    d = d.repeat()
    d = d.shuffle(buffer_size=10000)
d = d.apply(tf.contrib.data.map_and_batch(decode, batch_size=batch_size, drop_remainder=is_training))
return d""",
    """d = tf.data.Dataset.list_files(pattern, shuffle=False)
$SHARD
if is_training:
    d = d.shuffle(buffer_size=100).interleave(tf.data.TFRecordDataset, cycle_length=4)
    d = d.shuffle(buffer_size=20000).repeat()
else:
    d = d.flat_map(tf.data.TFRecordDataset)
d = d.map(decode, num_parallel_calls=8)
d = d.batch(batch_size, drop_remainder=True if is_training else False)
return d.prefetch(4)""",
)
BODY = (
    """cell_fw, cell_bw = tf.nn.rnn_cell.LSTMCell(HIDDEN), tf.nn.rnn_cell.LSTMCell(HIDDEN)
outputs, _ = tf.nn.bidirectional_dynamic_rnn(cell_fw, cell_bw, hidden, sequence_length=tf.reduce_sum(input_mask, 1), dtype=tf.float32)
outputs = tf.concat(outputs, axis=-1) * tf.expand_dims(mask, -1)
pooled = tf.reduce_sum(outputs, axis=1) / tf.maximum(tf.reduce_sum(mask, axis=1, keepdims=True), 1.0)
if is_training:
    pooled = tf.nn.dropout(pooled, keep_prob=0.9)""",
    """bias = (1.0 - mask[:, None, :]) * -10000.0
for layer in range(4):
    with tf.variable_scope('layer_%d' % layer):
        q, k, v = (tf.layers.dense(hidden, HIDDEN, name=n) for n in ('query', 'key', 'value'))
        scores = tf.matmul(q, k, transpose_b=True) / (HIDDEN ** 0.5) + bias
        context = tf.matmul(tf.nn.softmax(scores), v)
        context = tf.layers.dropout(context, 0.1, training=is_training)
        hidden = tf.contrib.layers.layer_norm(hidden + context, begin_norm_axis=-1)
        ffn = tf.layers.dense(tf.layers.dense(hidden, 4 * HIDDEN, activation=tf.nn.relu), HIDDEN)
        hidden = tf.contrib.layers.layer_norm(hidden + tf.layers.dropout(ffn, 0.1, training=is_training), begin_norm_axis=-1)
pooled = tf.layers.dense(hidden[:, 0], HIDDEN, activation=tf.tanh)""",
)
CREATE = (
    """def create_optimizer(loss, init_lr, num_train_steps, num_warmup_steps):
    global_step = tf.train.get_or_create_global_step()
    learning_rate = tf.constant(value=init_lr, shape=[], dtype=tf.float32)
    learning_rate = tf.train.polynomial_decay(learning_rate, global_step, num_train_steps, end_learning_rate=0.0, power=1.0, cycle=False)
    if num_warmup_steps:
        global_steps_int = tf.cast(global_step, tf.int32)
        warmup_steps_int = tf.constant(num_warmup_steps, dtype=tf.int32)
        warmup_percent_done = tf.cast(global_steps_int, tf.float32) / tf.cast(warmup_steps_int, tf.float32)
        is_warmup = tf.cast(global_steps_int < warmup_steps_int, tf.float32)
        learning_rate = (1.0 - is_warmup) * learning_rate + is_warmup * init_lr * warmup_percent_done
    optimizer = tf.contrib.opt.AdamWOptimizer(weight_decay=0.01 * init_lr, learning_rate=learning_rate)
    $WRAP
    grads_and_vars = optimizer.compute_gradients(loss, tf.trainable_variables())
    grads, tvars = zip(*grads_and_vars)
    (grads, _) = tf.clip_by_global_norm(grads, clip_norm=1.0)
    return optimizer.apply_gradients(zip(grads, tvars), global_step=global_step)""",
    """def create_optimizer(loss, init_lr, num_train_steps, num_warmup_steps):
    global_step = tf.train.get_or_create_global_step()
    lr = tf.train.cosine_decay(init_lr, global_step, num_train_steps)
    warm = init_lr * tf.cast(global_step, tf.float32) / float(num_warmup_steps)
    lr = tf.where(global_step < num_warmup_steps, warm, lr)
    tf.summary.scalar('learning_rate', lr)
    optimizer = tf.train.AdamOptimizer(lr, beta1=0.9, beta2=0.999, epsilon=1e-6)
    $WRAP
    return optimizer.minimize(loss, global_step=global_step)""",
)
HEAD = (
    "logits = tf.layers.dense(pooled, CLASSES, kernel_initializer=tf.truncated_normal_initializer(stddev=0.02))",
    "output_weights = tf.get_variable('output_weights', [CLASSES, pooled.shape[-1].value], initializer=tf.truncated_normal_initializer(stddev=0.02))\noutput_bias = tf.get_variable('output_bias', [CLASSES], initializer=tf.zeros_initializer())\nlogits = tf.nn.bias_add(tf.matmul(pooled, output_weights, transpose_b=True), output_bias)",
)
ELOSS = (
    "log_probs = tf.nn.log_softmax(logits, axis=-1)\none_hot_labels = tf.one_hot(label_ids, depth=CLASSES, dtype=tf.float32)\nper_example_loss = -tf.reduce_sum(one_hot_labels * log_probs, axis=-1)\nloss = tf.reduce_mean(per_example_loss)",
    "per_example_loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label_ids, logits=logits)\nloss = tf.reduce_mean(per_example_loss)",
)
SPEC = (
    "return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)",
    "hook = tf.train.LoggingTensorHook({'loss': loss}, every_n_iter=100)\nreturn tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[hook])",
)
RUN = (
    "estimator.train(input_fn=train_input_fn, max_steps=FLAGS.num_train_steps)\nresult = estimator.evaluate(input_fn=eval_input_fn)\nfor key in sorted(result.keys()):\n    tf.logging.info('  %s = %s', key, str(result[key]))",
    "train_spec = tf.estimator.TrainSpec(input_fn=train_input_fn, max_steps=FLAGS.num_train_steps)\neval_spec = tf.estimator.EvalSpec(input_fn=eval_input_fn, steps=None, throttle_secs=600)\ntf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)",
    "for _ in range(10):\n    estimator.train(train_input_fn, steps=FLAGS.num_train_steps // 10)\n    print(estimator.evaluate(eval_input_fn))",
)
ESTIMATORS = Kit(
    "tf1_estimators",
    ESTIMATOR.replace("$IMPORTS", "$EIMPORTS").replace("$LOSS", "$ELOSS"),
    {
        "EIMPORTS": EIMPORTS,
        "INPUT": INPUT,
        "BODY": BODY,
        "CREATE": CREATE,
        "HEAD": HEAD,
        "ELOSS": ELOSS,
        "SPEC": SPEC,
        "RUN": RUN,
    },
    apart=((("EIMPORTS", 1), ("CREATE", 0)), (("EIMPORTS", 2), ("CREATE", 0))),
)
