"""The books whose programs are composed of marks, and the mistakes to make in them."""

from __future__ import annotations

from . import (
    faulty_jax,
    faulty_mindspore,
    faulty_tensorflow,
    faulty_torch,
    hub_loops,
    hub_models,
    jax_libraries,
    jax_loops,
    keras_models,
    keras_texts,
    mindspore_loops,
    mindspore_models,
    older_torch,
    tf1_ports,
    torch_npu_ports,
)

FAULTS = {
    mindspore_models.ZOO: faulty_mindspore.ZOO,
    mindspore_loops.LOOPS: faulty_mindspore.LOOPS,
    torch_npu_ports.PORTS: faulty_torch.PORTS,
    keras_models.PICTURES: faulty_tensorflow.PICTURES,
    keras_texts.TEXTS: faulty_tensorflow.TEXTS,
    keras_texts.TABLES: faulty_tensorflow.TABLES,
    tf1_ports.SESSIONS: faulty_tensorflow.SESSIONS,
    tf1_ports.ESTIMATORS: faulty_tensorflow.ESTIMATORS,
    jax_loops.FLAX: faulty_jax.FLAX,
    jax_libraries.LIBRARIES: faulty_jax.LIBRARIES,
    hub_models.TASKS: faulty_torch.TASKS,
    hub_loops.LOOPS: faulty_torch.ACCELERATE,
    hub_loops.ADAPTERS: faulty_torch.ADAPTERS,
    older_torch.OLD: faulty_torch.OLD,
    older_torch.SENTIMENT: faulty_torch.SENTIMENT,
}
KITS = tuple(FAULTS)
