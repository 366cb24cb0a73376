# seabed habitat segmentation, 7 classes, 8 cards
data_root = './data/seabed'
num_classes = 7
ignore_index = 255
crop_size = (512, 512)
img_norm = dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375])

train_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadSeg', reduce_zero_label=True),
    dict(type='RandomResize', ratio_range=(0.5, 2.0)),
    dict(type='RandomCrop', crop_size=crop_size, cat_max_ratio=0.75),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PhotoMetric', brightness=32, contrast=(0.7, 1.3), prob=0.5),
    dict(type='Normalize', **img_norm),
    dict(type='Pad', size=crop_size, pad_val=0, seg_pad_val=ignore_index),
    dict(type='ToTensor'),
]
test_pipeline = [
    dict(type='LoadImage'),
    dict(type='LoadSeg', reduce_zero_label=True),
    dict(type='Normalize', **img_norm),
    dict(type='Pad', size_divisor=32, pad_val=0, seg_pad_val=ignore_index),
    dict(type='ToTensor'),
]

model = dict(base=64, depths=(3, 4, 6, 3), head_dim=256, aux_dim=128, num_classes=num_classes, dropout=0.1)
pretrained = './pretrain/backbone_r34.pth'

samples_per_card = 4
workers = 8
epochs = 160
warmup_iters = 1500
warmup_ratio = 1e-3
poly_power = 0.9
min_lr = 1e-4
optimizer = dict(lr=0.02, momentum=0.9, weight_decay=5e-4)  # for 8 x 4
head_lr_mult = 10.0
aux_weight = 0.4
class_weight = [0.8, 0.9, 1.0, 1.0, 1.1, 1.2, 1.4]
opt_level = 'O1'
loss_scale = 'dynamic'
log_interval = 50
val_interval = 4
