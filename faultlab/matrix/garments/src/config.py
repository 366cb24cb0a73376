"""Settings of the training."""
from easydict import EasyDict as edict

cfg = edict({
    "num_classes": 14,
    "image_size": 96,
    "batch_size": 64,
    "epochs": 60,
    "warmup_epochs": 5,
    "lr_max": 0.1,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "loss_scale": 1024,
    "keep_prob": 0.8,
    "workers": 8,
    "seed": 1,
})
