"""Two environments beside each other: what differs in what order, and known defects of versions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import EnvironmentComparison
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.config.versions import known_bugs
from traindoctor.probes.environment import compare, packages
from traindoctor.probes.readers.config_file import _KNOWN
from traindoctor.reports import settings_report

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "samples" / "ascend" / "config_check"
ROWS = "".join(json.dumps({"step": s, "loss": 3.0 - 0.1 * s}) + "\n" for s in range(1, 8))


def side(folder: Path, **files: str) -> Path:
    for name, text in {"log.jsonl": ROWS, **files}.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def held(tmp_path: Path, run: dict[str, str], benchmark: dict[str, str]) -> EnvironmentComparison:
    mine = open_run(side(tmp_path / "run", **run))
    return compare(mine, open_run(side(tmp_path / "benchmark", **benchmark)))


def test_every_package_that_is_read_has_a_place() -> None:
    """What a difference can do is told for each package whose version is kept, with a source that exists."""
    known = packages()

    assert all(_KNOWN.fullmatch(name) or name == "paddle" for name in known)
    assert {g.source for g in known.values()} <= set(load_rules().sources)
    assert {bug["package"] for bug in known_bugs()} <= set(known)


def test_what_matters_comes_first(tmp_path: Path) -> None:
    """A known defect on one side, then what computes the step, then what prepares data; with their files."""
    mine = "numpy==1.26.4\ntorch==2.4.0\ndeepspeed==0.17.6\npillow==9.0.0\n"
    theirs = "numpy==1.26.0\ntorch==2.4.1\ndeepspeed==0.18.4\npillow==10.1.0\n"
    config = '{"lr": 0.1, "zero_stage": 2}'
    found = held(
        tmp_path,
        {"requirements.txt": mine, "config.json": config},
        {"requirements.txt": theirs, "config.json": config},
    )

    assert [(d.key, d.weight) for d in found.differences] == [
        ("deepspeed", "high"),
        ("torch", "medium"),  # only the last part differs
        ("pillow", "medium"),
        ("numpy", "low"),
    ]
    assert found.differences[0].effect.startswith("a known defect here")
    assert {d.run.file for d in found.differences} == {"requirements.txt"}


@pytest.mark.parametrize(
    ("mine", "theirs", "differs"),
    [
        ("torch==2.4.0", "torch==2.4.0", False),
        ("torch==2.4.0+cu121", "torch==2.4.0", False),
        ("torch==2.4.0+cu121", "torch==2.4.0+cpu", True),
        ("numpy==1.26", "numpy==1.26.4", False),
        ("numpy==1.26", "numpy==1.27.4", True),
        ("torch==2.4.0rc1", "torch==2.4.0", True),
    ],
)
def test_equal_versions(tmp_path: Path, mine: str, theirs: str, differs: bool) -> None:
    """A build or a last part that one side leaves out is no difference."""
    rest = "\nscipy==1.0\nsix==1.0\n"
    found = held(tmp_path, {"requirements.txt": mine + rest}, {"requirements.txt": theirs + rest})

    assert bool(found.differences) == differs
    assert found.equal == (1 if differs else 2)


def test_a_run_against_itself(tmp_path: Path) -> None:
    folder = side(tmp_path / "run", **{"requirements.txt": "torch==2.4.0\nnumpy==1.26.4\nscipy==1.1\n"})
    run = open_run(folder)
    found = compare(run, run)

    assert (found.differences, found.only_run, found.only_benchmark, found.equal) == ((), (), (), 3)


@pytest.mark.parametrize(
    ("config", "missing", "certain"),
    [
        ({"zero_stage": 2, "precision": "bf16", "world_size": 8}, "", False),
        ({"zero_stage": 2, "precision": "bf16"}, "world size", False),
        ({"zero_stage": 3, "precision": "bf16"}, None, False),
        ({"lr": 0.1}, None, False),
    ],
)
def test_known_defects(tmp_path: Path, config: dict[str, object], missing: str | None, certain: bool) -> None:
    """Met, open for want of a condition, ruled out by what is on record, or not pointed to at all."""
    files = {"requirements.txt": "deepspeed==0.18.3\nnumpy==1.26\n", "config.json": json.dumps(config)}
    found = compare(open_run(side(tmp_path, **files)), None).defects

    assert [(d.missing, d.certain) for d in found] == ([] if missing is None else [(missing, certain)])


SMI = (
    "| NVIDIA-SMI 535.104.05    Driver Version: 535.104.05   CUDA Version: 12.2     |\n"
    "| npu-smi 23.0.rc3                 Version: 23.0.rc3                            |\n"
    "step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n"
)
COLLECT = """Collecting environment information...
PyTorch version: 2.1.0+cu118
Is debug build: False
CUDA used to build PyTorch: 11.8
Python version: 3.10.12 (main) [GCC 11.4.0] (64-bit runtime)
Nvidia driver version: 535.104
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.2

Versions of relevant libraries:
[pip3] numpy==1.26.0
"""


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("train.log", SMI, {"nvidia-driver": "535.104.05", "ascend-driver": "23.0.rc3"}),
        (
            "collect_env.txt",
            COLLECT,
            {"nvidia-driver": "535.104", "cuda": "11.8", "cudnn": "8.9.2", "python": "3.10.12"},
        ),
        ("driver__version.info", "Version=23.0.3\nascendhal_version=7.0\n", {"ascend-driver": "23.0.3"}),
        ("firmware__version.info", "Version=7.1.0\nfirmware_version=1.0\n", {"ascend-firmware": "7.1.0"}),
        ("ascend_toolkit_install.info", "package_name=toolkit\nversion=8.0.RC3\n", {"cann": "8.0.RC3"}),
        ("pip", "torch=2.3.1+cpu\nsix=1.16.0\nnumpy=1.26.4\n", {"torch": "2.3.1+cpu", "numpy": "1.26.4"}),
    ],
)
def test_drivers_and_toolkits(tmp_path: Path, name: str, text: str, wanted: dict[str, str]) -> None:
    """Versions below the framework, from whatever records them, with the file."""
    found = compare(open_run(side(tmp_path, **{name: text})), None).versions

    assert {n: found[n].value for n in wanted} == wanted
    assert {found[n].file for n in wanted} == {name.replace("__", "/")}


def test_variables_that_steer_training(tmp_path: Path) -> None:
    """A dump of the environment: what steers training is compared; paths, ranks and secrets are not."""
    common = "PATH=/bin\nHOME=/root\nUSER=me\nHF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345\n"
    found = held(
        tmp_path,
        {"env.txt": common + "HCCL_ALGO=level0\nRANK_ID=0\nASCEND_HOME_PATH=/a\nCUBLAS_WORKSPACE_CONFIG=x\n"},
        {"env.txt": common + "HCCL_ALGO=level1\nRANK_ID=1\nASCEND_HOME_PATH=/b\n"},
    )

    assert [d.key for d in found.differences] == ["HCCL_ALGO"]
    assert not {"HF_TOKEN", "RANK_ID", "ASCEND_HOME_PATH"} & found.versions.keys()


@pytest.mark.skipif(not SAMPLES.exists(), reason="../shared is absent")
def test_what_msprobe_packed_of_the_environment() -> None:
    """Its package list and variables are read, from the folder and from its archive without unpacking it."""
    for run, benchmark in (("static_result/cmp", "static_result/bench"), ("cmp.zip", "bench.zip")):
        found = compare(open_run(SAMPLES / run), open_run(SAMPLES / benchmark))

        assert found.versions["torch"].value == "2.13.0+cpu" and not found.differences
        assert found.only_run == ("ASCEND_LAUNCH_BLOCKING",)


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    """Only what msprobe packed is looked into; a bomb and a damaged archive cost a sentence."""
    from traindoctor.probes.files import MAX_MEMBER, RunUnreadable, walk

    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pip", "torch=2.3.1\nnumpy=1.26\n")
        archive.writestr("hyperparameters/h.json", '{"lr": 0.1, "batch_size": 8}')
        archive.writestr("env", b" " * (MAX_MEMBER + 1))
        archive.writestr("../evil", "x=1")
    (tmp_path / "torn.zip").write_bytes((tmp_path / "bomb.zip").read_bytes()[:200])
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "lr=0.1")

    assert [f.path for f in walk(tmp_path / "bomb.zip")[0]] == ["hyperparameters/h.json", "pip"]
    assert open_run(tmp_path / "bomb.zip").settings["learning_rate"].value == 0.1
    for name in ("torn.zip", "other.zip"):
        with pytest.raises(RunUnreadable):
            open_run(tmp_path / name)


@pytest.mark.parametrize("benchmark", [False, True])
def test_it_is_told(tmp_path: Path, benchmark: bool) -> None:
    """Terminal, markdown and JSON carry versions, differences and defects."""
    from traindoctor.probes.benchmark.config_diff import compare as settings

    files = {"requirements.txt": "deepspeed==0.17.6\ntorch==2.3.0\n", "config.json": '{"zero_stage": 2}'}
    run = open_run(side(tmp_path / "a", **files))
    other = {**files, "requirements.txt": "deepspeed==0.17.6\ntorch==2.4.0\n"}
    found = settings(run, open_run(side(tmp_path / "b", **other)) if benchmark else None)
    text, page = settings_report.render_text(found), settings_report.render_markdown(found)
    said = json.loads(settings_report.render_json(found))["environment"]

    for told in (" ".join(text.split()), page):
        assert "Known defects of these versions" in told and "0.17.6 with zero stage 2" in told.replace(
            "\\", ""
        )
        assert ("2.3.0 here, 2.4.0 in the benchmark" in told) == benchmark
    assert (
        len(said["known_defects"]) == 1 + benchmark
        and said["recorded"]["torch"]["file"] == "requirements.txt"
    )


TESTED = """Summary:
    Arch: aarch64
Hardware:
    driver:
        HEALTH
    signalQuality:
        {network}
    aicore:
        {aicore}
        device 5: aicore diagnosis failed
    edp:
        PASS
"""


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"network": "PASS", "aicore": "EMERGENCY_WARN"}, ["device-test"]),
        ({"network": "GENERAL_WARN", "aicore": "PASS"}, []),  # a cable computes nothing
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_test_of_the_devices_found(
    tmp_path: Path, status: dict[str, str], found: list[str], as_json: bool
) -> None:
    """`ascend-dmi --dg`, as text and as JSON."""
    text = TESTED.format(**status)
    if as_json:
        items = {"aicore": {"status": status["aicore"], "device": 5}, "signalQuality": status["network"]}
        text = json.dumps({"Summary": {"Arch": "aarch64"}, "Hardware": items}, indent=2)
    (tmp_path / "environment_check.txt").write_text(text)
    (tmp_path / "train.log").write_text("".join(f"step {s} loss {1 + 1 / (s + 1):.4f}\n" for s in range(50)))
    assert [e.data for e in open_run(tmp_path).events] == found
