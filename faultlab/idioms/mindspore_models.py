# ruff: noqa: E501
"""MindSpore: `Model.train` with callbacks as its model zoo writes it, and functional loops."""

from __future__ import annotations

from .composed import Kit

PICTURES = """import argparse
import os
import numpy as np
import mindspore as ms
from mindspore import context, nn
import mindspore.dataset as ds
import mindspore.dataset.transforms as C2
import mindspore.dataset.vision as C
import mindspore.ops as ops
from mindspore.common import set_seed
from mindspore.common import initializer as weight_init
from mindspore.communication import get_group_size, get_rank, init
from mindspore.train import Model
from mindspore.train.callback import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor
from mindspore.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager

$ARGS
set_seed(1)


$DATA


$NET


$SMOOTH
$EXTRA


def train_net():
    $LAUNCH
    dataset = create_dataset($TRAIN, True, batch_size=config.batch_size, rank_size=rank_size, rank_id=rank_id)
    step_size = dataset.get_dataset_size()
    net = Net(num_classes=config.num_classes)
    $INIT
    $RATE
    $GROUPS
    $LOSS
    $AMP
    $CALLS
    $RUN


if __name__ == '__main__':
    train_net()
"""
ARGS = (
    """parser = argparse.ArgumentParser(description='Image classification')
parser.add_argument('--run_distribute', action='store_true')
parser.add_argument('--device_num', type=int, default=1)
parser.add_argument('--dataset_path', type=str, default='/cache/data')
parser.add_argument('--pre_trained', type=str, default='')
parser.add_argument('--batch_size', type=int, default=32)
parser.add_argument('--epoch_size', type=int, default=90)
parser.add_argument('--num_classes', type=int, default=1001)
parser.add_argument('--lr_max', type=float, default=0.1)
parser.add_argument('--momentum', type=float, default=0.9)
parser.add_argument('--weight_decay', type=float, default=1e-4)
parser.add_argument('--loss_scale', type=int, default=1024)
parser.add_argument('--save_checkpoint_epochs', type=int, default=5)
config = parser.parse_args()""",
    """from easydict import EasyDict as ed

config = ed({
    'run_distribute': False,
    'device_num': 8,
    'dataset_path': './imagenet',
    'pre_trained': '',
    'num_classes': 1000,
    'batch_size': 256,
    'loss_scale': 1024,
    'momentum': 0.9,
    'weight_decay': 1e-4,
    'epoch_size': 90,
    'save_checkpoint_epochs': 5,
    'lr_max': 0.1,
})""",
    """class Config:
    run_distribute = int(os.getenv('RANK_SIZE', '1')) > 1
    device_num = int(os.getenv('RANK_SIZE', '1'))
    dataset_path = os.getenv('DATA_PATH', './data')
    pre_trained = ''
    num_classes = 100
    batch_size = 128
    loss_scale = 1024
    momentum = 0.9
    weight_decay = 5e-4
    epoch_size = 100
    save_checkpoint_epochs = 10
    lr_max = 0.05


config = Config()""",
)
DATA = (
    """def create_dataset(dataset_path, do_train, batch_size=32, rank_size=1, rank_id=0):
    if rank_size == 1:
        data_set = ds.ImageFolderDataset(dataset_path, num_parallel_workers=8, shuffle=True)
    else:
        data_set = ds.ImageFolderDataset(dataset_path, num_parallel_workers=8, shuffle=True, num_shards=rank_size, shard_id=rank_id)
    mean = [0.485 * 255, 0.456 * 255, 0.406 * 255]
    std = [0.229 * 255, 0.224 * 255, 0.225 * 255]
    if do_train:
        trans = [C.RandomCropDecodeResize(224, scale=(0.08, 1.0), ratio=(0.75, 1.333)), C.RandomHorizontalFlip(prob=0.5), $NORM, C.HWC2CHW()]
    else:
        trans = [C.Decode(), C.Resize(256), C.CenterCrop(224), $EVALNORM, C.HWC2CHW()]
    type_cast_op = C2.TypeCast(ms.int32)
    data_set = data_set.map(operations=trans, input_columns='image', num_parallel_workers=8)
    data_set = data_set.map(operations=type_cast_op, input_columns='label', num_parallel_workers=8)
    data_set = data_set.batch(batch_size, drop_remainder=do_train)
    return data_set""",
    """class FolderIter:
    def __init__(self, root, training):
        self.training = training
        self.classes = sorted(os.listdir(root))
        self.items = [(os.path.join(root, c, f), i) for i, c in enumerate(self.classes) for f in sorted(os.listdir(os.path.join(root, c)))]

    def __getitem__(self, index):
        path, label = self.items[index]
        return np.fromfile(path, dtype=np.uint8), np.int32(label)

    def __len__(self):
        return len(self.items)


def create_dataset(dataset_path, do_train, batch_size=32, rank_size=1, rank_id=0):
    mean = [0.485 * 255, 0.456 * 255, 0.406 * 255]
    std = [0.229 * 255, 0.224 * 255, 0.225 * 255]
    source = FolderIter(dataset_path, do_train)
    data_set = ds.GeneratorDataset(source, ['image', 'label'], shuffle=do_train, num_shards=rank_size, shard_id=rank_id, num_parallel_workers=4)
    ops_list = [C.Decode()]
    if do_train:
        ops_list += [C.RandomResizedCrop(224), C.RandomHorizontalFlip(), C.RandomColorAdjust(0.4, 0.4, 0.4)]
        ops_list += [$NORM, C.HWC2CHW()]
    else:
        ops_list += [C.Resize((256, 256)), C.CenterCrop(224)]
        ops_list += [$EVALNORM, C.HWC2CHW()]
    data_set = data_set.map(ops_list, input_columns=['image'], num_parallel_workers=8)
    data_set = data_set.batch(batch_size, drop_remainder=do_train)
    return data_set""",
    """def create_dataset(dataset_path, do_train, batch_size=32, rank_size=1, rank_id=0):
    mean = [0.485 * 255, 0.456 * 255, 0.406 * 255]
    std = [0.229 * 255, 0.224 * 255, 0.225 * 255]
    files = os.path.join(dataset_path, 'images.mindrecord0')
    data_set = ds.MindDataset(files, columns_list=['image', 'label'], num_parallel_workers=8, shuffle=do_train, num_shards=rank_size, shard_id=rank_id)
    decode_op, normalize_op, eval_normalize_op, change_op = C.Decode(), $NORM, $EVALNORM, C.HWC2CHW()
    data_set = data_set.map(operations=decode_op, input_columns=['image'])
    if do_train:
        data_set = data_set.map(operations=[C.RandomResizedCrop(224), C.RandomHorizontalFlip(0.5), normalize_op, change_op], input_columns=['image'])
    else:
        data_set = data_set.map(operations=[C.Resize(256), C.CenterCrop(224), eval_normalize_op, change_op], input_columns=['image'])
    data_set = data_set.map(operations=C2.TypeCast(ms.int32), input_columns=['label'])
    return data_set.batch(batch_size, drop_remainder=do_train)""",
)
NET = (
    """def conv_bn(cin, cout, kernel, stride=1):
    return nn.SequentialCell(nn.Conv2d(cin, cout, kernel, stride, pad_mode='same', has_bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class ResidualBlock(nn.Cell):
    def __init__(self, cin, cout, stride=1):
        super(ResidualBlock, self).__init__()
        self.conv1 = conv_bn(cin, cout, 3, stride)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, pad_mode='same', has_bias=False)
        self.bn2 = nn.BatchNorm2d(cout, gamma_init=0)
        self.relu = nn.ReLU()
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.SequentialCell([nn.Conv2d(cin, cout, 1, stride), nn.BatchNorm2d(cout)])

    def construct(self, x):
        identity = x
        out = self.bn2(self.conv2(self.conv1(x)))
        if self.down is not None:
            identity = self.down(x)
        return self.relu(out + identity)


class Net(nn.Cell):
    def __init__(self, num_classes=1000):
        super(Net, self).__init__()
        self.stem = conv_bn(3, 64, 7, 2)
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode='same')
        self.layers = nn.SequentialCell([ResidualBlock(64, 64), ResidualBlock(64, 128, 2), ResidualBlock(128, 256, 2), ResidualBlock(256, 512, 2)])
        self.mean = ops.ReduceMean(keep_dims=False)
        self.dropout = nn.Dropout(p=0.2)
        self.end_point = nn.Dense(512, num_classes)

    def construct(self, x):
        x = self.layers(self.pool(self.stem(x)))
        x = self.mean(x, (2, 3))
        return self.end_point(self.dropout(x))""",
    """class Net(nn.Cell):
    def __init__(self, num_classes=1000, width=32):
        super().__init__()
        blocks = []
        channels = [3, width, width * 2, width * 4, width * 8]
        for cin, cout in zip(channels[:-1], channels[1:]):
            blocks.append(nn.Conv2d(cin, cout, 3, pad_mode='pad', padding=1, has_bias=False))
            blocks.append(nn.BatchNorm2d(cout, momentum=0.9))
            blocks.append(nn.ReLU())
            blocks.append(nn.MaxPool2d(2, 2))
        self.features = nn.SequentialCell(blocks)
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classifier = nn.SequentialCell([nn.Dense(width * 8, 256), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(256, num_classes)])
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(weight_init.initializer(weight_init.HeNormal(mode='fan_out', nonlinearity='relu'), cell.weight.shape, cell.weight.dtype))
            elif isinstance(cell, nn.Dense):
                cell.weight.set_data(weight_init.initializer(weight_init.TruncatedNormal(0.02), cell.weight.shape, cell.weight.dtype))
                cell.bias.set_data(weight_init.initializer('zeros', cell.bias.shape, cell.bias.dtype))

    def construct(self, x):
        x = self.flatten(self.gap(self.features(x)))
        return self.classifier(x)""",
)
EVALUATES = """class EvalCallBack(Callback):
    def __init__(self, model, eval_dataset, interval=1, directory='./best'):
        super(EvalCallBack, self).__init__()
        self.model, self.eval_dataset, self.interval, self.directory = model, eval_dataset, interval, directory
        self.best = 0.0

    def on_train_epoch_end(self, run_context):
        params = run_context.original_args()
        if params.cur_epoch_num % self.interval == 0:
            result = self.model.eval(self.eval_dataset, dataset_sink_mode=False)
            print(f'epoch: {params.cur_epoch_num}, acc: {result}', flush=True)
            if result['acc'] > self.best:
                self.best = result['acc']
                ms.save_checkpoint(params.train_network, os.path.join(self.directory, 'best.ckpt'))"""
TELLS = """class StepLoss(Callback):
    def __init__(self, per_print_times=100):
        super().__init__()
        self.per_print_times = per_print_times
        self.losses = []

    def step_end(self, run_context):
        cb_params = run_context.original_args()
        loss = cb_params.net_outputs
        if isinstance(loss, (tuple, list)):
            loss = loss[0]
        self.losses.append(float(np.mean(loss.asnumpy())))
        if cb_params.cur_step_num % self.per_print_times == 0:
            print('epoch: %s step: %s, loss is %s' % (cb_params.cur_epoch_num, cb_params.cur_step_num, self.losses[-1]))"""
LAUNCH = (
    """context.set_context(mode=context.GRAPH_MODE, device_target='Ascend', save_graphs=False)
rank_size, rank_id = 1, 0
if config.run_distribute:
    device_id = int(os.getenv('DEVICE_ID', '0'))
    context.set_context(device_id=device_id)
    init()
    rank_size, rank_id = get_group_size(), get_rank()
    context.set_auto_parallel_context(device_num=rank_size, parallel_mode=context.ParallelMode.DATA_PARALLEL, gradients_mean=$MEAN)""",
    """ms.set_context(mode=ms.GRAPH_MODE, device_target='Ascend')
if config.run_distribute:
    init('hccl')
    rank_id = get_rank()
    rank_size = get_group_size()
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=$MEAN, parameter_broadcast=True)
else:
    rank_id, rank_size = 0, 1""",
    """ms.set_context(mode=ms.PYNATIVE_MODE, device_target='Ascend', device_id=int(os.getenv('DEVICE_ID', '0')))
rank_id, rank_size = 0, 1""",
)
INIT = (
    "",
    """if config.pre_trained:
    param_dict = ms.load_checkpoint(config.pre_trained)
    ms.load_param_into_net(net, param_dict)""",
    """if config.pre_trained and os.path.exists(config.pre_trained):
    param_dict = ms.load_checkpoint(config.pre_trained)
    filter_list = [x.name for x in net.get_parameters() if 'classifier' in x.name or 'end_point' in x.name]
    for name in list(param_dict.keys()):
        if any(name.startswith(f) for f in filter_list):
            del param_dict[name]
    not_loaded, _ = ms.load_param_into_net(net, param_dict)
    print('not loaded:', not_loaded)""",
)
RATE = (
    """total_steps = config.epoch_size * step_size
warmup_steps = 5 * step_size
lr_each_step = []
for i in range(total_steps):
    if i < warmup_steps:
        lr_now = config.lr_max * (i + 1) / warmup_steps
    else:
        base = (i - warmup_steps) / (total_steps - warmup_steps)
        lr_now = 0.5 * config.lr_max * (1.0 + np.cos(np.pi * base))
    lr_each_step.append(lr_now)
lr = ms.Tensor(np.array(lr_each_step, dtype=np.float32))""",
    "lr = nn.cosine_decay_lr(min_lr=0.0, max_lr=config.lr_max, total_step=config.epoch_size * step_size, step_per_epoch=step_size, decay_epoch=config.epoch_size)",
    "lr = nn.CosineDecayLR(min_lr=1e-5, max_lr=config.lr_max, decay_steps=config.epoch_size * step_size)",
    """milestone = [int(config.epoch_size * f) * step_size for f in (0.33, 0.66, 1.0)]
lr = nn.piecewise_constant_lr(milestone, [config.lr_max, config.lr_max * 0.1, config.lr_max * 0.01])""",
    """decay_epochs = [30, 60, 80]
rates = [config.lr_max * 0.1 ** sum(epoch >= d for d in decay_epochs) for epoch in range(config.epoch_size)]
lr = ms.Tensor(np.repeat(rates, step_size).astype(np.float32))""",
)
GROUPS = (
    "params = net.trainable_params()",
    """decayed_params, no_decayed_params = [], []
for param in net.trainable_params():
    if 'beta' not in param.name and 'gamma' not in param.name and 'bias' not in param.name:
        decayed_params.append(param)
    else:
        no_decayed_params.append(param)
params = [{'params': decayed_params, 'weight_decay': config.weight_decay}, {'params': no_decayed_params, 'weight_decay': 0.0}, {'order_params': net.trainable_params()}]""",
    "params = filter(lambda p: p.requires_grad, net.get_parameters())",
)
LOSS = (
    "loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')",
    "loss = nn.CrossEntropyLoss(label_smoothing=0.1)",
    {
        "LOSS": "loss = CrossEntropySmooth(smooth_factor=0.1, num_classes=config.num_classes)",
        "SMOOTH": """class CrossEntropySmooth(nn.LossBase):
    def __init__(self, smooth_factor=0.0, num_classes=1001):
        super(CrossEntropySmooth, self).__init__()
        self.onehot = ops.OneHot()
        self.depth = num_classes
        self.on_value = ms.Tensor(1.0 - smooth_factor, ms.float32)
        self.off_value = ms.Tensor(1.0 * smooth_factor / (num_classes - 1), ms.float32)
        self.ce = nn.SoftmaxCrossEntropyWithLogits(reduction='mean')

    def construct(self, logit, label):
        one_hot_label = self.onehot(label, self.depth, self.on_value, self.off_value)
        return self.ce(logit, one_hot_label)


""",
    },
)
AMP = (
    """opt = nn.Momentum(params, lr, config.momentum, config.weight_decay, config.loss_scale)
loss_scale = FixedLossScaleManager(config.loss_scale, drop_overflow_update=False)
model = Model(net, loss_fn=loss, optimizer=opt, loss_scale_manager=loss_scale, metrics={'acc'}, amp_level='O2', keep_batchnorm_fp32=False)""",
    """opt = nn.Momentum(params, lr, config.momentum, config.weight_decay)
loss_scale = DynamicLossScaleManager(init_loss_scale=2 ** 16, scale_factor=2, scale_window=2000)
model = Model(net, loss, opt, metrics={'acc': nn.Accuracy()}, amp_level='O3', loss_scale_manager=loss_scale)""",
    """opt = nn.SGD(params, learning_rate=lr, momentum=config.momentum, weight_decay=config.weight_decay, nesterov=True)
model = Model(net, loss_fn=loss, optimizer=opt, metrics={'acc'})""",
    {
        "AMP": """opt = nn.AdamWeightDecay(params, learning_rate=lr, weight_decay=0.05)
model = Model(net, loss_fn=loss, optimizer=opt, metrics={'acc', 'loss'}, amp_level='O2', loss_scale_manager=FixedLossScaleManager())""",
        "RATE": "lr = nn.cosine_decay_lr(0.0, 1e-3, config.epoch_size * step_size, step_size, config.epoch_size)",
    },
    """opt = nn.Momentum(params, lr, config.momentum, weight_decay=config.weight_decay, loss_scale=config.loss_scale)
for _, cell in net.cells_and_names():
    if isinstance(cell, (nn.Conv2d, nn.Dense)):
        cell.to_float(ms.float16)
model = Model(net, loss_fn=loss, optimizer=opt, metrics={'acc'}, loss_scale_manager=FixedLossScaleManager(config.loss_scale, drop_overflow_update=False))""",
)
CALLS = (
    """time_cb, loss_cb = TimeMonitor(data_size=step_size), LossMonitor()
config_ck = CheckpointConfig(save_checkpoint_steps=config.save_checkpoint_epochs * step_size, keep_checkpoint_max=10)
ckpt_cb = ModelCheckpoint(prefix='net', directory='./ckpt_' + str(rank_id), config=config_ck)
cb = [time_cb, loss_cb, ckpt_cb]""",
    """cb = [TimeMonitor(step_size), LossMonitor(step_size)]
if rank_id == 0:
    cb.append(ModelCheckpoint('net', './ckpt', CheckpointConfig(save_checkpoint_steps=step_size, keep_checkpoint_max=5)))""",
    {
        "CALLS": """eval_dataset = create_dataset(os.path.join(config.dataset_path, 'val'), False, batch_size=config.batch_size)
cb = [LossMonitor(), TimeMonitor(step_size), EvalCallBack(model, eval_dataset)]""",
        "EXTRA": EVALUATES,
    },
    {"CALLS": "cb = [StepLoss(), TimeMonitor(data_size=step_size)]", "EXTRA": TELLS},
)
RUN = (
    "model.train(config.epoch_size, dataset, callbacks=cb, sink_size=step_size, dataset_sink_mode=True)",
    "model.train(config.epoch_size, dataset, callbacks=cb, dataset_sink_mode=False)",
    "model.train(config.epoch_size, dataset, callbacks=cb)\ntest_set = create_dataset(os.path.join(config.dataset_path, 'test'), False, config.batch_size)\nprint(model.eval(test_set))",
)
NORM = (
    {"NORM": "C.Normalize(mean=mean, std=std)", "EVALNORM": "C.Normalize(mean=mean, std=std)"},
    {
        "NORM": "C.Rescale(1.0 / 255.0, 0.0), C.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])",
        "EVALNORM": "C.Rescale(1.0 / 255.0, 0.0), C.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])",
    },
)
TRAIN = ("os.path.join(config.dataset_path, 'train')", "config.dataset_path + '/train'")
ZOO = Kit(
    "mindspore_zoo",
    PICTURES,
    {
        "ARGS": ARGS,
        "DATA": DATA,
        "NORM": NORM,
        "NET": NET,
        "LAUNCH": LAUNCH,
        "TRAIN": TRAIN,
        "INIT": INIT,
        "RATE": RATE,
        "GROUPS": GROUPS,
        "LOSS": LOSS,
        "AMP": AMP,
        "CALLS": CALLS,
        "RUN": RUN,
        "MEAN": ("True",),
    },
    apart=((("DATA", 2), ("NORM", 1)),),
)
