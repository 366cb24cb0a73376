model = dict(
    backbone=dict(type="TinyResNet", base_channels=8, depths=[1, 1]),
    head=dict(type="LinearHead", num_classes=6, dropout=0.0),
    loss=dict(label_smooth=0.0),
)
img_norm_cfg = dict(mean=[122.0, 98.0, 118.0], std=[72.0, 60.0, 70.0])
data = dict(
    samples_per_gpu=32,
    train=dict(size=160, seed=2021),
    val=dict(size=600, seed=2022),
    train_pipeline=[
        dict(type="RandomFlip", prob=0.5),
        dict(type="RandomCrop", padding=1),
        dict(type="ColorJitter", strength=0.15),
        dict(type="Normalize", **img_norm_cfg),
    ],
    test_pipeline=[dict(type="Normalize", **img_norm_cfg)],
)
optimizer = dict(type="SGD", lr=0.08, momentum=0.9, weight_decay=0.0005)
optimizer_config = dict(grad_clip=None)
lr_config = dict(policy="step", warmup="linear", warmup_iters=30, warmup_ratio=0.1, step=[6, 8], gamma=0.1)
runner = dict(type="EpochBasedRunner", max_epochs=10)
log_config = dict(interval=2)
seed = 312
work_dir = "work_dirs/resnet_shapes"
