# ruff: noqa: E501
"""Known mistakes for the books of JAX."""

from __future__ import annotations

from .composed import Fault

LOSS, MODE = ("graph.loss-function",), ("graph.node-mode",)
SIDES, SHUFFLE = ("processing.train-eval-mismatch",), ("processing.not-shuffled",)
SCHEDULE = ("hyperparameter.schedule-wrong",)
KEY = ("api.misuse", "graph.node-mode")
UPDATE = ("porting.training-procedure", "graph.weight-frozen", "graph.optimizer")

FLAX = (
    Fault(
        "moments not kept",
        (*MODE, "porting.training-procedure"),
        (("    state = state.replace(batch_stats=updates['batch_stats'])\n", ""),),
    ),
    Fault(
        "moments not kept",
        (*MODE, "porting.training-procedure"),
        (
            (
                "apply_gradients(grads=grads, batch_stats=mutated['batch_stats'])",
                "apply_gradients(grads=grads)",
            ),
        ),
    ),
    Fault(
        "same dropout each step",
        KEY,
        (("jax.random.fold_in(state.dropout_key, state.step)\n", "state.dropout_key\n"),),
    ),
    Fault(
        "same dropout each step",
        KEY,
        (("jax.random.fold_in(key=state.dropout_key, data=state.step)", "state.dropout_key"),),
    ),
    Fault(
        "trained in inference mode",
        MODE,
        (
            (
                "train=True, mutable=['batch_stats'], rngs={'dropout': dropout_rng}",
                "train=False, mutable=['batch_stats']",
            ),
        ),
    ),
    Fault(
        "evaluated in training mode",
        MODE,
        (
            (
                "batch['image'], train=False)\n",
                "batch['image'], train=True, mutable=['batch_stats'], rngs={'dropout': state.dropout_key})[0]\n",
            ),
        ),
    ),
    Fault(
        "gradients not reduced",
        ("porting.distributed-not-enabled", "state.replica-desync"),
        (("    grads = jax.lax.pmean(grads, axis_name='batch')\n", ""),),
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (
            (
                "return nn.Dense(self.num_classes, dtype=jnp.float32)(x)",
                "return nn.softmax(nn.Dense(self.num_classes, dtype=jnp.float32)(x))",
            ),
        ),
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (
            (
                "return self.head(self.drop(x.mean(axis=(1, 2)), deterministic=not train))",
                "return jax.nn.softmax(self.head(self.drop(x.mean(axis=(1, 2)), deterministic=not train)))",
            ),
        ),
    ),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (
            (
                "warmup_steps=config.warmup_epochs * steps_per_epoch, decay_steps=config.num_epochs * steps_per_epoch",
                "warmup_steps=config.warmup_epochs, decay_steps=config.num_epochs",
            ),
        ),
    ),
    Fault(
        "rate by epochs",
        SCHEDULE,
        (
            ("cosine_epochs * steps_per_epoch", "cosine_epochs"),
            ("config.warmup_epochs * steps_per_epoch", "config.warmup_epochs"),
        ),
    ),
    Fault("not shuffled", SHUFFLE, ((".shuffle(10000, seed=0)", ""),)),
    Fault(
        "not shuffled",
        SHUFFLE,
        (("rng.permutation(len(train_ds['image']))", "np.arange(len(train_ds['image']))"),),
    ),
    Fault("not shuffled", SHUFFLE, (("shuffle=training", "shuffle=False"),)),
    Fault(
        "test not scaled",
        SIDES,
        (("'image': (image - MEAN) / STD,", "'image': (image - MEAN) / STD if training else image,"),),
    ),
    Fault(
        "update thrown away",
        UPDATE,
        (("state, metrics = train_step(state, batch)", "_, metrics = train_step(state, batch)"),),
    ),
    Fault(
        "sign of the update",
        ("graph.optimizer", "graph.loss-function"),
        (("lambda step: -1e-3 *", "lambda step: 1e-3 *"),),
    ),
    Fault(
        "labels of other rows",
        ("processing.algorithm",),
        (("'label': train_ds['label'][idx]", "'label': train_ds['label'][: len(idx)]"),),
    ),
)
LIBRARIES = (
    Fault(
        "same dropout each step",
        KEY,
        (("    key, step_key = jax.random.split(key)\n", "    step_key = key\n"),),
    ),
    Fault("same dropout each step", KEY, (("next(rng), x, y)", "jax.random.PRNGKey(0), x, y)"),)),
    Fault("evaluated in training mode", MODE, (("model.eval()\n", "pass\n"),)),
    Fault("not set to training again", MODE, (("    model.train()\n", ""),)),
    Fault(
        "scaled by all rows",
        ("data.leakage",),
        (("inputs[:cut].mean(axis=0), inputs[:cut].std(axis=0)", "inputs.mean(axis=0), inputs.std(axis=0)"),),
    ),
    Fault("softmax before the loss", LOSS, (("labels(logits, y)", "labels(jax.nn.softmax(logits), y)"),)),
    Fault(
        "softmax before the loss",
        LOSS,
        (("jax.nn.log_softmax(logits)", "jax.nn.log_softmax(jax.nn.softmax(logits))"),),
    ),
    Fault(
        "rate by epochs", SCHEDULE, (("decay_steps=EPOCHS * (len(train_x) // BATCH)", "decay_steps=EPOCHS"),)
    ),
    Fault(
        "not shuffled",
        SHUFFLE,
        (("order = rng.permutation(len(x))", "order = np.arange(len(x))"),),
        "load_split",
    ),
    Fault(
        "not shuffled",
        SHUFFLE,
        (("perm = generator.permutation(np.arange(dataset_size))", "perm = np.arange(dataset_size)"),),
        "load_split",
    ),
    Fault(
        "moments of the optimizer thrown away",
        UPDATE,
        (("params, opt_state, loss = update(", "params, _, loss = update("),),
    ),
    Fault(
        "moments of the optimizer thrown away",
        UPDATE,
        (("model, opt_state, loss = make_step(", "model, _, loss = make_step("),),
    ),
    Fault(
        "zero weights",
        ("init.zeros",),
        (("random.normal(w_key, (n_in, n_out)) * jnp.sqrt(2.0 / n_in)", "jnp.zeros((n_in, n_out))"),),
    ),
    Fault(
        "wide weights",
        ("hyperparameter.weight-init",),
        (
            (
                "random.normal(w_key, (n_in, n_out)) * jnp.sqrt(2.0 / n_in)",
                "random.normal(w_key, (n_in, n_out))",
            ),
        ),
    ),
    Fault(
        "labels of other rows",
        ("processing.algorithm",),
        (("yield x[idx], y[idx]", "yield x[idx], y[: len(idx)]"),),
    ),
)
