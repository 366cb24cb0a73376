"""What scripts fit that is no network, or not by an error: processes, densities, a handful of tensors."""

from __future__ import annotations

import re

from ..readers.script.calls import OWN_WEIGHTS
from ..run import Run
from ..settings import last_part

# What fits a Gaussian process: a handful of its own parameters, by hundreds of steps over all samples
_PROCESSES = re.compile(
    r"(?m)^[ \t]*(?:import|from)[ \t]+(?:gpytorch|gpflow|botorch|qpytorch)\b|MarginalLogLikelihood\("
)
# What scripts call the likelihood of a density: gpytorch's, that of torch.distributions, a bound of it
_DENSITIES = re.compile(
    r"MarginalLogLikelihood\(|VariationalELBO\(|-\s*\w*(?:mll|elbo)\b|\b[Gg]aussian_?(?:NLL|nll)\w*\("
    r"|\.log_?(?:prob|density|pdf|likelihood)\(|\bMixtureDensity|MultivariateNormal\(|\bNormalizingFlow"
)
# `LBFGS([A, b])`, `Adam([pose], lr=0.1)`: an optimizer of tensors that are named one by one
_OF_TENSORS = re.compile(
    r"\b(LBFGS|Adam\w*|SGD|RMSprop|Rprop)\(\s*(?:params\s*=\s*)?\[([\w.]+(?:\s*,\s*[\w.]+){0,2})\s*,?\s*\]"
)
_OF_LAYERS = re.compile(r"parameters\(|\btrainable_(?:variables|weights|params)\b|\.compile\(|\bTrainer\(")
# what a network is written with; a program of JAX without any of it fits parameters of a formula
_OF_NETWORKS = re.compile(
    r"(?i)\bnn\.|\bstax\b|flax|haiku|\bhk\.|equinox|\beqx\.|keras|transformers|objax|trax\b|dense|linear|conv|embed"
    r"|layer|hidden|neural|network|\bmlp|relu|sigmoid|softmax|tanh|logits|weights|\bnet\b|attention|import_module"
)
_GRADIENTS = re.compile(r"\bjax\.(?:value_and_)?grad\(|(?<![\w.])(?:value_and_)?grad\(")


def process(run: Run) -> bool:
    """Whether a Gaussian process is fitted."""
    return any(map(_PROCESSES.search, run.scripts.values()))


def density(run: Run) -> bool:
    """Whether a density is fitted, by a likelihood or a bound of it: its loss may lie below zero."""
    return any(map(_DENSITIES.search, run.scripts.values()))


def tensors(run: Run) -> bool:
    """Whether a few tensors are all that is fitted (a pose, a transform, an image): no weights of layers."""
    scripts = run.scripts.values()
    given = [found for code in scripts for found in _OF_TENSORS.findall(code)]
    named = bool(given) and all(kind == "LBFGS" or not _of_weights(names) for kind, names in given)
    named = named and not any(map(_OF_LAYERS.search, scripts))
    formula = any(map(_GRADIENTS.search, scripts)) and not any(map(_OF_NETWORKS.search, scripts))
    return named or formula


def _of_weights(names: str) -> bool:
    """`w, b`: tensors by the names of a network's weights. LBFGS searches along a line, whatever they are."""
    return any(OWN_WEIGHTS.search(last_part(name.strip())) for name in names.split(","))
