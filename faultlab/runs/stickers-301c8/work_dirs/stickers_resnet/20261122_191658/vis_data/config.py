model = dict(type="MiniResNet", width=12, num_classes=6, norm_eval=False)
data = dict(num_train=64, num_val=400, batch_size=32, mean=0.33, std=0.27)
optim_wrapper = dict(
    optimizer=dict(type="SGD", lr=0.05, momentum=0.9, weight_decay=1e-4),
    clip_grad=dict(max_norm=10.0),
)
param_scheduler = [
    dict(type="LinearLR", start_factor=0.05, by_epoch=False, begin=0, end=60),
    dict(type="MultiStepLR", by_epoch=True, milestones=[28, 34], gamma=0.1),
]
train_cfg = dict(by_epoch=True, max_epochs=36)
default_hooks = dict(logger=dict(interval=2))
randomness = dict(seed=5)
