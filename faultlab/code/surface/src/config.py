"""Settings of the surface defect classifier."""


class Config(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


config = Config(
    # order agreed with the inspection line, not the alphabet
    class_indexing={"scratch": 0, "pit": 1, "inclusion": 2, "patch": 3, "crack": 4, "scale": 5},
    num_classes=6,
    image_size=224,
    batch_size=32,
    epoch_size=90,
    lr_init=0.001,
    lr_max=0.05,
    warmup_epochs=5,
    momentum=0.9,
    weight_decay=1e-4,
    label_smooth=0.1,
    drop_path=0.1,
    loss_scale=1024.0,
    amp_level="O2",
    seed=1,
    keep_checkpoint_max=5,
    # mean and deviation of the training pictures, pixel scale 0..255
    mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
    std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
)
