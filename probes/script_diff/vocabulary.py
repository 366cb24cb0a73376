"""What the frameworks call one thing in several ways: names, arguments, defaults, functions of classes.

Only what tells two equal programs from two different ones: a name that is not here is compared as it stands.
Signatures and defaults: torch-docs, keras-docs and the packages' sources, as in rules/porting.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# other names of one function, class or argument
SAME = {
    "axis": "dim",
    "keepdims": "keepdim",
    "reshape": "view",
    "reshape_as": "view_as",
    "as_tensor": "tensor",
    "from_numpy": "tensor",
    "Tensor": "tensor",
    "concat": "cat",
    "concatenate": "cat",
    "permutation": "randperm",
    "absolute": "abs",
    "multiply": "mul",
    "clamp": "clip",
    "swapaxes": "transpose",
    "SiLU": "silu",
    "Swish": "silu",
    "swish": "silu",
    "half": "float16",
    "DDP": "DistributedDataParallel",
    "device_count": "device_count",
    "true_divide": "div",
    "learning_rate": "lr",
    "epsilon": "eps",
    "inference_mode": "no_grad",
    "expand_dims": "unsqueeze",
    "repeat_interleave": "repeat_interleave",
    "Module": "Module",
    "construct": "forward",
}

# classes without parameters -> the function that they stand for
FUNCTIONAL = {
    "CrossEntropyLoss": "cross_entropy",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "NLLLoss": "nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div",
    "TripletMarginLoss": "triplet_margin_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "CTCLoss": "ctc_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "ReLU": "relu",
    "ReLU6": "relu6",
    "LeakyReLU": "leaky_relu",
    "GELU": "gelu",
    "ELU": "elu",
    "SELU": "selu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Softplus": "softplus",
    "Hardswish": "hardswish",
    "MaxPool1d": "max_pool1d",
    "MaxPool2d": "max_pool2d",
    "AvgPool1d": "avg_pool1d",
    "AvgPool2d": "avg_pool2d",
    "AdaptiveAvgPool2d": "adaptive_avg_pool2d",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d",
    "Flatten": "flatten",
}
STATELESS = frozenset(FUNCTIONAL) | {"silu", "Identity"}
OF_FUNCTIONAL = frozenset(FUNCTIONAL.values())  # handed on as `F.relu`, for what `nn.ReLU()` makes

# functions that are methods of a tensor as well: the tensor is the first argument
FUNCTIONS = word_set(
    "softmax log_softmax sigmoid relu tanh exp log log1p sqrt rsqrt abs mean sum max min argmax argmin std "
    "var norm view flatten unflatten squeeze unsqueeze transpose permute cat stack clip mul div add sub "
    "matmul mm bmm round "
    "floor ceil pow sort argsort topk masked_fill where cumsum prod gather float long int bool half float16 "
    "bfloat16 double expand repeat roll flip chunk split size neg detach item softplus gelu isnan "
    "nan_to_num logsumexp amax amin any all median unique scatter index_select reciprocal square eq ne gt lt "
    "numpy tolist copy clone type type_as view_as expand_as"
)

# methods that give back the same values
LOOKED_THROUGH = frozenset(
    ("cuda", "cpu", "npu", "contiguous", "numpy", "tolist", "asnumpy", "prefetch", "with_options")
)
# calls that give back what they are called with
WRAPPERS = frozenset(("tqdm", "track", "progressbar", "auto_tqdm", "iter", "list", "tuple"))

# arguments that change how fast or how loud, not what is computed
NO_MATTER = word_set(
    "inplace device non_blocking num_workers pin_memory persistent_workers prefetch_factor desc leave "
    "verbose "
    "set_to_none disable total ncols position dynamic_ncols unit help metavar fused foreach memory_format "
    "worker_init_fn timeout exist_ok parents map_location num_parallel_calls num_parallel_workers "
    "python_multiprocessing save_summary file flush end sep description "
    "dataloader_num_workers dataloader_pin_memory dataloader_persistent_workers dataloader_prefetch_factor "
    "report_to logging_dir logging_first_step logging_steps disable_tqdm run_name log_level "
    "log_every_n_steps enable_progress_bar enable_model_summary"
)

# methods of datasets: names of what is given first (tf.data, MindSpore, datasets)
FIRST_OF = {"shuffle": ("buffer_size",), "map": ("map_func", "function", "operations")}

# argument -> its default, written as the label of its term; "*": of every call
DEFAULTS: dict[str, dict[str, str]] = {
    "RandomHorizontalFlip": {"p": "0.5"},
    "RandomVerticalFlip": {"p": "0.5"},
    "*": {
        "reduction": "'mean'",
        "keepdim": "False",
        "label_smoothing": "0.0",
        "nesterov": "False",
        "amsgrad": "False",
        "dampening": "0.0",
        "last_epoch": "-1.0",
        "bidirectional": "False",
        "drop_last": "False",
        "strict": "True",
        "return_dict": "True",
        "replacement": "True",
        "ignore_index": "-100.0",
        "start_dim": "1.0",
        "retain_graph": "False",
        "weight": "None",
        "pos_weight": "None",
        "sampler": "None",
        "collate_fn": "None",
        "generator": "None",
        "maximize": "False",
    },
    "SoftmaxCrossEntropyWithLogits": {"reduction": "'none'"},
    "DataLoader": {"shuffle": "False", "batch_size": "1.0"},
    "Linear": {"bias": "True"},
    "Conv1d": {"bias": "True", "stride": "1.0", "padding": "0.0", "groups": "1.0", "dilation": "1.0"},
    "Conv2d": {"bias": "True", "stride": "1.0", "padding": "0.0", "groups": "1.0", "dilation": "1.0"},
    "Dropout": {"p": "0.5"},
    "SGD": {"momentum": "0.0", "weight_decay": "0.0"},
    "Adam": {"eps": "1e-08", "weight_decay": "0.0"},
    "AdamW": {"eps": "1e-08", "weight_decay": "0.01"},
    "LSTM": {"num_layers": "1.0", "batch_first": "False", "dropout": "0.0", "bias": "True"},
    "GRU": {"num_layers": "1.0", "batch_first": "False", "dropout": "0.0", "bias": "True"},
    "RNN": {"num_layers": "1.0", "batch_first": "False", "dropout": "0.0", "bias": "True"},
    "MultiheadAttention": {"batch_first": "False", "dropout": "0.0", "bias": "True"},
    "BatchNorm1d": {"eps": "1e-05", "momentum": "0.1", "affine": "True"},
    "BatchNorm2d": {"eps": "1e-05", "momentum": "0.1", "affine": "True"},
    "LayerNorm": {"eps": "1e-05"},
    "clip_grad_norm_": {"norm_type": "2.0"},
    "autocast": {"enabled": "True"},
    "Accuracy": {"eval_type": "'classification'"},
    "GradScaler": {"enabled": "True", "init_scale": "65536.0", "growth_interval": "2000.0"},
    "StepLR": {"gamma": "0.1"},
    "CosineAnnealingLR": {"eta_min": "0.0"},
    "fit": {"shuffle": "True"},
    "all_reduce": {"op": "SUM"},
    "reduce": {"op": "SUM"},
    "shuffle": {"reshuffle_each_iteration": "True"},
    "enumerate": {"start": "0.0"},
    "manual_seed": {},
    "requires_grad_": {"requires_grad": "True"},
    "train": {"mode": "True"},
    "set_train": {"mode": "True"},
    "zero_grad": {},
}


def _signature(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_CONV = _signature("in_channels out_channels kernel_size stride padding dilation groups bias")
_NORM = _signature("num_features eps momentum affine")
_RNN = _signature("input_size hidden_size num_layers bias batch_first dropout bidirectional")
_ADAM = _signature("params lr betas eps weight_decay amsgrad")
_LOSS = _signature("input target weight")
_WARMUP = _signature("optimizer num_warmup_steps num_training_steps")

SIGNATURES: dict[str, tuple[str, ...]] = {
    "DataLoader": _signature("dataset batch_size shuffle sampler batch_sampler num_workers collate_fn"),
    "Linear": _signature("in_features out_features bias"),
    "Dense": _signature("in_features out_features"),
    "Conv1d": _CONV,
    "Conv2d": _CONV,
    "Conv3d": _CONV,
    "Dropout": ("p",),
    "Dropout2d": ("p",),
    "dropout": _signature("#0 p training"),
    "LayerNorm": _signature("normalized_shape eps"),
    "BatchNorm1d": _NORM,
    "BatchNorm2d": _NORM,
    "BatchNorm3d": _NORM,
    "GroupNorm": _signature("num_groups num_channels eps"),
    "Embedding": _signature("num_embeddings embedding_dim padding_idx"),
    "LSTM": _RNN,
    "GRU": _RNN,
    "RNN": _RNN,
    "MultiheadAttention": _signature("embed_dim num_heads dropout bias"),
    "TransformerEncoderLayer": _signature("d_model nhead dim_feedforward dropout activation"),
    "SGD": _signature("params lr momentum dampening weight_decay nesterov"),
    "Adam": _ADAM,
    "AdamW": _ADAM,
    "NAdam": _ADAM,
    "RAdam": _ADAM,
    "RMSprop": _signature("params lr alpha eps weight_decay momentum"),
    "Adagrad": _signature("params lr lr_decay weight_decay"),
    "StepLR": _signature("optimizer step_size gamma"),
    "MultiStepLR": _signature("optimizer milestones gamma"),
    "ExponentialLR": _signature("optimizer gamma"),
    "CosineAnnealingLR": _signature("optimizer T_max eta_min"),
    "LambdaLR": _signature("optimizer lr_lambda"),
    "OneCycleLR": _signature("optimizer max_lr total_steps"),
    "get_scheduler": _signature("name optimizer num_warmup_steps num_training_steps"),
    "get_linear_schedule_with_warmup": _WARMUP,
    "get_cosine_schedule_with_warmup": _WARMUP,
    "get_polynomial_decay_schedule_with_warmup": _WARMUP,
    "get_cosine_with_hard_restarts_schedule_with_warmup": _WARMUP,
    "get_constant_schedule_with_warmup": _WARMUP[:2],
    "get_constant_schedule": _WARMUP[:1],
    "clip_grad_norm_": _signature("parameters max_norm norm_type"),
    "clip_grad_value_": _signature("parameters clip_value"),
    "cross_entropy": _LOSS,
    "nll_loss": _LOSS,
    "mse_loss": _LOSS[:2],
    "l1_loss": _LOSS[:2],
    "smooth_l1_loss": _LOSS[:2],
    "huber_loss": _LOSS[:2],
    "binary_cross_entropy": _LOSS,
    "binary_cross_entropy_with_logits": _LOSS,
    "kl_div": _LOSS[:2],
    "CrossEntropyLoss": ("weight",),
    "NLLLoss": ("weight",),
    "BCELoss": ("weight",),
    "BCEWithLogitsLoss": ("weight",),
    "Softmax": ("dim",),
    "LogSoftmax": ("dim",),
    "Normalize": _signature("mean std"),
    "softmax": _signature("#0 dim"),
    "log_softmax": _signature("#0 dim"),
    "argmax": _signature("#0 dim keepdim"),
    "argmin": _signature("#0 dim keepdim"),
    "mean": _signature("#0 dim keepdim"),
    "sum": _signature("#0 dim keepdim"),
    "std": _signature("#0 dim"),
    "var": _signature("#0 dim"),
    "max": _signature("#0 dim keepdim"),
    "min": _signature("#0 dim keepdim"),
    "cat": _signature("#0 dim"),
    "stack": _signature("#0 dim"),
    "squeeze": _signature("#0 dim"),
    "unsqueeze": _signature("#0 dim"),
    "cumsum": _signature("#0 dim"),
    "chunk": _signature("#0 chunks dim"),
    "norm": _signature("#0 p dim"),
    "argsort": _signature("#0 dim"),
    "sort": _signature("#0 dim"),
    "size": _signature("#0 dim"),
    "flatten": _signature("#0 start_dim end_dim"),
    "unflatten": _signature("#0 dim sizes"),
    "load_state_dict": _signature("state_dict strict"),
    "max_pool2d": _signature("#0 kernel_size stride padding"),
    "avg_pool2d": _signature("#0 kernel_size stride padding"),
    "adaptive_avg_pool2d": _signature("#0 output_size"),
    "MaxPool2d": _signature("kernel_size stride padding"),
    "AvgPool2d": _signature("kernel_size stride padding"),
    "AdaptiveAvgPool2d": ("output_size",),
    "LeakyReLU": ("negative_slope",),
    "leaky_relu": _signature("#0 negative_slope"),
    "DistributedSampler": _signature("dataset num_replicas rank shuffle seed"),
    "random_split": _signature("dataset lengths generator"),
    "enumerate": _signature("#0 start"),
    "normal_": _signature("#0 mean std"),
    "uniform_": _signature("#0 a b"),
    "trunc_normal_": _signature("#0 mean std a b"),
    "constant_": _signature("#0 val"),
    "xavier_uniform_": _signature("#0 gain"),
    "manual_seed": ("seed",),
    "Accuracy": ("eval_type",),
    "requires_grad_": ("requires_grad",),
    "train": ("mode",),
    "set_train": ("mode",),
    "RandomCrop": _signature("size padding"),
    "RandomResizedCrop": _signature("size scale ratio"),
    "RandomHorizontalFlip": ("p",),
    "RandomRotation": ("degrees",),
    "Resize": ("size",),
    "CenterCrop": ("size",),
    "masked_fill": _signature("#0 mask value"),
}
