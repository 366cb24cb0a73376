"""What logs say in words, as patterns: one rule per kind of line, asked in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ...run import EventKind

_N = r"[-+\d.eE]+"  # a printed number


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of line. The named groups `value`, `step`, `epoch`, `rank`, `old` and `data` are read."""

    kind: EventKind
    words: str
    data: str = ""
    once: bool = True  # identical lines are merged
    nan: bool = False  # the loss at this step is no number

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when the first line is held against it: most runs have no such log."""
        return _compiled(self.words)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


def _rule(kind: EventKind, *phrases: str, data: str = "", once: bool = True, nan: bool = False) -> Rule:
    return Rule(kind, "|".join(phrases), data, once, nan)


_NAN = r"(?:nan|inf|-inf|non-?finite|infinite|not finite)(?: or (?:nan|inf))?"
_TENSORS = r"(?:grad\w*|gradient norm|total norm|weights?|parameters?|activations?|outputs?|logits|inputs?)"
_PARTS = r"\b(?:driver|firmware|cann|hdk|toolkit|torch[_-]npu|ascend\b.{0,40}\bpackage|cuda runtime)\b"
_SAMPLES = r"(?:image|sample|label|annotation|audio|video|record|file|row|line)s?\b"
# state, settings and what is kept for speed are no samples
_OF_DATA = (
    r"^(?!.*(?<![a-z])(?:checkpoints?|ckpts?|configs?|configuration|resum\w*|cached?|optimi[sz]er"
    r"|overrides?|\w+\.ya?ml)(?![a-z]))(?:.*?)"
)
_GONE = r"(?:no such file|does not exist|filenotfounderror|errno 2\b|moov atom not found)"

_SCALING = (
    _rule(
        "overflow",
        r"OVERFLOW!\s*(?:Rank (?P<rank>\d+)\s*)?Skipping step\. Attempted loss scale: "
        rf"(?P<old>{_N}), (?:reducing to (?P<value>{_N})|but hysteresis is \d+\. Reducing hysteresis to \d+)",
        data="deepspeed",
        once=False,
    ),
    _rule(
        "overflow",
        rf"Overflow detected\. Skipping step\. Attempted loss scale: (?P<old>{_N}), "
        rf"reducing to (?P<value>{_N})",
        data="deepspeed",
        once=False,
    ),
    _rule(
        "overflow",
        r"Grad(?:ient)? overflow on iteration:? (?P<step>\d+)",
        data="deepspeed-fused",
        once=False,
    ),
    _rule(
        "loss-scale",
        rf"Reducing dynamic loss scale from (?P<old>{_N}) to (?P<value>{_N})",
        data="deepspeed-fused",
        once=False,
    ),
    _rule(
        "overflow",
        r"Gradient overflow\.\s+Skipping step,\s+(?:loss scaler \d+ )?"
        rf"reducing loss scale to (?P<value>{_N})",
        data="apex",
        once=False,
    ),
    _rule(
        "overflow",
        rf"overflow detected,.{{0,30}}? setting loss scale to:? (?P<value>{_N})",
        data="fairseq",
        once=False,
    ),
    _rule(
        "overflow-ignored",
        rf"overflow, still update(?:.{{0,40}}?adjust to (?P<value>{_N}))?",
        data="mindyolo",
        once=False,
    ),
    _rule(
        "overflow",
        r"overflow.{0,60}?(?:drop(?:ped)? (?:this |the )?(?:step|update)|skip(?:ped|ping)?)"
        rf"(?:.{{0,60}}?loss[_ ]scale\D{{0,20}}(?P<value>{_N}))?",
        once=False,
    ),
    _rule(
        "scale-at-minimum",
        r"loss scale already at minimum",
        rf"minimum loss scale reached(?: \((?P<value>{_N})\))?",
    ),
)

_NOT_FINITE = (
    _rule(
        "non-finite-loss",
        r"In epoch: (?P<epoch>\d+) step: (?P<step>\d+), loss is NAN or INF",
        r"epoch: (?P<epoch2>\d+) step: (?P<step2>\d+)\. Invalid loss, terminating training",
        data="mindspore",
        nan=True,
    ),
    _rule(
        "non-finite-loss",
        r"Batch (?P<step>\d+): Invalid loss, terminating training",
        data="keras",
        nan=True,
    ),
    _rule("non-finite-loss", r"Model diverged with loss = NaN", data="tensorflow", nan=True),
    _rule(
        "non-finite-loss",
        r"Loss became infinite or NaN at iteration=(?P<step>\d+)",
        data="detectron2",
        nan=True,
    ),
    _rule("non-finite-loss", r"NaN loss during training", r"NanLossDuringTraining", data="tensorflow"),
    _rule(
        "non-finite-loss",
        r"Loss is (?:nan|inf|-inf), (?:stopping|terminating|exiting)",
        data="stopped",
        nan=True,
    ),
    _rule("non-finite-loss", r"Loss NaN/Inf detected", data="ultralytics", once=False),
    _rule(
        "non-finite-loss",
        r"(?:found|detected|encountered|got|hit|has|contains?|is|was|becomes?|became|turned) (?:an? )?"
        rf"{_NAN}(?: values?)?(?: in)?(?: the| local| lm| training)* loss",
        rf"\bloss (?:(?:is|was|became|becomes|went|turned) )?(?:to )?{_NAN}"
        r"(?:$|[!.,;]? ?(?:detected|found|encountered|stopping|terminat|skipping|abort|exit|break"
        r"|(?:at|in) (?:step|epoch|iter|batch)))",
        rf"(?:{_NAN}|invalid) loss (?:detected|found|encountered|at|in|value)",
        rf"{_NAN} loss[,.!:;] ?(?:ending|stopping|skipping|terminat|abort|exit)",
        data="printed",
        once=False,
    ),
    _rule(
        "non-finite-value",
        r"Function '(?P<data>\w+)' returned nan values in its \d+(?:th|st|nd|rd) output",
    ),
    _rule(
        "non-finite-value",
        r"RuntimeWarning: (?:invalid value|overflow|divide by zero|underflow) encountered in",
        data="numpy",
    ),
    _rule(
        # what an autoencoder in half precision gives a diffusion model to train on
        "non-finite-value",
        rf"{_NAN} (?:values? )?(?:found |detected |produced )?in (?:the )?(?:cached )?latents?\b",
        r"latents? (?:are|is|contains?|has|have) (?:all )?nan",
        r"tensor with (?:all )?nans? was produced in (?:the )?vae",
        data="latents",
    ),
    _rule(
        "non-finite-value",
        rf"{_NAN} (?:values? )?(?:in|for|of) (?:the |local ){{0,2}}{_TENSORS}",
        rf"{_TENSORS} (?:is|are|contains?|has|have|for gradients from .{{0,60}} is) {_NAN}",
        r"The total norm of order .{0,40} is non-finite",
        r"Tensor had (?:NaN|Inf)(?: and (?:NaN|Inf))? values",
        r"NaN or Inf found in input tensor",
        data="tensor",
    ),
)

_CRASHES = (
    _rule(
        "device-assert",
        r"device-side assert",
        r"Assertion `?(?:t >= 0 && t < n_classes|srcIndex < srcSelectDimSize|target_val >= zero"
        r"|input_val >= zero|.{0,80}index out of bounds.{0,40})`? failed",
        r"IndexError: Target -?\d+ is out of bounds",
        r"Received a label value of -?\d+ which is outside the valid range",
    ),
    _rule(
        "out-of-memory",
        r"(?:CUDA|NPU|HIP|MPS backend) out of memory",
        r"OutOfMemoryError",
        r"out of memory\. Tried to allocate",
        r"CUDA_ERROR_OUT_OF_MEMORY",
        r"RESOURCE_EXHAUSTED",
        r"ResourceExhaustedError",
        r"oom-kill",
        r"Out of memory:? Killed process",
        r"MallocFeatureMapMem fail",
        r"Failed to allocate memory",
        r"DefaultCPUAllocator: (?:can't|not enough)",
    ),
    _rule(
        "exit",
        r"(?:exit(?:ed|s)?|returned|failed) with (?:exit |return |error )?(?:code|status):? ?"
        r"(?P<value>-?\d+)",
        r"exitcode\s*: (?P<value2>-?\d+)",
        r"exits with return code = (?P<value3>-?\d+)",
    ),
)

_STARTS = (
    _rule(
        # of the whole training: not of an epoch, a fold or a stage of it
        "finished",
        r"^(?!.*\b(?:epoch|fold|stage|phase|round|step|iter\w*|trial|not|error|early)\b)(?:.*?"
        r"\btraining (?:is |was |has )?(?:been )?(?:finished|completed?|done|over)\b(?! for\b)|.*?"
        r"\b(?:finished|completed|done) (?:the )?training\b)",
        r"^\W*all (?:\d+ )?epochs (?:are |were )?(?:done|finished|completed?)\b",
    ),
    _rule(
        "resume",
        r"(?:loading|loaded) checkpoint from .{0,300}? at iteration (?P<step>\d+)",
        r"resumed epoch: (?P<epoch>\d+), iter: (?P<step2>\d+)",
        r"Loading (?:the )?checkpoint at step (?P<step9>[1-9]\d*)",  # torchtitan; step 0 holds weights alone
        r"Continuing training from (?:global step|checkpoint)(?:.{0,30}?(?P<step3>\d+))?",
        r"Starting training from iteration (?P<step7>\d+)",
        r"Loaded checkpoint .{1,200}\(epoch \d+ @ (?P<step4>\d+) updates\)",
        r"(?:^|\W)(?:resum(?:ed|ing)) (?:training |run )?(?:from|at|on) "
        r"(?!scratch\b|None\b|.{0,20}\bNone\b)\S.{0,200}?"
        r"(?:(?:step|iteration|iter|global_step|checkpoint)[ :=_-]{0,3}(?P<step5>\d+)|$)",
        r"(?:^|\W)resume from (?!scratch\b|None\b)\S.{0,200}?\b"
        r"(?:global_step|step|iteration|iter)[ :=_-]{0,3}(?P<step8>\d+)",
        r"(?:^|\W)=> (?:loaded|loading|resuming) checkpoint (?:'.{1,200}?' )?\(epoch (?P<epoch2>\d+)",
        r"(?:Loaded|Loading|Restored|Restoring) (?:(?:training|trainer|optimizer) state|model and optimizer)"
        r" from (?!None)\S",
        r"load(?:ing)? resume context from checkpoint",
        r"Resume (?:training|from checkpoint)(?:.{0,40}?step[ :=]{0,3}(?P<step6>\d+))?.{0,10}$",
        data="checkpoint",
    ),
    _rule(
        "weights-newly-initialized",
        r"Some weights of .{1,120} were not initialized from",
        r"are newly initialized:",
        r"(?:weights?|parameters?|layers?) .{0,60}newly initiali[sz]ed",
    ),
    _rule(
        "checkpoint-keys-mismatch",
        # an optimizer, averages of weights or adapters may begin anew
        r"^(?!.*(?:optimi[sz]er|scheduler|\bema\b|lora|adapter|buffers?\b|caches?\b))(?:.*?"
        r"\bloaded 0 (?:keys|params|parameters|tensors|weights|layers)\b|.*?"
        r"\b0/[1-9]\d* (?:keys|params|parameters|tensors|weights|layers|items) "
        r"(?:were )?(?:loaded|transferred))",
        r"Transferred 0/[1-9]",
        data="none-loaded",
    ),
    _rule(
        "known-warning",
        # MindSpore names what it leaves out: "adam_m.model.norm is not loaded", or all in one list
        r"\b(?:adam_[mv]|moments?[12]?|exp_avg(?:_sq)?)\.[\w.*]{1,120}.{0,40}\b(?:is|are) not loaded",
        r"parameters? .{0,80}(?:is|are) not loaded.{0,400}\b(?:adam_[mv]|moments?[12]?|exp_avg(?:_sq)?)\b",
        data="optimizer-state-missing",
    ),
    _rule(
        "checkpoint-keys-mismatch",
        r"(?:Missing|Unexpected) key\(s\) in state_dict",
        r"size mismatch for [\w.]+: copying",
        r"(?:missing|unexpected)[ _]keys? in (?:source )?state_dict",
        r"Some weights of the (?:model )?checkpoint at .{1,120} were not used",
        r"keys? (?:\w+ )?not (?:found )?in (?:the )?(?:model|checkpoint|ckpt): *[1-9]",
        r"(?:missing_keys|unexpected_keys) ?= ?\[['\"]",
        r"(?:missing|unexpected) (?:[1-9]\d* )?keys?: ?\[['\"]",
        r"net_param(?!.{0,20}\b0 parameters).{0,60}not (?:be )?loaded",
        r"(?<!\b0 )parameters? .{0,80}(?:are|is) not loaded",
        r"(?:^|[\s\[(])['\"]?\w+(?:\.\w+){2,}['\"]?(?:, ?['\"][\w.]+['\"]){0,400}\]? (?:is|are) not loaded",
        r"Found missing adapter keys while loading",
        r"The pretrained params? [\w.]+ not in model",  # PaddleOCR: one line for each
        r"The shape of model params [\w.]+ \[[\d, ]*\] not matched with loaded params",  # PaddleOCR
        r"Skip loading for [\w.]+\. .{0,120}(?:is not found in the provided dict|the expected shape is)",
        r"Skipping loading (?:of )?weights for layer .{0,120}mismatch",
        r"could not be found in the restored object: \(root\)\.(?!.{0,20}(?:optimizer|save_counter))",
    ),
)

_WARNINGS = (
    _rule(
        "scheduler-before-optimizer",
        r"lr_scheduler\.step\(\)[`'\"]? before [`'\"]?optimizer\.step\(\)",
    ),
    _rule(
        "no-grad-input",
        r"None of the inputs have requires_grad=True",
        r"does not require grad and does not have a grad_fn",
        r"No gradients? provided for any variable",
    ),
    _rule(
        "unused-parameters",
        r"parameters? that were not used in producing (?:the )?loss",
        r"Parameters? which did not receive grad",
        r"Parameter indices which did not receive grad",
        r"Gradients do not exist for variables",
    ),
    _rule("from-logits", r"received [`'\"]?from_logits=True[`'\"]?,? but"),
    _rule("shape-broadcast", r"Using a target size \(.{0,60}\) that is different to the input size"),
    _rule(
        "undefined-metric",
        r"UndefinedMetricWarning",
        r"Only one class (?:is )?present in y_true",
        r"ROC AUC score is not defined",
    ),
    _rule(
        "known-warning",
        r"\btoken[ _-]?ids?:? \d+ .{0,30}\b(?:out of (?:range|bounds|vocab\w*)|exceeds|outside|beyond)\b"
        r"|\btoken[ _-]?ids? .{0,30}(?:out of|outside)(?: of)? (?:the )?(?:range|vocab\w*)",
        data="tokens-out-of-range",
    ),
    _rule("token-length", r"Token indices sequence length is longer than"),
    _rule(
        "known-warning",
        r"\b(?:label|target|class)s? (?:values?|ids?|index|indices)\b.{0,30}"
        r"\b(?:out of|outside)(?: of)? (?:the |its )?(?:valid )?range",
        r"\b(?:label|target|class|category)(?: (?:class|id|index|value))? \d+ "
        r"(?:exceeds|is (?:not below|larger than)|>=?) "
        r"(?:the )?(?:nc|num(?:ber of |_)classes|max\w*)\b",
        r"\bpossible (?:class )?labels are 0 ?- ?\d+",
        data="labels-out-of-range",
    ),
    _rule(
        "data-warning",
        r"(?<!number of )(?<!no )(?<!\b0 )(?<!any )corrupt(?:ed)? (?:JPEG|image|file|label|data|EXIF|record)",
        r"Truncated File Read|image file is truncated|cannot identify image file",
        r"No labels (?:were )?found",
        r"WARNING:? .{0,40}No labels in",
        r"ignoring corrupt image/label",
        r"[1-9]\d* (?:images? |files? )?(?:missing|corrupt(?:ed)?)(?: \(|,|$| images| labels| files)",
        r"[1-9]\d* (?:images?|files?|samples?|records?|annotations?)\b.{0,100}"
        r"\b(?:(?:were|was|are|is|could) not (?:be )?found|do(?:es)? not exist)",
        r"PNG.{0,20}CRC error|libpng (?:error|warning)|DataLossError",
        r"samples? (?:are|is|have) .{0,40}(?:too (?:short|long)|invalid sizes).{0,40}(?:ignored|skipp)",
        r"(?:image|label|file|sample)s? .{0,120}(?:is |are |not )(?:corrupt\w*|missing|truncated)",
        # "invalid TFRecord file: /data/train-00117, skipped"
        r"\b(?:invalid|bad|broken|damaged|corrupt(?:ed)?) (?:\w+ )?"
        r"(?:file|record|shard|sample|image)s?\b.{0,200}\bskipp",
        rf"skipping (?:\S+ ){{0,3}}?(?:corrupt\w*|bad|broken|invalid|empty|unreadable) ?{_SAMPLES}",
        # "skipping shard /data/00012.tar: ReadError('unexpected end of data')"
        r"\bskipp(?:ed|ing) (?:shard|tar\w*|archive|sample|record|file)s? \S{3,200}? ?[:(-].{0,40}"
        r"(?:\w{2,40}Error\b|unexpected end|truncat|corrupt|invalid header|cannot be read)",
        rf"(?:failed|unable) to (?:load|read|decode|open) (?:\S+ ){{0,2}}?{_SAMPLES}",
        rf"could not (?:load|read|decode|open) (?:\S+ ){{0,2}}?{_SAMPLES}",
        # "[Errno 2] No such file or directory: '/data/17.mp4', skip this sample"
        rf"{_OF_DATA}{_GONE}.{{0,300}}\bskip(?:ped|ping|s)?\b.{{0,20}}(?:{_SAMPLES}|data\b|it\b|$)",
        rf"{_OF_DATA}\bskip(?:ped|ping|s)? (?:this |the |a )?(?:data|{_SAMPLES}).{{0,200}}{_GONE}",
        r"\bno (?:caption|label|annotation|mask)s? (?:files? )?(?:were |was )?found for [1-9]\d* images",
    ),
    _rule(
        "known-warning",
        r"optimizer contains a parameter group with duplicate parameters",
        data="duplicate-parameters",
    ),
    _rule(
        "known-warning",
        r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed",
        data="grad-of-no-leaf",
    ),
    _rule(
        "known-warning", r"Found [1-9]\d* module\(s\) in eval mode at the start of training", data="eval-mode"
    ),
    _rule(
        "known-warning", r"to ensure each sample/batch gets evaluated exactly once", data="eval-duplicates"
    ),
    _rule(
        "known-warning",
        r"Can save best model only with .{1,80} available, skipping",
        data="best-model-not-saved",
    ),
    _rule(
        "known-warning",
        r"Learning rate reduction is conditioned on metric .{1,80} which is not available",
        data="schedule-without-metric",
    ),
    _rule(
        "known-warning",
        r"Early stopping conditioned on metric .{1,80} which is not available",
        data="stopping-without-metric",
    ),
    _rule(
        "known-warning",
        r"Discrepancy between trainable weights and collected trainable",
        data="trainable-stale",
    ),
    _rule(
        "known-warning",
        r"expected y_pred\.shape to be \(batch_size, num_classes\) with num_classes > 1",
        data="one-output",
    ),
    _rule(
        "known-warning",
        r"GradScaler is enabled, but .{1,40} not available\. *Disabling",
        r"device_type of '?\w+'?, but .{1,40} not available\. *Disabling",
        r"In \w+ autocast, but the target dtype is not supported\. Disabling",
        r"\b(?:apex|amp)\b.{0,20}not (?:installed|available|found|supported).{0,80}"
        r"(?:disabl|fp32|float32|(?:full|single) precision)",
        r"mixed[- ]precision.{0,40}(?:unavailable|not (?:available|supported)).{0,60}"
        r"(?:disabl|fp32|float32|full precision)",
        r"fall(?:ing|s)? back to (?:fp32|float32|(?:full|single) precision)",
        data="amp-disabled",
    ),
    _rule("known-warning", r"Anomalies were detected with AMP", data="amp-anomalies"),
    _rule(
        "known-warning",
        rf"{_PARTS}.{{0,120}}\b(?:(?:does|do|is|are) not (?:match|compatible)|mismatch|incompatible"
        r"|lower than (?:is )?(?:required|expected|the minimum)|too old)",
        data="versions-unfit",
    ),
    _rule(
        "known-warning",
        r"\b(?:multi|double)[- _]?bits?\b.{0,20}\becc\b.{0,40}[:=] *[1-9]",
        r"\b(?:multi|double)[- _]?bits? (?:errors?|aggregate|isolated)\b.{0,40}[:=] *[1-9]",
        r"\bNVRM: Xid .{0,40}: (?:48|63|64|94|95)\b",
        r"\buncorrect(?:able|ed) ecc\b.{0,40}[:=] *[1-9]",
        data="device-memory",
    ),
    _rule(
        "known-warning",
        r"\bdetected [1-9]\d* miscompares?\b",
        r"\|\s*(?:diagnostic|gpu memory|pulse test|targeted (?:stress|power)|memtest)\s*\|\s*fail\b",
        r"\b(?:aicore|aiv|hbm|stress)\b.{0,60}"
        r"\b(?:emergency_warn|(?:precision|accuracy|data|result) (?:check )?(?:mismatch|error))",
        data="device-test",
    ),
    _rule(
        "known-warning",
        r"optimi[sz]er[ _]?(?:states?|moments?|dict).{0,60}"
        r"(?:not (?:be )?(?:found|loaded|restored)|missing|(?:is|are) not in)",
        r"no optimi[sz]er[ _]states? (?:was |were )?(?:found|in)",
        data="optimizer-state-missing",
    ),
    _rule(
        "known-warning",
        r"will not load any checkpoints and will start from random",
        r"=> no checkpoint found at",
        data="no-checkpoint",
    ),
    _rule("known-warning", r"Detected mismatch between collectives on ranks", data="ranks-out-of-step"),
    _rule(
        "known-warning",
        r"\b(?:param\w*|weights?|replica\w*) (?:hash(?:es)?|checksums?) .{0,40}"
        r"\b(?:not match\w*|mismatch\w*|differ)\b",
        data="replicas-part",
    ),
    _rule(
        # Megatron-LM computes a step again whose result it does not believe
        "known-warning",
        r"\bPossible (?:transient|persistent) error\b",
        r"\brerun: unexpected result is not reproducible",
        data="not-repeated",
    ),
    _rule(
        "known-warning",
        r"Mismatch between tokenized prompt and the start of tokenized prompt",
        data="prompt-mismatch",
    ),
    _rule(
        "known-warning",
        r"(?:starts with 2|double|two|duplicated?) BOS(?: tokens?)?\b(?!.{0,30}(?:removed|stripped))",
        data="double-bos",
    ),
    _rule("known-warning", r"parameter '?keep_prob'? .{0,60}deprecated", data="keep-prob"),
    _rule("known-warning", r"(?:All|Most) labels in your dataset are -100", data="no-labels"),
    _rule("known-warning", r"epoch parameter in `?scheduler\.step\(\)", data="scheduler-call"),
    _rule(
        "known-warning",
        r"Can't encode transcription|Encoding of string failed",  # Tesseract
        r"\bcharacters? .{0,80}\b(?:is|are) not (?:in|part of) (?:the |its )?"
        r"(?:vocab\w*|char(?:acter )?set|alphabet)",
        data="labels-not-encodable",
    ),
    _rule(
        "known-warning",
        r"No pre-?trained weights loaded for .{1,120}\brandom",  # open_clip
        data="random-weights",
    ),
    _rule("known-warning", r"use_cache=True`? is incompatible with gradient checkpointing", data="use-cache"),
    _rule("known-warning", r"Grad strides do not match bucket view strides", data="grad-strides"),
    _rule("known-warning", r"Your input ran out of data; interrupting training", data="data-exhausted"),
    _rule("known-warning", r"Setting `?pad_token_id`? to `?eos_token_id", data="pad-is-eos"),
    _rule(
        "known-warning",
        r"Could not find response key",
        r"This instance will be ignored in loss calculation",
        r"tokenization mismatch: \d+ vs\. \d+.{0,40}\(ignored\)",  # FastChat, LLaVA
        data="all-labels-masked",
    ),
    _rule(
        "known-warning",
        r"(?<!non[- _])\btrainable (?:params|parameters|weights)\s*[:=]\s*0(?![\d.,])",
        r"does not (?:have|contain) (?:a |any )?trainable (?:param|variable|weight)",
        data="nothing-trainable",
    ),
    _rule(
        "known-warning",
        r"implicit dimension choice for (?:log_)?softmax has been deprecated",
        data="softmax-dim",
    ),
    _rule(
        "known-warning",
        r"Found no NVIDIA driver",
        r"CUDA is not available",
        r"Torch not compiled with CUDA enabled",
        data="no-device",
    ),
)

RULES: tuple[Rule, ...] = (*_SCALING, *_NOT_FINITE, *_CRASHES, *_STARTS, *_WARNINGS)

# One cheap look that all of the lines above pass and most others do not.
HINT = re.compile(
    rb"overflow|divide by|reducing|minimum|nan|inf\b|infinite|invalid|finite|assert|out of"
    rb"|memory|exhaust|oom|checkpoint|starting training|resum|continuing|restor|initiali[sz]ed"
    rb"|state_dict|mismatch|keys|scheduler|requires_grad|require grad|gradient|not used"
    rb"|receive grad|from_logits|target size|undefined|only one class|roc auc|sequence length"
    rb"|corrupt|truncated|missing|cannot identify|no labels|ignor|skipp|failed|unable|could not"
    rb"|libpng|crc|dataloss|cache|strides|input ran|pad_token|response key|trainable|implicit"
    rb"|duplicate|attribute|eval mode|evaluated|best model|conditioned|discrepancy|y_pred|disabling"
    rb"|anomal|prompt|bos\b|keep_prob|label value|restored|skip|labels in your|nvidia|not available"
    rb"|compiled with|exit|return|loaded|loading|transferred|not match|lower than|too old|not compatible"
    rb"|outside|exceeds|>=|labels are|encod|for \d+ images|character|bits? (?:error|aggregate|isolated)"
    rb"|finished|complete|\bdone\b|is over|miscompare|emergency_warn|\|\s*fail\b"
    rb"|ecc\b|xid|transient|persistent|reproducible|checksum|hash|fall"
    rb"|not in model|not installed|not supported|not found|optimi[sz]er",
    re.IGNORECASE,
)
# These may stand on a line that holds metrics too; of other kinds such a line only looks like one.
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
_SOURCE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import|return\b|if .*:$|elif |for .*:$|while .*:$|assert\b|raise\b"
    r"|print\(|self\.|@\w|#(?!#)|//|\"\"\"|warnings\.warn|logger\.)"
)
_MANY_WORDS = 14  # a sentence about a NaN loss is not a run that has one
_SAID_FREELY = frozenset({"printed", "tensor"})


# "No NaN found in latents", "0 labels out of range", "token ids out of range: none": looked at, and not so
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:no|zero|without|never|check(?:ing|ed)? for)|(?<![\d.,])0) (?:any )?$", re.IGNORECASE
)
_DENIED_AFTER = re.compile(
    r"^(?:[^\[\]{}:=]{0,60}[:=]\s*(?:none|\[\]|\{\})|\w{0,20}\W{0,3}[:=]\s*(?:no|false|0))\s*\.?$",
    re.IGNORECASE,
)
_DENIABLE = frozenset({"non-finite-loss", "non-finite-value", "checkpoint-keys-mismatch", "known-warning"})


def denied(rule: Rule, match: re.Match[str], text: str) -> bool:
    """Whether the line says that what the rule looks for is not so."""
    if rule.kind not in _DENIABLE:
        return False
    return bool(_DENIED_BEFORE.search(text[: match.start()]) or _DENIED_AFTER.search(text[match.end() :]))


def match_rule(text: str) -> tuple[Rule, re.Match[str]] | None:
    """Return the first rule that a line matches; source text and printed dictionaries match none."""
    if _SOURCE.match(text) or (text.count("': ") > 2 and (len(text) > 600 or text.lstrip().startswith("{"))):
        return None
    for rule in RULES:
        match = rule.pattern.search(text)
        if match and not (rule.data in _SAID_FREELY and len(text.split()) > _MANY_WORDS):
            if not denied(rule, match, text):
                return rule, match
    return None


def number_of(match: re.Match[str], name: str) -> float | None:
    """Read a named group of a rule (or one of its numbered alternatives) as a number."""
    for key, text in match.groupdict().items():
        if text and key.rstrip("0123456789") == name:
            try:
                return float(text.rstrip("."))
            except ValueError:
                return None
    return None
