model = dict(
    backbone=dict(type="TinyResNet", base_channels={{base_channels}}, depths=[1, 1]),
    head=dict(type="LinearHead", num_classes=6, dropout={{dropout}}),
    loss=dict(label_smooth={{label_smooth}}),
)
img_norm_cfg = dict(mean=[122.0, 98.0, 118.0], std=[72.0, 60.0, 70.0])
data = dict(
    samples_per_gpu={{samples_per_gpu}},
    train=dict(size={{train_size}}, seed=2021),
    val=dict(size=600, seed=2022),
    train_pipeline=[
        dict(type="RandomFlip", prob=0.5),
        dict(type="RandomCrop", padding={{padding}}),
        dict(type="ColorJitter", strength={{jitter}}),
        dict(type="Normalize", **img_norm_cfg),
    ],
    test_pipeline=[dict(type="Normalize", **img_norm_cfg)],
)
optimizer = dict(type="SGD", lr={{lr}}, momentum={{momentum}}, weight_decay={{weight_decay}})
optimizer_config = dict(grad_clip=None)
lr_config = dict(policy="step", warmup="linear", warmup_iters={{warmup_iters}}, warmup_ratio=0.1, step={{step}}, gamma={{gamma}})
runner = dict(type="EpochBasedRunner", max_epochs={{max_epochs}})
log_config = dict(interval={{interval}})
seed = {{seed}}
work_dir = "work_dirs/resnet_shapes"
