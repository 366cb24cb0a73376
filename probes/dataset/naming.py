"""What names of files, folders and columns say: splits, labels, inputs, ranks, shards."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from .model import Split

_TRAIN = frozenset({"train", "training", "trn", "trainset", "fit"})
_EVAL = frozenset(
    {"val", "valid", "validation", "dev", "eval", "evaluation", "devset", "valset", "validate", "holdout"}
)
_TEST = frozenset({"test", "testing", "testset", "tst"})
_MEDICAL = re.compile(r"(images|labels)(Tr|Ts|Val)")  # folders of the Medical Segmentation Decathlon, nnU-Net
_MEDICAL_SPLITS: dict[str, Split] = {"Tr": "train", "Ts": "test", "Val": "eval"}
_WORDS = re.compile(r"[A-Za-z]+")
TABLES = frozenset({".csv", ".tsv", ".data"})
LINES = frozenset({".jsonl", ".ndjson"})
RECORDS = frozenset({".tfrecord", ".tfrecords"})
ARRAYS = frozenset({".npy", ".npz"})
FOREIGN = {  # forms of data that are not read, by the end of a name
    ".h5": "HDF5",
    ".hdf5": "HDF5",
    ".mdb": "LMDB",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".zip": "ZIP",
    ".rar": "RAR",
    ".7z": "7-Zip",
    ".mat": "MATLAB",
    ".nii": "NIfTI",
    ".nii.gz": "NIfTI",
    ".dcm": "DICOM",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".mp4": "video",
    ".avi": "video",
    ".feather": "Feather",
    ".avro": "Avro",
    ".orc": "ORC",
    ".rec": "RecordIO",
    ".xlsx": "Excel",
    ".pt": "PyTorch's pickle",
    ".pth": "PyTorch's pickle",
}
_LABELS = """
label labels target targets y class classes class_id category label_id labels_id gt ground_truth
groundtruth y_true species is_fraud outcome coarse_label fine_label class_label label_idx
survived diagnosis churn exited attrition sentiment
"""
LABELS = frozenset(_LABELS.split())
_TEXTS = """
text sentence sentences input inputs prompt instruction question review content body comment document
caption transcript source article summary output response answer completion
"""
TEXTS = frozenset(_TEXTS.split())
_INPUT_WORDS = "x input inputs image images img imgs data feature features pixel values samples"
_INPUTS = frozenset(_INPUT_WORDS.split())
_MASKS = frozenset({"attention_mask", "attn_mask", "input_mask"})
PICTURES = frozenset({"images", "image", "imgs", "img", "jpegimages", "leftimg8bit", "rgb"})
_MASK_FOLDERS = """
masks mask labels label annotations annotation segmentation segmentations seg segmentationclass
segmentationobject gt gtfine groundtruth ground_truth labelids label_maps trainids
"""
MASK_FOLDERS = frozenset(_MASK_FOLDERS.split())
TRUTH_FOLDERS = frozenset({"ground_truth", "groundtruth", "gtfine", "gt"})  # no class is called so
_IDENTIFIERS = re.compile(
    r"(?:^|_)(?:id|idx|index|key|uuid|guid|timestamp|ts|date|datetime|time|unixtime|unix|row)s?$|_(?:no|nr)$|^unnamed",
    re.I,
)
_TOKEN_IDS = re.compile(
    r"(?:input|token|target|decoder|prompt|completion|label|chosen|rejected|position|type)_ids$", re.I
)
_OF = re.compile(r"^(?P<stem>.*?)[-_.]?(?P<at>\d{1,6})[-_]of[-_](?P<all>\d{1,6})(?P<rest>.*)$")
_SHARD = re.compile(r"(?P<stem>.*?)(?P<at>\d{3,})(?P<end>\.(?:tar|tfrecords?|parquet|arrow|mindrecord))")
LEAST_SHARDS = 5  # of a set whose numbers tell that some are not there
_RANK = re.compile(r"(?:rank|worker|node|device|shard|process)[-_]?(\d{1,5})", re.I)


def split_of(path: str) -> Split:
    """Tell the split from a path: the last part that names one decides ("data/train/x_val.npy" is eval)."""
    for part in reversed(path.split("/")):
        medical = _MEDICAL.fullmatch(part)
        if medical is not None:
            return _MEDICAL_SPLITS[medical[2]]
        words = {w.lower() for w in _WORDS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", part))}
        named: list[Split] = []
        if words & _TRAIN:
            named.append("train")
        if words & _EVAL:
            named.append("eval")
        if words & _TEST:
            named.append("test")
        if len(named) == 1:
            return named[0]
    return ""


def split_of_media(path: str) -> Split:
    """The split of a picture or recording: its folders decide, its own name only where they tell nothing."""
    folder, _, name = path.rpartition("/")
    return split_of(folder) or split_of(name)


def bare(name: str) -> str:
    """Return a field's name without split and numbers: "x_train" -> "x", "batch_003_labels" -> "labels"."""
    words = [w.lower() for w in re.split(r"[^A-Za-z]+", name) if w]
    noise = _TRAIN | _EVAL | _TEST | {"batch", "step", "iter", "rank", "epoch", "npu", "gpu", "sample"}
    kept = [w for w in words if w not in noise]
    return "_".join(kept) or (words[-1] if words else name.lower())


def is_label(name: str) -> bool:
    """Whether a column or field is called like labels."""
    plain = bare(name)
    return plain in LABELS or plain.endswith(("_label", "_labels", "_target", "_class"))


def is_input(name: str) -> bool:
    """Whether a field is called like what the model reads."""
    return bool(set(bare(name).split("_")) & _INPUTS)


def holds_labels(path: str) -> bool:
    """Whether a file lies in a folder that is called like labels or masks ("labelsTr", "masks")."""
    folders = {_MEDICAL.sub(r"\1", p).lower() for p in path.split("/")[:-1]}
    return bool(folders & MASK_FOLDERS)


def is_mask(name: str) -> bool:
    """Whether a field is an attention mask."""
    return bare(name) in _MASKS


def is_text(name: str) -> bool:
    """Whether a column is called like the text that a model reads or writes."""
    return name.strip().lower() in TEXTS


def is_answer(name: str) -> bool:
    """Whether a column is called like the text that a model learns to write."""
    return name.strip().lower() in ("output", "response", "completion", "chosen", "rejected", "transcript")


def is_sample_id(name: str) -> bool:
    """Whether a column tells which sample a row is about."""
    return name.strip().lower() in ("id", "image_id", "sample_id", "image", "filename", "file_name", "path")


def is_identifier(name: str) -> bool:
    """Whether a column numbers, names or dates its rows; the ids of tokens are what a model reads."""
    if _TOKEN_IDS.search(name.strip()):
        return False
    return bool(_IDENTIFIERS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())))


def is_submission(name: str) -> bool:
    """Whether a file is a form to hand predictions in with ("sample_submission.csv"), and no data."""
    words = set(re.split(r"[^a-z]+", name.lower()))
    return bool({"submission", "submissions"} & words or {"samplesubmission"} & words)


def one_of(name: str) -> tuple[str, int, int] | None:
    """Return (set, index, how many) of "train-00003-of-00008.parquet", or None."""
    found = _OF.match(name)
    if found is None or not 0 < int(found["all"]) <= 100_000:
        return None
    return f"{found['stem']}*{found['rest']}", int(found["at"]), int(found["all"])


def left_out(paths: Iterable[str]) -> list[str]:
    """Sentences on shards that a set numbered from 0 or 1 lacks: few of five or more, of one name."""
    sets: dict[tuple[str, str], set[int]] = defaultdict(set)
    for path in paths:
        found = _SHARD.fullmatch(path)
        if found is not None and one_of(path.rpartition("/")[2]) is None:
            sets[found["stem"], found["end"]].add(int(found["at"]))
    told = []
    for (stem, end), have in sorted(sets.items()):
        lost = sorted(set(range(min(have), max(have))) - have)
        if lost and len(have) >= LEAST_SHARDS and min(have) <= 1 and len(lost) <= 0.2 * len(have):
            shown = ", ".join(map(str, lost[:5])) + (", ..." if len(lost) > 5 else "")
            told.append(f"{stem}*{end}: number {shown} of {min(have)} to {max(have)} is not there")
    return told


def rank_of(path: str) -> int | None:
    """Return the rank or shard that a path names."""
    found = _RANK.search(path)
    return int(found[1]) if found else None
