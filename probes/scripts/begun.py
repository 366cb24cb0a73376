"""Whether a program starts something: a file that others import may be used in ways that nobody sees here."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

from ..readers import notebook
from ..readers._tree import of, unparse
from ..readers.script import last_name
from .conditions import asks_main
from .syntax import Script

_STARTS = (
    "fit",
    "backward",
    "step",
    "minimize",
    "train",
    "evaluate",
    "apply_gradients",
    "Fire",
    "LightningCLI",
    "run",
)
_ENTRIES = ("main", "cli", "run", "launch", "start", "entry_point")
_COMMANDS = re.compile(r"(?i)main|command|hydra|click|cli\b")
# what published training code imports that is neither the standard library nor its own project (practice)
_LIBRARIES = frozenset(
    re.findall(
        r"\w+",
        """
        absl accelerate acl albumentations apex audiomentations augly autogluon av bitsandbytes boto3
        botorch bs4 captum catalyst catboost clearml cleverhans click clip cloudpickle clu colorama
        comet_ml cupy cv2 dask datasets decord deepspeed detectron2 dgl diffusers dill distrax dm_control
        dvclive easydict editdistance einops evaluate fairscale fairseq faiss fastai fastprogress fire
        flair flash_attn flax fsspec ftfy functorch fvcore galore_torch gensim google gpytorch grain gym
        gymnasium h5py habana_frameworks haiku hccl horovod huggingface_hub hydra ignite imageio imblearn
        imgaug intel_extension_for_pytorch IPython ipywidgets jax jaxlib jaxtyping jieba joblib jsonlines
        keras keras_core keras_cv keras_nlp keras_tuner kornia librosa liger_kernel lightgbm lightning
        lightning_fabric lightning_utilities lmdb loguru lpips lxml mamba_ssm matplotlib megatron mindcv
        mindformers mindnlp mindocr mindone mindrl mindspeed mindspore mindyolo ml_collections mlflow
        mmcv mmengine modelarts modelscope monai more_itertools moviepy moxing mpi4py msgpack msit
        msprobe munch natsort neptune networkx nibabel nltk nni npu npu_bridge npu_device numba numpy
        omegaconf oneflow onnx onnxruntime opacus open_clip openai opencv opt_einsum optax optuna orbax
        orjson packaging paddle paddlenlp pandas parameterized patsy peft PIL pl_bolts plotly plotnine
        polars prettytable progress progressbar psutil pyarrow pycocotools pycuda pydantic pydicom pydub
        pyhocon pynvml pyro pytest pytorch_lightning pytorch_metric_learning pytorch_msssim
        pytorch_warmup pytz ray rdkit recbole regex requests rich rouge_score ruamel sacrebleu sacred
        safetensors scanpy scikitplot scipy seaborn segmentation_models_pytorch sentence_transformers
        sentencepiece seqeval setproctitle setuptools shap shapely SimpleITK simplejson six skimage
        sklearn skorch soundfile spacy spikingjelly stable_baselines3 statsmodels submitit swift sympy
        tables tabulate tbe te tensorboard tensorboard_logger tensorboardX tensordict tensorflow
        tensorflow_addons tensorflow_datasets tensorflow_hub tensorflow_probability tensorflow_text
        tensorlayer termcolor test_tube tf_keras tf_slim tflearn tfrecord thop tifffile tiktoken timm
        timm_3d tokenizers toml tomli toolz torch torch_cluster torch_geometric torch_mlu torch_musa
        torch_npu torch_optimizer torch_scatter torch_sparse torch_xla torchattacks torchaudio torchdata
        torchdiffeq torcheval torchinfo torchmetrics torchsummary torchtext torchvision torchviz tqdm
        transformers triton trl troubleshooter typeguard typer typing_extensions ujson ultralytics umap
        unsloth visdom vit_pytorch wandb warmup_scheduler webdataset xarray xformers xgboost yacs yaml
        zarr
        """,
    )
)


def begins(source: Script) -> bool:
    """Its own file runs something when it is started, or holds an entry (`main`, a command).

    Cells of a notebook run; of a file that only defines functions and classes others make the use.
    """
    if (source.entry or source.path).endswith(notebook.SUFFIX) or _by_itself(source):
        return True
    return any(_starts(s) for s in _own(source))


def _by_itself(source: Script) -> bool:
    """It is one file that imports nothing of a project: somebody hands in what is to be judged as it is."""
    return len(source.pieces) < 2 and not any(map(_of_a_project, (*source.tree.body, *source.left_out)))


def _of_a_project(statement: ast.stmt) -> bool:
    """Whether this takes something out of a module that stands beside the file, or is of nobody's knowing."""
    if not isinstance(statement, ast.ImportFrom):
        return False
    return statement.level > 0 or not is_library(statement.module or "")


def is_library(module: str) -> bool:
    """Whether a module is of the standard library or of published packages, and not of the project."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in _LIBRARIES


@lru_cache(maxsize=64)
def _libraries(source: Script) -> frozenset[str]:
    """Names of modules that are of no project: `np`, `torch`; what is taken out of one may be a class."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for node in source.of(ast.Import):
        for one in node.names:
            names[is_library(one.name)].add((one.asname or one.name).split(".")[0])
    return frozenset(names[True] - names[False])


def library_call(source: Script, call: ast.Call) -> bool:
    """`torch.save(state, path)`: no function of the script, whatever it has by this name."""
    root: ast.AST = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return root is not call.func and isinstance(root, ast.Name) and root.id in _libraries(source)


def _own(source: Script) -> Iterator[ast.stmt]:
    """What stands at the top of the file that imports the others."""
    before = source.pieces[-1][0] if source.pieces else 0
    yield from (s for s in (*source.tree.body, *source.left_out) if s.lineno > before)


def _starts(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        asked = any(_COMMANDS.search(unparse(d)) for d in statement.decorator_list)
        return asked or statement.name in _ENTRIES
    if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With)):
        return True
    if isinstance(statement, ast.If):
        return asks_main(statement.test) or any(map(_starts, statement.body))
    if isinstance(statement, ast.Try):
        return any(map(_starts, statement.body))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if isinstance(statement.value.func, ast.Name):
            return True  # `main()`
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)) and statement.value is not None:
        return any(last_name(c.func) in _STARTS for c in of(statement.value, ast.Call))
    return False
