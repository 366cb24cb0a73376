"""`diagnose rules ...` and `diagnose explain`: the knowledge base, looked at, extended, checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from traindoctor.cli import main, reads
from traindoctor.cli.rules_text import explained
from traindoctor.engine.about import Atlas
from traindoctor.engine.load import load_rules

Captured = pytest.CaptureFixture[str]
IDS = ("graph.weight-frozen", "weights-not-updated", "loss-spikes", "labels-wrong-by-spot-check")


def printed(capsys: Captured, *line: str, code: int = 0) -> str:
    """Run a command that has a result and return it; nothing may stand on stderr."""
    assert main(list(line)) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refused(capsys: Captured, *line: str) -> str:
    """Run a command that cannot be meant: one sentence on stderr, exit code 2."""
    assert main(list(line)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


# ------------------------------------------------------------------------------------------- looking


def test_lists_have_one_entry_to_a_line(capsys: Captured) -> None:
    """Each kind is listed whole; --find keeps the lines that hold a text."""
    causes = dict(line.split(maxsplit=1) for line in printed(capsys, "rules", "list").splitlines())
    found = printed(capsys, "rules", "list", "symptoms", "--find", "SPIKE").splitlines()

    assert causes["hyperparameter.learning-rate-too-large"] == "The learning rate is too large"
    assert set(causes) == set(load_rules().causes)
    assert found
    assert all("spike" in line.lower() for line in found)
    assert "workflow-3" in printed(capsys, "rules", "list", "sources")


def test_an_entry_as_the_engine_sees_it(capsys: Captured) -> None:
    """Numbers stand in place of words, and the last line says where the entry is written."""
    shown = printed(capsys, "rules", "show", "loss-zero")

    assert yaml.safe_load(shown)["leak"] == 0.002
    assert re.search(r"# written in symptoms/loss.yaml:\d+\n$", shown)


@pytest.mark.parametrize("name", IDS)
def test_explanations_fit_a_terminal(capsys: Captured, name: str) -> None:
    """No line is wider than 80 columns unless it is one word."""
    said = printed(capsys, "explain", name)

    assert [line for line in said.splitlines() if len(line) > 80 and " " in line.strip()] == []


def test_a_cause_is_explained_whole(capsys: Captured) -> None:
    """What it is, how it shows and who reads that, what it is confused with, what to do, where it is from."""
    said = printed(capsys, "explain", "graph.weight-frozen")
    flat = " ".join(said.split())

    assert "Some or all parameters are not handed to the optimizer" in flat
    assert (
        "weights-unchanged: read from checkpoints in the run directory, by weights.weights_unchanged" in flat
    )
    assert "parameters-without-gradient: a question to you: After one backward pass" in flat
    assert "graph.optimizer: The optimizer or its update is wrong this one shows rather:" in flat
    assert "About 5 min; helps in about 80 of 100 such cases. It worked if every layer" in flat
    assert "Gone from the next run then: " in flat
    assert "mindspore-1.2.3b: MindSpore accuracy tuning guide" in flat


def test_remedies_name_the_setting(capsys: Captured) -> None:
    """The exact setting that a remedy changes is told in words."""
    said = printed(capsys, "explain", "hyperparameter.learning-rate-too-large")

    assert "Setting: learning_rate divided by 10." in " ".join(said.split())


def test_a_symptom_is_explained_whole(capsys: Captured) -> None:
    """How it is read, from where, with which thresholds, how to answer it, and what may be behind it."""
    said = " ".join(printed(capsys, "explain", "loss-spikes").split())

    assert "From the logged curves, by curves.spikes." in said
    assert "Thresholds: sigmas 8.0, relative 0.5" in said
    assert "--answer loss-spikes=present" in said
    assert "data.outliers" in said


def test_a_question_says_that_no_file_tells_it(capsys: Captured) -> None:
    """A symptom without a probe is a question, with how to find out and how long it takes."""
    said = " ".join(printed(capsys, "explain", "labels-wrong-by-spot-check").split())

    assert "it is a question to you" in said
    assert "Show 50 random samples" in said
    assert "about 20 min" in said


def test_a_mechanism_is_explained_whole(capsys: Captured) -> None:
    """What leads to it, and how it shows."""
    said = printed(capsys, "explain", "update-too-large")

    assert "What leads to it directly" in said
    assert "hyperparameter.learning-rate-too-large" in said
    assert "How it shows" in said


@pytest.mark.parametrize("command", [("explain",), ("rules", "show"), ("rules", "graph")])
def test_unknown_ids_are_answered_with_the_nearest(capsys: Captured, command: tuple[str, ...]) -> None:
    """A slip of the pen is met with what was probably meant."""
    assert "did you mean loss-zero" in refused(capsys, *command, "loss-zro")


def test_probes_are_said_to_read_what_they_read() -> None:
    """Every symptom with a probe names what this kind of probe opens; none is without its probe."""
    rules = load_rules()
    said = {s.id: reads.source(s) for s in rules.symptoms.values() if s.probe is not None}

    assert said["shuffle-off"].startswith("the configuration, by config.shuffle_off; it needs shuffle")
    assert said["known-bug-version"].startswith("the versions on record")
    assert said["script-double-softmax"].startswith("the training script beside the run")
    assert said["first-grad-norm-differs"].startswith("the logged curves of run and benchmark")
    assert [s for s, text in said.items() if "not installed" in text] == []
    assert reads.legend([rules.symptoms["shuffle-off"]])[0].startswith("configuration: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [("outside range", "look at data.invalid-labels, data.outliers"), ("zzz qqq", "--find TEXT searches")],
)
def test_words_that_are_no_id(capsys: Captured, words: str, said: str) -> None:
    """Words are looked for in ids and titles; where none fits, the way to search is told."""
    assert said in refused(capsys, "explain", words)


def test_every_entry_can_be_explained() -> None:
    """No id of the base makes the command stumble."""
    rules = load_rules()
    atlas = Atlas(rules)
    for name in (*rules.causes, *rules.mechanisms, *rules.symptoms):
        found = atlas.entry(name)
        assert found is not None
        assert explained(atlas, found).splitlines()[1].startswith(f"{name} (a ")


# ------------------------------------------------------------------------------------------- extending


def filled(text: str) -> str:
    """Fill in a skeleton as its author would."""
    text = text.replace("[FILL-IN]", "[weights-unchanged]")
    text = text.replace("symptom: FILL-IN", "symptom: weights-unchanged").replace(
        "given: {FILL-IN:", "given: {weights-unchanged:"
    )
    text = text.replace("FILL-IN, lower case, no full stop", "the old features are served again")
    text = text.replace("# looks_like: [data.label-errors]", "looks_like: [graph.weight-frozen]")
    return text.replace("rank: 1", "above: 0.011").replace("FILL-IN, what", "What").replace("FILL-IN", "Text")


def test_a_new_cause_is_a_file_to_fill_in(tmp_path: Path, capsys: Captured) -> None:
    """The skeleton is refused as it is, and after filling in it loads, passes every lint and every trial."""
    assert main(["rules", "new", "cause", "acme.stale-cache", "--directory", str(tmp_path)]) == 0
    path = tmp_path / "causes" / "acme" / "stale-cache.yaml"
    assert capsys.readouterr().out == f"{path}\n"
    said = printed(capsys, "rules", "lint", "--rules", str(tmp_path), code=2)
    assert "there is no symptom 'FILL-IN'" in said

    path.write_text(filled(path.read_text()))
    rules = load_rules(packs=[tmp_path])
    assert (rules.problems, rules.causes["acme.stale-cache"].status) == ((), "experimental")
    lines = printed(capsys, "rules", "lint", "--rules", str(tmp_path)).splitlines()
    assert [x for x in lines if "acme" in x] == []
    tried = printed(capsys, "rules", "test", "--rules", str(tmp_path))
    assert "acme" not in tried


def test_editors_find_the_schema_of_a_checkout(tmp_path: Path) -> None:
    """In a checkout the first line leads from the new file to its schema; elsewhere there is no such line."""
    schema = tmp_path / "docs" / "schema" / "cause.schema.json"
    schema.parent.mkdir(parents=True)
    schema.write_text("{}")
    for folder in (tmp_path / "rules", tmp_path / "pack"):
        assert main(["rules", "new", "cause", "acme.stale-cache", "--directory", str(folder)]) == 0
    path = tmp_path / "rules" / "causes" / "acme" / "stale-cache.yaml"
    first = path.read_text().splitlines()[0]

    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).resolve() == schema.resolve()
    assert "$schema" not in (tmp_path / "pack" / "causes" / "acme" / "stale-cache.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data.outliers", "there is such a cause already"),
        ("Data.Outliers", "an id is category.name"),
        ("../evil", "an id is category.name"),
        ("outliers", "an id is category.name"),
        ("a." + "x" * 200, "an id is category.name"),
    ],
)
def test_new_causes_that_cannot_be(tmp_path: Path, capsys: Captured, name: str, said: str) -> None:
    """An id that is taken or none at all: one sentence, nothing written."""
    assert said in refused(capsys, "rules", "new", "cause", name, "--directory", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_new_causes_that_cannot_be_written(tmp_path: Path, capsys: Captured) -> None:
    """A folder that cannot be written to, a file that is there, another kind of entry: one sentence each."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    new = ("rules", "new", "cause", "a.b", "--directory")

    assert "cannot be written" in refused(capsys, *new, str(blocked))
    assert main([*new, str(tmp_path)]) == 0
    capsys.readouterr()
    assert "there already" in refused(capsys, *new, str(tmp_path))
    assert "only a cause" in refused(capsys, "rules", "new", "symptom", "a-b")


# -------------------------------------------------------------------------------------------- checking


def test_lint_of_broken_rules(tmp_path: Path, capsys: Captured) -> None:
    """Lint prints every problem and ends with exit code 2."""
    (tmp_path / "scale.yaml").write_text("prior: {rare: 5}\n")

    assert "error: " in printed(capsys, "rules", "lint", str(tmp_path), code=2)
    assert "error: " in printed(capsys, "rules", "test", str(tmp_path), code=2)


def test_a_pack_can_be_linted_by_its_folder(tmp_path: Path, capsys: Captured) -> None:
    """A folder without a scale is a rule pack, looked at among the installed rules."""
    main(["rules", "new", "cause", "acme.stale-cache", "--directory", str(tmp_path)])
    path = tmp_path / "causes" / "acme" / "stale-cache.yaml"
    path.write_text(filled(path.read_text()).replace("confirms:", "# confirms:"))
    capsys.readouterr()
    said = printed(capsys, "rules", "lint", str(tmp_path), code=2)

    assert re.search(r"^causes/acme/stale-cache.yaml:\d+: error: .*\[no-confirmation\]$", said, re.M)


def test_the_installed_rules_hold(capsys: Captured) -> None:
    """All examples, textbook cases and symptoms of the base hold."""
    assert "error" not in printed(capsys, "rules", "test")


def test_a_failing_example_is_told_with_its_line(tmp_path: Path, capsys: Captured) -> None:
    """A pack whose example does not hold: file and line, exit code 2."""
    main(["rules", "new", "cause", "acme.stale-cache", "--directory", str(tmp_path)])
    path = tmp_path / "causes" / "acme" / "stale-cache.yaml"
    path.write_text(filled(path.read_text()).replace("above: 0.011", "above: 0.99"))
    capsys.readouterr()
    said = printed(capsys, "rules", "test", "--rules", str(tmp_path), code=2)

    assert re.search(r"^causes/acme/stale-cache.yaml:\d+: error: acme.stale-cache: example 1: ", said, re.M)


# --------------------------------------------------------------------------------------------- drawing


def test_the_neighbourhood_of_an_entry(capsys: Captured) -> None:
    """JSON names every node and edge; both ends of an edge are nodes."""
    graph = json.loads(printed(capsys, "rules", "graph", "init.zeros", "-f", "json"))
    ids = {n["id"]: n["kind"] for n in graph["nodes"]}

    assert ids["init.zeros"] == "cause"
    assert set(ids.values()) == {"cause", "mechanism", "symptom"}
    assert all(e["from"] in ids and e["to"] in ids and e["because"] for e in graph["edges"])
    assert [i for i, kind in ids.items() if kind == "cause"] == ["init.zeros"]


def test_the_whole_base_as_a_graph(capsys: Captured) -> None:
    """Without an id everything is drawn."""
    graph = json.loads(printed(capsys, "rules", "graph", "-f", "json"))
    rules = load_rules()

    assert len(graph["nodes"]) == len(rules.causes) + len(rules.mechanisms) + len(rules.symptoms)


LINE = re.compile(
    r"flowchart LR"
    r'|  n\d+(\["[^"<>]*"\]|\("[^"<>]*"\)|\{\{"[^"<>]*"\}\})'
    r"|  n\d+ -->\|[^|]*\| n\d+"
)
HOSTILE = 'x"]; click n0 "javascript:alert(1)" <b> \\" -->|y|'


@pytest.mark.parametrize("form", ["mermaid", "dot", "json"])
def test_titles_cannot_break_out_of_a_drawing(tmp_path: Path, capsys: Captured, form: str) -> None:
    """What a rule pack writes into a title stays text."""
    main(["rules", "new", "cause", "acme.evil", "--directory", str(tmp_path)])
    path = tmp_path / "causes" / "acme" / "evil.yaml"
    title = json.dumps(HOSTILE)
    path.write_text(re.sub(r"(?m)^title: .*$", lambda _: f"title: {title}", filled(path.read_text())))
    capsys.readouterr()
    drawn = printed(capsys, "rules", "graph", "acme.evil", "-f", form, "--rules", str(tmp_path))

    if form == "json":
        assert HOSTILE in {n["title"] for n in json.loads(drawn)["nodes"]}
    elif form == "dot":
        assert all(len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) % 2 == 0 for line in drawn.splitlines())
    else:
        assert not re.search(r'click n0 "|<b>', drawn)
        assert all(LINE.fullmatch(line) for line in drawn.splitlines())


def test_unknown_drawings(capsys: Captured) -> None:
    """A format that does not exist is refused."""
    assert "choose mermaid, dot, json" in refused(capsys, "rules", "graph", "-f", "png")
