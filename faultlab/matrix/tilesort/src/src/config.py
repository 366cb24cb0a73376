class Options(dict):
    __getattr__ = dict.__getitem__


config = Options(
    class_num=24,
    batch_size=32,
    image_size=224,
    epoch_size=90,
    warmup_epochs=5,
    lr_init=0.0,
    lr_end=0.0,
    lr_max=0.1,
    momentum=0.9,
    weight_decay=1e-4,
    loss_scale=1024,
    label_smooth_factor=0.1,
    use_label_smooth=True,
    save_checkpoint_epochs=5,
    keep_checkpoint_max=10,
    save_checkpoint_path="./ckpt",
    eval_interval=5,
)
