"""Probes are called safely, and not at all when what they need is missing."""

import os
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import RunInfo, State, Symptom
from traindoctor.probes import registry
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import Finding, View, probe, probes_of, read
from traindoctor.probes.run import Run, Series


def view(*names: str) -> View:
    made = {n: Series(n, n, "log.txt", np.arange(3.0), np.ones(3)) for n in names}
    return View(Run(RunInfo("run"), made, (), {}, (), (), {}))


def symptom(name: str, **params: Any) -> Symptom:
    return Symptom("s", "S", "area", 0.01, name, params)


@probe("train/loss", "benchmark")
def held(view: View) -> Finding:
    return registry.present("seen")


@probe()
def broken(view: View) -> Finding:
    raise ZeroDivisionError("boom")


def test_a_missing_need_is_unknown() -> None:
    """Without its series or its benchmark a probe is not called, and the reading says what is missing."""
    assert "train/loss" in read(view(), symptom("m.held"), {"m.held": held}).why
    reading = read(view("train/loss"), symptom("m.held"), {"m.held": held})

    assert reading.state is State.UNKNOWN
    assert "benchmark" in reading.why


def test_a_crash_is_unknown_and_said() -> None:
    """A probe that crashes costs its own reading."""
    reading = read(view(), symptom("m.broken"), {"m.broken": broken})

    assert reading.state is State.UNKNOWN
    assert reading.why == "probe error: ZeroDivisionError: boom"


def test_a_question_is_unknown() -> None:
    """A symptom without a probe is a question to the user."""
    reading = read(view(), Symptom("s", "S", "area", 0.01), {})

    assert reading.state is State.UNKNOWN


def test_probes_are_found_by_module() -> None:
    """`probes_of` lists marked functions under "module.function"; a package counts as one module."""
    for name in ("m", "m.part"):
        module = types.ModuleType(f"traindoctor.probes.{name}")
        module.__dict__["held"] = held
        held.__module__ = module.__name__

        assert list(probes_of(module)) == ["m.held"]
        with pytest.raises(ValueError, match="two probes"):
            probes_of(module, module)


def test_every_probe_that_the_rules_name_exists() -> None:
    """No symptom names a probe that is not there, nor a parameter the probe does not take."""
    import inspect

    from traindoctor.engine.load import load_rules

    probes = all_probes()
    for item in load_rules().symptoms.values():
        if item.probe:
            assert item.probe in probes, item.id
            takes = inspect.signature(probes[item.probe]).parameters
            anything = any(p.kind is p.VAR_KEYWORD for p in takes.values())
            assert anything or set(item.params) <= set(takes), item.id


def test_without_a_script_its_checks_say_what_stands_in_for_them() -> None:
    """What is said without importing them is what they say themselves, each of them."""
    from traindoctor.engine.load import load_rules
    from traindoctor.probes.readings import readings

    asked = [s for s in load_rules().symptoms.values() if (s.probe or "").startswith("code.")]
    bare, logged = view().run, view("train/loss").run
    for run, benchmark in ((bare, None), (bare, logged), (logged, None), (logged, bare)):
        said = {s.id: read(View(run, benchmark), s, all_probes()) for s in asked}
        assert readings(run, benchmark, asked) == said


def test_probes_are_imported_when_asked_for() -> None:
    """A diagnosis without a script imports no check of scripts; listing the names imports them all."""
    code = (
        "import sys; from traindoctor.probes.readings import Probes; probes = Probes();"
        "probes['curves.diverges'];"
        "assert 'traindoctor.probes.code.loss.calls' not in sys.modules;"
        "assert 'nothing.here' not in probes and 'curves.nothing' not in probes;"
        "assert len(probes) == len(list(probes)) > 500;"
        "assert 'traindoctor.probes.code.loss.calls' in sys.modules"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")


@probe()
def places(view: View) -> Finding:
    return registry.absent("the loss peaks at step 57, 3 steps on", series=("train/loss",))


@pytest.mark.parametrize(("unit", "word"), [("epoch", "epoch"), ("step", "step"), ("unknown", "step")])
def test_places_of_a_curve_over_epochs_are_called_epochs(unit: Any, word: str) -> None:
    """The sentence says the unit that the curve is counted in."""
    loss = Series("train/loss", "loss", "log.txt", np.arange(3.0), np.ones(3), unit=unit)
    run = Run(RunInfo("run"), {"train/loss": loss}, (), {}, (), (), {})

    found = read(View(run), symptom("m.places"), {"m.places": places})

    assert found.why == f"the loss peaks at {word} 57, 3 steps on"
