"""What a log says in words: overflows, warnings with a known meaning, exceptions, resumes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ...run import Event, EventKind
from .._secrets import HIDDEN, redact

MAX_EVENTS = 20_000
MAX_TEXT = 300
_NUMBER = r"([-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|\.\d+|nan|inf))"
_ASSIGNED = re.compile(
    r"((?:api|access|secret|private|auth|hf|wandb)?[_-]?(?:token|secret|passw(?:or)?d|api_?key|access_?key|credentials?)"
    r"[\"']?\s*[=:]\s*[\"']?)([^\s\"',;]{3,})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of line. `value` and `step` are numbers of groups of the pattern."""

    kind: EventKind
    pattern: re.Pattern[str]
    data: str = ""
    value: str = ""
    step: str = ""
    once: bool = True  # identical lines are merged
    nan: bool = False  # the loss at this step is no number


def _rule(kind: EventKind, pattern: str, data: str = "", *, once: bool = True, nan: bool = False) -> Rule:
    return Rule(kind, re.compile(pattern, re.IGNORECASE), data, once=once, nan=nan)


# In order: the first that matches takes the line. `(?P<value>)`, `(?P<step>)`, `(?P<epoch>)`, `(?P<rank>)` are read.
RULES: tuple[Rule, ...] = (
    _rule(
        "overflow",
        r"OVERFLOW!.{0,20}?(?:Rank (?P<rank>\d+))?.{0,20}?Skipping step\. Attempted loss scale: (?P<old>[\d.e+-]+), (?:"
        r"reducing to (?P<value>[\d.e+-]+)|but hysteresis is \d+\. Reducing hysteresis to \d+)",
        "deepspeed",
        once=False,
    ),
    _rule("overflow", r"Grad(?:ient)? overflow on iteration:? (?P<step>\d+)", "deepspeed-fused", once=False),
    _rule(
        "loss-scale",
        r"Reducing dynamic loss scale from (?P<old>[\d.e+-]+) to (?P<value>[\d.e+-]+)",
        "deepspeed-fused",
        once=False,
    ),
    _rule(
        "overflow",
        r"Overflow detected\. Skipping step\. Attempted loss scale: (?P<old>[\d.e+-]+), reducing to (?P<value>[\d.e+-]+)",
        "deepspeed",
        once=False,
    ),
    _rule(
        "overflow",
        r"Gradient overflow\.\s+Skipping step,\s+(?:loss scaler \d+ )?reducing loss scale to (?P<value>[\d.e+-]+)",
        "apex",
        once=False,
    ),
    _rule(
        "overflow",
        r"overflow detected,.{0,30}? setting loss scale to:? (?P<value>[\d.e+-]+)",
        "fairseq",
        once=False,
    ),
    _rule(
        "overflow-ignored", r"overflow, still update(?:.{0,40}?adjust to (?P<value>[\d.e+-]+))?", once=False
    ),
    _rule(
        "overflow",
        r"(?:overflow|gradient overflow).{0,60}?(?:drop(?:ped)? (?:this |the )?(?:step|update)|skip(?:ped|ping)?)"
        r"(?:.{0,60}?loss[_ ]scale\D{0,20}(?P<value>[\d.e+-]+))?",
        once=False,
    ),
    _rule(
        "scale-at-minimum",
        r"loss scale already at minimum|minimum loss scale reached(?: \((?P<value>[\d.e+-]+)\))?",
    ),
    _rule(
        "non-finite-loss",
        r"In epoch: (?P<epoch>\d+) step: (?P<step>\d+), loss is NAN or INF",
        "mindspore",
        nan=True,
    ),
    _rule(
        "non-finite-loss",
        r"epoch: (?P<epoch>\d+) step: (?P<step>\d+)\. Invalid loss, terminating training",
        "mindspore",
        nan=True,
    ),
    _rule("non-finite-loss", r"Batch (?P<step>\d+): Invalid loss, terminating training", "keras", nan=True),
    _rule("non-finite-loss", r"Model diverged with loss = NaN", "tensorflow", nan=True),
    _rule(
        "non-finite-loss",
        r"Loss became infinite or NaN at iteration=(?P<step>\d+)",
        "detectron2",
        nan=True,
    ),
    _rule("non-finite-loss", r"NaN loss during training|NanLossDuringTraining", "tensorflow"),
    _rule(
        "non-finite-loss", r"Loss is (?:nan|inf|-inf), (?:stopping|terminating|exiting)", "stopped", nan=True
    ),
    _rule("non-finite-loss", r"Loss NaN/Inf detected", "ultralytics", once=False),
    _rule(
        "non-finite-loss",
        r"(?:found|detected|encountered|got|hit|has|contains?|is|was|becomes?|became|turned) (?:an? )?"
        r"(?:nan|inf|non-?finite|infinite|not finite)(?: or (?:nan|inf))?(?: values?)?(?: in)?(?: the| local| lm| training)* loss"
        r"|\bloss (?:(?:is|was|became|becomes|went|turned) )?(?:to )?(?:nan|inf|non-?finite|not finite|infinite)(?: or (?:nan|inf))?"
        r"(?:$|[!.,;]? ?(?:detected|found|encountered|stopping|terminat|skipping|abort|exit|break|at (?:step|epoch|iter|batch)|in (?:step|epoch|iter|batch)))"
        r"|(?:nan|non-?finite|invalid) loss (?:detected|found|encountered|at|in|value)",
        "printed",
        once=False,
    ),
    _rule(
        "non-finite-value",
        r"Function '(?P<data>\w+)' returned nan values in its \d+(?:th|st|nd|rd) output",
        "anomaly",
    ),
    _rule(
        "non-finite-value",
        r"RuntimeWarning: (?:invalid value|overflow|divide by zero|underflow) encountered in",
        "numpy",
    ),
    _rule(
        "non-finite-value",
        r"(?:nan|inf|non-?finite|infinite) (?:values? )?(?:in|for|of) (?:the )?(?:grad\w*|weights?|parameters?|activations?|outputs?|logits|inputs?)"
        r"|(?:grad\w*|gradient norm|total norm|weights?|parameters?|activations?|outputs?|logits|inputs?) (?:is|are|contains?|has|have|for gradients from .{0,60} is) (?:nan|inf|non-?finite|infinite)"
        r"|The total norm of order .{0,40} is non-finite|Tensor had (?:NaN|Inf)(?: and (?:NaN|Inf))? values",
        "tensor",
    ),
    _rule(
        "device-assert",
        r"device-side assert|Assertion `?(?:t >= 0 && t < n_classes|srcIndex < srcSelectDimSize|idx_dim >= 0|index out of bounds"
        r"|target_val >= zero|input_val >= zero|.{0,80}index out of bounds.{0,40})`? failed|IndexError: Target -?\d+ is out of bounds"
        r"|aicore (?:error|exception)|EZ9999",
    ),
    _rule(
        "out-of-memory",
        r"CUDA out of memory|OutOfMemoryError|NPU out of memory|out of memory\. Tried to allocate|CUDA_ERROR_OUT_OF_MEMORY"
        r"|RESOURCE_EXHAUSTED|ResourceExhaustedError|oom-kill|Out Of Memory|Killed\s+python|MallocFeatureMapMem fail"
        r"|Failed to allocate memory|Out of memory:? Killed process|DefaultCPUAllocator: (?:can't|not enough)",
    ),
    _rule(
        "resume",
        r"(?:loading|loaded) checkpoint from .{0,300}? at iteration (?P<step>\d+)",
        "checkpoint",
    ),
    _rule(
        "resume",
        r"resumed epoch: (?P<epoch>\d+), iter: (?P<step>\d+)",
        "openmmlab",
    ),
    _rule(
        "resume",
        r"Continuing training from (?:global step|checkpoint).{0,30}?(?P<step>\d+)?"
        r"|(?:resum(?:e|ed|ing)) (?:training |run )?(?:from|at|on)\b(?!.{0,20}\bNone\b).{0,200}?(?:(?:step|iteration|iter|global_step)[ :=_-]{0,3}(?P<step2>\d+)|$|[./\w-])"
        r"|(?:Loaded|Loading|Restor(?:ed|ing)) (?:checkpoint|model and optimizer|training state|optimizer state|states?) (?:from |')(?!None).{0,200}?(?:(?:step|iteration|updates|@)[ :=_-]{0,3}(?P<step3>\d+)|$|[./\w-])"
        r"|Loaded checkpoint .{1,200}\(epoch \d+ @ (?P<step4>\d+) updates\)"
        r"|Restoring parameters from .{1,200}?-(?P<step5>\d+)\s*$",
        "checkpoint",
    ),
    _rule(
        "weights-newly-initialized",
        r"Some weights of .{1,120} were not initialized from .{1,200}newly initialized|are newly initialized:"
        r"|(?:weights?|parameters?|layers?) .{0,60}newly initiali[sz]ed",
    ),
    _rule(
        "checkpoint-keys-mismatch",
        r"(?:Missing|Unexpected) key\(s\) in state_dict|size mismatch for \S+|(?:missing|unexpected)[ _]keys? in (?:source )?state_dict"
        r"|Some weights of the model checkpoint at .{1,120} were not used|Loaded 0 (?:keys|params|parameters|/)|\b0/\d+ (?:keys|params|parameters) loaded"
        r"|missing_keys ?= ?\[['\"]|unexpected_keys ?= ?\[['\"]|(?:missing|unexpected) keys?: ?\[['\"]"
        r"|_IncompatibleKeys\(missing_keys=\[['\"]|parameters? .{0,80}not (?:be )?loaded|net_param.{0,60}not (?:be )?loaded",
    ),
    _rule(
        "scheduler-before-optimizer",
        r"lr_scheduler\.step\(\)[`'\"]? before [`'\"]?optimizer\.step\(\)",
    ),
    _rule(
        "no-grad-input",
        r"None of the inputs have requires_grad=True|does not require grad and does not have a grad_fn"
        r"|[Nn]o gradients? provided for any variable",
    ),
    _rule(
        "unused-parameters",
        r"(?:parameters? that were not used in producing (?:the )?loss|Parameters? which did not receive grad|Parameter indices which did not receive grad"
        r"|[Gg]radients do not exist for variables)",
    ),
    _rule("from-logits", r"received [`'\"]?from_logits=True[`'\"]?,? but"),
    _rule(
        "shape-broadcast",
        r"Using a target size \(.{0,60}\) that is different to the input size",
    ),
    _rule(
        "undefined-metric",
        r"UndefinedMetricWarning|Only one class (?:is )?present in y_true|ROC AUC score is not defined",
    ),
    _rule("token-length", r"Token indices sequence length is longer than"),
    _rule(
        "data-warning",
        r"corrupt(?:ed)? (?:JPEG|image|file|label|data|EXIF)|(?:image|label|file|sample)s? .{0,120}(?:is |are |not )(?:corrupt\w*|missing|truncated)"
        r"|Corrupt JPEG data|Truncated File Read|image file is truncated|cannot identify image file|WARNING:? .{0,40}No labels (?:found )?in"
        r"|ignoring corrupt image/label|[1-9]\d* (?:images? |files? )?(?:missing|corrupt(?:ed)?)(?: \(|,|$| images| labels| files)|PNG.{0,20}CRC error"
        r"|samples? (?:are|is) (?:either )?too (?:short|long) (?:or too (?:short|long) )?and will be ignored|No labels found|libpng (?:error|warning)"
        r"|(?:DataLossError|corrupted record)|(?:skipping|(?:failed|unable) to (?:load|read|decode|open)|could not (?:load|read|decode|open)) (?:\S+ ){0,4}?"
        r"(?:corrupt\w*|bad|broken|invalid|empty) ?(?:image|sample|label|annotation|audio|video|record|file|row|line)s?\b"
        r"|(?:failed|unable) to (?:load|read|decode|open) (?:\S+ ){0,2}?(?:image|sample|label|annotation|audio|video|record)s?\b",
    ),
    _rule(
        "known-warning",
        r"Detected call of `?optimizer\.step|epoch parameter in `?scheduler\.step\(\)",
        "scheduler-call",
    ),
    _rule("known-warning", r"use_cache=True`? is incompatible with gradient checkpointing", "use-cache"),
    _rule("known-warning", r"Grad strides do not match bucket view strides", "grad-strides"),
    _rule("known-warning", r"Your input ran out of data; interrupting training", "data-exhausted"),
    _rule(
        "known-warning",
        r"Setting `?pad_token_id`? to `?eos_token_id|pad_token_id.{0,40}eos_token_id|Setting pad token to eos",
        "pad-is-eos",
    ),
    _rule(
        "known-warning",
        r"Could not find response key|This instance will be ignored in loss calculation",
        "all-labels-masked",
    ),
    _rule(
        "known-warning",
        r"does not (?:have|contain) (?:a |any )?trainable (?:param|variable|weight)",
        "nothing-trainable",
    ),
    _rule("known-warning", r"trainable params: 0 ", "nothing-trainable"),
    _rule(
        "known-warning",
        r"The (?:attention mask|attention_mask) (?:and the pad token id were|is) not set",
        "attention-mask",
    ),
    _rule(
        "known-warning", r"implicit dimension choice for (?:log_)?softmax has been deprecated", "softmax-dim"
    ),
    _rule(
        "known-warning",
        r"Found no NVIDIA driver|CUDA is not available|Torch not compiled with CUDA enabled",
        "no-device",
    ),
    _rule(
        "exit",
        r"(?:exit(?:ed|s)?|returned|failed) with (?:exit |return |error )?(?:code|status):? ?(?P<value>-?\d+)|exitcode\s*: (?P<value2>-?\d+)|exits with return code = (?P<value3>-?\d+)",
    ),
)
# One cheap look that nearly all of the lines above pass and few others do.
HINT = re.compile(
    rb"overflow|reducing|minimum|nan|inf\b|infinite|invalid|finite|assert|out of|memory|exhaust|oom|kill|checkpoint|resum|continuing|restor|initiali[sz]ed"
    rb"|state_dict|mismatch|keys|scheduler|requires_grad|require grad|gradient|unused|receive grad|from_logits|target size|undefined|only one class"
    rb"|roc auc|sequence length|corrupt|truncated|missing|cannot identify|no labels|ignored|skipp|failed to|libpng|cache|strides|input ran|pad_token|pad token"
    rb"|response key|trainable|attention|implicit|no nvidia|not available|compiled with|exit|return|aicore|ez9999|not used|loaded|not loaded",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"^(?:[\w.]+: )?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Iteration|Timeout|Abort\w*)?)(?::\s?(.*))?$"
)


@dataclass(slots=True)
class Found:
    """An event with the index of the row that comes next, by which it is placed."""

    event: Event
    row: int
    own_step: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """What an overflow line says: the iteration, and the loss scale before and after."""

    step: float | None
    old: float | None
    new: float | None


@dataclass(slots=True)
class _Burst:
    """Overflow lines that are about one step."""

    words: Words
    ranks: set[int | None]
    at: int  # index of the event

    def goes_on(self, rank: int | None, words: Words) -> bool:
        """Say whether a further line is about the same step."""
        if words.step is not None:
            return words.step == self.words.step
        if self.words.step is not None:
            return self.words.new is None or self.words.new == words.new
        return words == self.words and rank not in self.ranks


@dataclass(slots=True)
class Events:
    """Collects events; merges identical ones, and overflow lines of several ranks for one step."""

    file: str
    found: list[Found] = field(default_factory=list)
    dropped: int = 0
    _seen: dict[tuple[str, str, int | None], int] = field(default_factory=dict)
    _burst: _Burst | None = None

    def add(self, event: Event, row: int, *, once: bool, own_step: bool = False) -> None:
        """Add an event; with `once` it is merged with an identical one before it."""
        if once:
            key = (event.kind, event.text, event.rank)
            at = self._seen.get(key)
            if at is not None:
                before = self.found[at]
                before.event = replace(before.event, count=before.event.count + 1)
                return
            self._seen[key] = len(self.found)
        if len(self.found) >= MAX_EVENTS:
            self.dropped += 1
            return
        self.found.append(Found(event, row, own_step))

    def overflow(self, event: Event, row: int, words: Words, *, own_step: bool) -> None:
        """Add one of DeepSpeed's overflow lines.

        Every rank prints, and the fused optimizer prints three lines for one step: lines of other ranks with
        the same words, of the same iteration, or that complete the one before, count as that one.
        """
        burst = self._burst
        if burst is not None and burst.goes_on(event.rank, words):
            burst.ranks.add(event.rank)
            burst.words = Words(
                words.step or burst.words.step, burst.words.old or words.old, burst.words.new or words.new
            )
            if burst.at < len(self.found):
                seen = self.found[burst.at].event
                value = seen.value if seen.value is not None else event.value
                self.found[burst.at].event = replace(seen, count=seen.count + 1, value=value)
            return
        self._burst = _Burst(words, {event.rank}, len(self.found))
        self.add(event, row, once=False, own_step=own_step)

    def scale(self, old: float | None, new: float | None) -> None:
        """The fused optimizer says to what the scale fell: it belongs to the overflow before."""
        burst = self._burst
        if burst is None or new is None or burst.at >= len(self.found) or burst.words.new is not None:
            return
        self.found[burst.at].event = replace(self.found[burst.at].event, value=new)
        burst.words = Words(burst.words.step, old, new)


_SOURCE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import|return\b|if .*:$|elif |for .*:$|while .*:$|assert\b|raise\b|print\(|self\.|@\w|#(?!#)|//|\"\"\"|warnings\.warn|logger\.)"
)
_MANY_WORDS = 14  # a sentence about a NaN loss is not a run that has one
ON_ROWS: frozenset[EventKind] = frozenset(
    {
        "overflow",
        "overflow-ignored",
        "scale-at-minimum",
        "non-finite-loss",
        "out-of-memory",
        "loss-scale",
        "device-assert",
    }
)


def match_rule(text: str) -> tuple[Rule, re.Match[str]] | None:
    """Return the first rule that a line matches."""
    if _SOURCE.match(text) or (len(text) > 600 and "': " in text):
        return None
    for rule in RULES:
        match = rule.pattern.search(text)
        if match and not (rule.data in ("printed", "tensor") and len(text.split()) > _MANY_WORDS):
            return rule, match
    return None


def number_of(match: re.Match[str], name: str) -> float | None:
    """Read a named group (or its numbered alternatives) of a rule as a number."""
    groups = match.groupdict()
    for key, text in groups.items():
        if key.rstrip("0123456789") == name and text:
            try:
                return float(text.rstrip(".").replace(",", ""))
            except ValueError:
                return None
    return None


def exception_of(line: str) -> tuple[str, str] | None:
    """Return (class, line) of the last line of a traceback, or None."""
    match = _EXCEPTION.match(line.strip())
    if match is None or not match.group(1):
        return None
    name = match.group(1).rsplit(".", 1)[-1]
    if match.group(2) is None and not re.search(r"(?:Error|Exception|Interrupt|Exit|Iteration)$", name):
        return None
    return name, line.strip()


def shorten(text: str) -> str:
    """At most 300 characters of a line, secrets replaced."""
    text = " ".join(text.split())[: 2 * MAX_TEXT]
    text = _ASSIGNED.sub(rf"\1{HIDDEN}", text)
    return redact("", text)[:MAX_TEXT]
