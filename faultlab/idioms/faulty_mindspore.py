# ruff: noqa: E501
"""Known mistakes for the books of MindSpore."""

from __future__ import annotations

from .composed import Fault

LOSS, MODE = ("graph.loss-function",), ("graph.node-mode",)
SIDES, SHUFFLE = ("processing.train-eval-mismatch",), ("processing.not-shuffled",)
SCHEDULE = ("hyperparameter.schedule-wrong",)
SCALE = ("hyperparameter.loss-scale", "porting.loss-scale-missing")
SHARD = ("porting.sharding-differs",)

ZOO = (
    Fault(
        "softmax before the loss",
        LOSS,
        (("return self.end_point(self.dropout(x))", "return ops.softmax(self.end_point(self.dropout(x)))"),),
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (("return self.classifier(x)", "return ops.Softmax(axis=1)(self.classifier(x))"),),
    ),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (
            ("total_steps = config.epoch_size * step_size", "total_steps = config.epoch_size"),
            ("warmup_steps = 5 * step_size", "warmup_steps = 5"),
        ),
    ),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (("decay_steps=config.epoch_size * step_size", "decay_steps=config.epoch_size"),),
    ),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (("int(config.epoch_size * f) * step_size", "int(config.epoch_size * f)"),),
    ),
    Fault("rate by epochs", SCHEDULE, (("np.repeat(rates, step_size)", "np.array(rates)"),)),
    Fault(
        "scale not taken out by the optimizer",
        SCALE,
        (
            (
                "config.momentum, config.weight_decay, config.loss_scale)",
                "config.momentum, config.weight_decay)",
            ),
        ),
        "drop_overflow_update=False",
    ),
    Fault(
        "scale not taken out by the optimizer",
        SCALE,
        (
            (
                "weight_decay=config.weight_decay, loss_scale=config.loss_scale)",
                "weight_decay=config.weight_decay)",
            ),
        ),
        "drop_overflow_update=False",
    ),
    Fault(
        "half precision without a scale",
        SCALE,
        (("amp_level='O3', loss_scale_manager=loss_scale)", "amp_level='O3')"),),
    ),
    Fault(
        "not shuffled",
        SHUFFLE,
        (("num_parallel_workers=8, shuffle=True", "num_parallel_workers=8, shuffle=False"),),
    ),
    Fault("not shuffled", SHUFFLE, (("shuffle=do_train", "shuffle=False"),)),
    Fault("shards left out", SHARD, ((", num_shards=rank_size, shard_id=rank_id", ""),), "init("),
    Fault(
        "evaluation not normalised",
        SIDES,
        (
            (
                "C.CenterCrop(224), C.Normalize(mean=mean, std=std), C.HWC2CHW()",
                "C.CenterCrop(224), C.HWC2CHW()",
            ),
        ),
    ),
    Fault(
        "evaluation not normalised",
        SIDES,
        (("C.CenterCrop(224), eval_normalize_op, change_op", "C.CenterCrop(224), change_op"),),
    ),
    Fault(
        "evaluation not normalised",
        SIDES,
        (
            (
                "[C.Resize((256, 256)), C.CenterCrop(224)]\n        ops_list += [C.Normalize(mean=mean, std=std), ",
                "[C.Resize((256, 256)), C.CenterCrop(224)]\n        ops_list += [",
            ),
        ),
    ),
    Fault(
        "evaluation augmented",
        SIDES,
        (
            (
                "trans = [C.Decode(), C.Resize(256), C.CenterCrop(224), ",
                "trans = [C.RandomCropDecodeResize(224), C.RandomHorizontalFlip(), ",
            ),
        ),
    ),
    Fault(
        "evaluation augmented",
        SIDES,
        (
            (
                "ops_list += [C.Resize((256, 256)), C.CenterCrop(224)]",
                "ops_list += [C.RandomResizedCrop(224), C.RandomHorizontalFlip()]",
            ),
        ),
    ),
    Fault(
        "statistics of other units",
        ("processing.parameters", "processing.not-normalized"),
        (
            ("[0.485 * 255, 0.456 * 255, 0.406 * 255]", "[0.485, 0.456, 0.406]"),
            ("[0.229 * 255, 0.224 * 255, 0.225 * 255]", "[0.229, 0.224, 0.225]"),
        ),
        "C.Normalize(mean=mean, std=std)",
    ),
    Fault(
        "only the head is trained",
        ("graph.weight-frozen",),
        (("params = net.trainable_params()", "params = net.end_point.trainable_params()"),),
        "self.end_point",
    ),
    Fault(
        "zero weights",
        ("init.zeros",),
        (("weight_init.HeNormal(mode='fan_out', nonlinearity='relu')", "'zeros'"),),
    ),
    Fault(
        "checkpoint read and not loaded",
        ("init.pretrained-not-loaded",),
        (
            (
                "param_dict = ms.load_checkpoint(config.pre_trained)\n        ms.load_param_into_net(net, param_dict)",
                "param_dict = ms.load_checkpoint(config.pre_trained)",
            ),
        ),
    ),
)
LOOPS = (
    Fault("never set to training", MODE, (("    net.set_train()\n    for", "    for"),)),
    Fault("never set to training", MODE, (("    net.set_train(True)\n", ""),)),
    Fault("never set to training", MODE, (("    model.set_train(True)\n    total", "    total"),)),
    Fault("evaluated in training mode", MODE, (("    model.set_train(False)\n", ""),)),
    Fault("evaluated in training mode", MODE, (("    eval_net.set_train(False)\n", ""),)),
    Fault(
        "softmax before the loss",
        LOSS,
        (
            (
                "return self.head(self.body(self.flatten(x)))",
                "return ops.softmax(self.head(self.body(self.flatten(x))))",
            ),
        ),
    ),
    Fault(
        "softmax before the loss", LOSS, (("return self.fc2(x)", "return nn.Softmax(axis=1)(self.fc2(x))"),)
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (("return self.fc(hidden)", "return ops.softmax(self.fc(hidden), axis=-1)"),),
    ),
    Fault("gradients not unscaled", SCALE, (("        grads = loss_scaler.unscale(grads)\n", ""),)),
    Fault(
        "clipped before it is unscaled",
        (*SCALE, "porting.training-procedure", "api.misuse"),
        (
            (
                "grads = loss_scaler.unscale(grads)\n        grads = ops.clip_by_global_norm(grads, 1.0)",
                "grads = ops.clip_by_global_norm(grads, 1.0)\n        grads = loss_scaler.unscale(grads)",
            ),
        ),
    ),
    Fault(
        "gradients not reduced",
        ("porting.distributed-not-enabled", "state.replica-desync"),
        (("    grads = grad_reducer(grads)\n", ""),),
    ),
    Fault("shards left out", SHARD, ((", num_shards=rank_size, shard_id=rank_id", ""),)),
    Fault(
        "scaled by all rows",
        ("data.leakage",),
        (
            (
                "features[train_ids].mean(axis=0), features[train_ids].std(axis=0)",
                "features.mean(axis=0), features.std(axis=0)",
            ),
        ),
    ),
    Fault("test not scaled", SIDES, (("((test_images - mean) / std).transpose", "test_images.transpose"),)),
    Fault(
        "test scaled by itself",
        SIDES,
        (("((test_images - mean) / std)", "((test_images - test_images.mean()) / test_images.std())"),),
    ),
    Fault("not shuffled", SHUFFLE, (("shuffle=True", "shuffle=False"),)),
    Fault(
        "only inputs are shuffled",
        ("processing.algorithm",),
        (
            (
                "train_dataset = NumpySlicesDataset(",
                "np.random.shuffle(train_images)\ntrain_dataset = NumpySlicesDataset(",
            ),
        ),
    ),
    Fault(
        "no update",
        ("porting.training-procedure", "graph.weight-frozen"),
        (("    optimizer(grads)\n    return loss", "    return loss"),),
    ),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (("total_step=epochs * steps, step_per_epoch=steps", "total_step=epochs, step_per_epoch=1"),),
    ),
    Fault(
        "hits over batches",
        ("evaluation.logic",),
        (("100 * correct / total", "100 * correct / data_loader.get_dataset_size()"),),
    ),
)
