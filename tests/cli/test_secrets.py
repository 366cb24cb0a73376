"""Secrets in any file of a run appear in no output of any command: canaries where people leave them."""

from __future__ import annotations

import base64
import json
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindoctor.cli.app import run_command_line
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readers._secrets import redact

Captured = pytest.CaptureFixture[str]
C = "canary"
KEY = base64.b64encode(bytes(range(7, 250, 5))).decode()  # 64 characters of base64, as cloud keys are
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\nMIIE{C}A8\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlY2FuYXJ5"
# what stands under a harmless name, and is known by its shape
SHAPES = {
    "hf": f"hf_{C}0123456789abcdefghij",
    "github": f"ghp_{C}0123456789abcdefghij",
    "aws": "AKIACANARY7EXAMPLE12",
    "openai": f"sk-{C}-0123456789abcdefgh",
    "slack": f"xoxb-1234567890-{C}",
    "hook": f"https://hooks.slack.com/services/T000/B000/{C}123",
    "jwt": JWT,
    "wandb": "0123456789abcdef0123456789abcdefcafecafe",
    "cloud": KEY,
    "url": f"postgres://me:{C}pass@host/db",
    "url_without_user": f"redis://:{C}pass@host:6379/0",
    "url_with_at": f"https://me:p@ss{C}@host/x",
    "url_token": f"https://{C}token0123456789@host/x",
    "connection": f"Server=tcp:x;User=me;Password={C}pass;Encrypt=yes",
    "storage": f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={KEY};EndpointSuffix=y",
    "query": f"https://host/x?se=2027&sig={C}%2Bsignature&sv=1",
    "header": f"Authorization: Bearer {C}-0123",
    "pem": PEM,
}
NAMED = (
    "api_key",
    "hub_token",
    "db_password",
    "client-secret",
    "aws_secret_access_key",
    "auth",
    "cookie",
    "db_pwd",
)
LEAKS = (C, KEY[:20], "CANARY7", "cafecafe", JWT[:24], "c2lnbmF0dXJl", "pa55")


def leaks(text: str) -> list[str]:
    return [secret for secret in LEAKS if secret in text]


def flat(extra: str) -> dict[str, object]:
    return {**SHAPES, **{name: f"{C}-{name}-{extra}" for name in NAMED}}


def nested(extra: str) -> dict[str, object]:
    return {
        "lr": 0.01,
        "batch_size": 8,
        "optimizer": "adam",
        "epochs": 3,
        "seed": 1 if extra == "x" else 2,
        "frob": f"a {extra}",
        **flat(extra),
        "trackers": [{"name": "wandb", "api_key": f"{C}1"}, {"keys": [f"hf_{C}0123456789abcdefghij", KEY]}],
        "callbacks": [
            [f"--token={C}2", f"postgres://me:{C}pass@host/db"],
            {"x": {"y": {"password": f"{C}3"}}},
        ],
    }


def as_yaml(values: dict[str, object]) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


def as_lines(values: dict[str, object], form: str) -> str:
    return "".join(form.format(k, str(v).replace("\n", " ")) for k, v in values.items())


SCRIPT = f'''import torch
API_KEY = "{C}-in-script"
hub_token = "{SHAPES["hf"]}"
settings = {{"lr": 0.1, "password": "{C}-in-dict", "dsn": "postgres://me:{C}pass@host/db"}}
parser.add_argument("--api_key", default="{C}-default")
parser.add_argument("--endpoint", default="https://me:{C}@host/x")
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Softmax(dim=1))  # {SHAPES["github"]}
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in load("https://me:{C}@host/data", token="{SHAPES["openai"]}"):
    loss = criterion(model(x), y); login(key="{C}9key", token="{C}token")
    loss.backward(); note("{KEY}")
    optimizer.step()
'''
LAUNCH = f"""export HF_TOKEN={SHAPES["hf"]}
export AWS_SECRET_ACCESS_KEY={KEY}
WANDB_API_KEY={SHAPES["wandb"]} torchrun --nproc_per_node 2 train.py --lr 0.01 --api_key {C}-flag \\
  --hub-token={C}-flag2 --endpoint postgres://me:{C}pass@host/db +logger.api_key={C}-hydra \\
  --note {SHAPES["github"]}
curl -H "Authorization: Bearer {C}-0123" https://host/x
"""


def write(folder: Path, extra: str) -> Path:
    """A run with a file of every format that holds settings, each of them with every secret."""

    def put(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    secrets, deep = flat(extra), nested(extra)
    losses = "".join(f"step {n} loss {2 / n + 0.5:.4f} lr 0.01\n" for n in range(1, 80))
    namespace = ", ".join(f"{k.replace('-', '_')}={v!r}" for k, v in deep.items())
    put(
        "train.log",
        f"Namespace({namespace})\nargv: --lr 0.01 --api_key {C}-argv --url https://me:{C}@host\n"
        + as_lines(secrets, "{} = {}\n")
        + losses
        + f"WARNING: request to https://me:{C}@host failed: token={C}zzz Authorization: Bearer {C}0\n"
        + f"RuntimeError: NCCL error at https://me:{C}@host password={C}9 {SHAPES['hf']}\n",
    )
    put("config.yaml", as_yaml(deep))
    put("config.json", json.dumps(deep, indent=1))
    put("conf/extra.toml", as_lines({**secrets, "lr": 0.01}, '{} = """{}"""\n'))
    put("conf/extra.ini", "[train]\nlr = 0.01\n" + as_lines(secrets, "{} = {}\n"))
    put("args.txt", "lr: 0.01\nbatch_size: 8\n" + as_lines(secrets, "{}: {}\n"))
    put("hparams.yaml", as_yaml(deep))
    put(".hydra/config.yaml", as_yaml(deep))
    put(
        ".hydra/overrides.yaml",
        f"- lr=0.01\n- logger.api_key={C}-override\n- db=postgres://me:{C}pass@host/db\n",
    )
    put("ds_config.json", json.dumps({"train_batch_size": 8, "fp16": {"enabled": True}, **deep}))
    put("env.txt", "PATH=/bin\nHOME=/root\nUSER=me\n" + as_lines(secrets, "HF_{}={}\n") + f"NCCL_X={KEY}\n")
    put("env.json", json.dumps({"PATH": "/bin", "HOME": "/x", "USER": "m", "HF_TOKEN": f"{C}5", "MS_X": KEY}))
    put("launch.sh", LAUNCH)
    put("train.py", SCRIPT)
    put(
        "settings.py",
        as_lines({**secrets, "learning_rate": 0.01}, "{} = '''{}'''\n").replace("client-", "client_"),
    )
    put("wandb/run-1/files/config.yaml", as_yaml({k: {"value": v} for k, v in deep.items()}))
    put(
        "wandb/run-1/files/wandb-metadata.json",
        json.dumps(
            {
                "args": ["--lr", "0.01", "--api_key", f"{C}6", "--url", f"https://me:{C}@host"],
                "python": "3.10",
            }
        ),
    )
    put("trainer_state.json", json.dumps({"log_history": [{"step": 1, "loss": 2.0}], "trial_params": deep}))
    for key, value in secrets.items():
        put(f"mlruns/0/{'a' * 32}/params/{key}", str(value))
    put("sums.txt", f"{'a' * 64}  https://me:{C}@host/{extra}.bin\n")
    put("requirements.txt", f"torch==2.4.0\nx @ https://me:{C}@host/x.whl\nnumpy==1.26.4\nscipy==1.1\n")
    put("data/train.csv", "x,y,label\n" + "".join(f"{n / 7},{n % 5},{n % 2}\n" for n in range(60)))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("sides")
    run, benchmark = write(root / "run", "x"), write(root / "benchmark", "y")
    # a benchmark that does it rightly: what both sides show is no finding
    right = SCRIPT.replace(", torch.nn.Softmax(dim=1)", "").replace(
        "loss.backward()", "zero_grad(); loss.backward()"
    )
    (benchmark / "train.py").write_text(
        right.replace("zero_grad()", "optimizer.zero_grad()"), encoding="utf-8"
    )
    return run, benchmark


ALL = ("terminal", "markdown", "json")
COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "diagnose": ([], (*ALL, "html")),
    "config": (["config"], ALL),
    "workflow": (["workflow"], ALL),
    "gate": (["gate"], (*ALL, "junit", "sarif", "github", "gitlab")),
    **{f"checklist-{n}": (["checklist", "--list", n], ALL) for n in ("ascend", "mindspore", "mindformers")},
    "script": (["script"], ALL),
    "data": (["data"], ALL),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_output_shows_a_secret(
    runs: tuple[Path, Path], tmp_path: Path, capsys: Captured, name: str
) -> None:
    """Each command once, in all of its formats, with everything that it can tell."""
    (command, *more), formats = (COMMANDS[name][0] or [""]), COMMANDS[name][1]
    run, benchmark = (side / "train.py" if command == "script" else side for side in runs)
    if command == "data":
        run, benchmark = run / "data", benchmark / "data"
    arguments = [*([command] if command else []), str(run), "--benchmark", str(benchmark), *more]
    arguments += (
        ["--all"]
        if command in ("script", "data")
        else ["--verbose"]
        if command in ("", "gate", "config")
        else []
    )
    for form in formats:
        arguments += ["-f", form, "-o", str(tmp_path / form)]
    assert run_command_line(arguments) in (0, 1, 3)
    said = "".join(capsys.readouterr())

    for form in formats:
        text = (tmp_path / form).read_text(encoding="utf-8")
        assert len(text) > 20
        assert not leaks(text), (form, [text[max(0, text.index(s) - 80) :][:160] for s in leaks(text)])
    assert not leaks(said)


def test_nothing_that_was_read_holds_a_secret(runs: tuple[Path, Path]) -> None:
    """Settings, facts and events are without secrets before anything is made of them."""
    run = open_run(runs[0])
    values = [str(s.value) for s in run.raw_settings] + [str(v) for v in run.facts.values()]
    values += [e.text for e in run.events] + [e.data for e in run.events]
    values += [str(c.value) for c in run.settings.values()] + [
        n for listed in run.lists for n in listed.entries
    ]

    assert len(run.raw_settings) > 100
    assert not [(v[:120], leaks(v)) for v in values if leaks(v)]


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_shapes(text: str) -> None:
    """Each shape alone, in a sentence, in quotes and in a list."""
    for form in ("{}", "see {} there", '"{}"', "['{}', 1]"):
        assert not leaks(redact("note", form.format(text)))


@pytest.mark.parametrize(
    "text",
    [
        "meta-llama/Llama-2-7b-chat-hf",
        "checkpoints/ImageNet/resnet50_v2/2024-11-21T12-00-00/step_0010000",
        "s3://bucket/path/to/data.bin",
        "https://host:8080/x?page=2",
        "max_tokens=4096",
        "pad_token=<pad>",
        "tokens = tokenizer(text)",
        "loss = criterion(model(x), y.softmax(1))",
        "key=value",
        "RuntimeError: size mismatch, m1: [32 x 512], m2: [1024 x 10] at /pytorch/aten/src/TH/THTensor.cpp",
        "torch.nn.CrossEntropyLoss(label_smoothing=0.1, reduction='mean')",
        "TransformerEncoderLayerWithRelativePositionalEncodingAndDropout0123",
        "basic configuration, bearer of news",
        "author: someone",
        "password = os.environ['PW']",
        "token = tokens[3]",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Paths, names, code and settings of training are told as they are."""
    assert redact("note", text) == text


LETTERS = string.ascii_letters + string.digits


def mixed(text: str) -> bool:
    """No run of equal bytes, which no key is."""
    return len(set(text)) > 36


SECRET = st.one_of(
    st.text(LETTERS, min_size=24, max_size=40).map(lambda t: f"hf_{t}"),
    st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16).map(lambda t: f"AKIA{t}"),
    st.text(LETTERS, min_size=36, max_size=36).map(lambda t: f"ghp_{t}"),
    st.text(string.hexdigits.lower(), min_size=40, max_size=40),
    st.text(LETTERS, min_size=10, max_size=30).map(lambda t: f"mysql://u:{t}@h/d"),
    st.binary(min_size=64, max_size=64)
    .map(lambda b: base64.b64encode(b).decode())
    .filter(lambda t: len(set(t)) > 36),
)
NAME = st.from_regex(r"[a-z]{3,8}(_[a-z]{2,6})?", fullmatch=True)


@settings(max_examples=40)
@given(secret=SECRET, name=NAME, form=st.sampled_from(["yaml", "json", "toml", "ini", "sh", "log", "py"]))
def test_a_secret_of_any_shape_in_any_format(
    tmp_path_factory: pytest.TempPathFactory, secret: str, name: str, form: str
) -> None:
    """Under any name, in any format of settings, the secret part is in nothing that was read."""
    folder = tmp_path_factory.mktemp("any")
    texts = {
        "yaml": f"lr: 0.1\n{name}: {secret}\nx: [{secret}, 2]\n",
        "json": json.dumps({"lr": 0.1, name: secret, "x": [{"y": [secret]}]}),
        "toml": f'lr = 0.1\n{name} = "{secret}"\n',
        "ini": f"[a]\nlr = 0.1\n{name} = {secret}\n",
        "sh": f"python train.py --lr 0.1 --{name} {secret} --note='{secret}'\n",
        "log": f"Namespace(lr=0.1, {name}='{secret}')\n",
        "py": f'lr = 0.1\n{name} = "{secret}"\nbatch_size = 4\n',
    }
    (folder / f"config.{form}").write_text(texts[form], encoding="utf-8")
    (folder / "log.csv").write_text("step,loss\n1,2.0\n2,1.9\n3,1.8\n", encoding="utf-8")
    run = open_run(folder)
    hidden = secret.removeprefix("mysql://u:").removesuffix("@h/d")

    assert not [s for s in run.raw_settings if hidden in str(s.value)]
    assert not [e for e in run.events if hidden in e.text]
