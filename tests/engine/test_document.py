"""Strict YAML with line numbers."""

from __future__ import annotations

import pytest

from traindoctor.engine.document import MAX_DEPTH, DocumentError, parse


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(DocumentError) as caught:
        parse("f.yaml", text.encode())
    return caught.value.problems


def test_values_keep_their_types() -> None:
    """Numbers, words, booleans and null are what YAML says they are."""
    data = parse("f.yaml", b"{a: 1, b: 2.5, c: text, d: true, e: null, f: '7', g: [x]}").data

    assert data == {"a": 1, "b": 2.5, "c": "text", "d": True, "e": None, "f": "7", "g": ["x"]}


@pytest.mark.parametrize(
    ("text", "value"), [("1e-5", 1e-5), ("2E3", 2000.0), ("-1.e4", -1e4), ("'1e-5'", "1e-5")]
)
def test_plain_exponents_are_numbers(text: str, value: object) -> None:
    """YAML 1.1 reads 1e-5 as text; a rule's threshold is a number unless it is quoted."""
    assert parse("f.yaml", f"a: {text}".encode()).data == {"a": value}


def test_keys_are_text() -> None:
    """A key that looks like a number or a boolean is still a name."""
    assert parse("f.yaml", b"{1: a, yes: b}").data == {"1": "a", "yes": "b"}


def test_lines_of_nested_values() -> None:
    """A path of keys and indices leads to the line of its value; a wrong path stops where it can."""
    document = parse("f.yaml", b"a:\n  - b: 1\n  - b: 2\n    c: 3\n")

    assert [document.at("a", 1, "c"), document.at("a", 0, "b"), document.at("a", 1, "zz")] == [
        "f.yaml:4",
        "f.yaml:2",
        "f.yaml:3",
    ]


def test_every_duplicate_key_is_reported() -> None:
    """All duplicate keys of a file are found, with the line of the second."""
    assert problems("a: 1\nb: {c: 1, c: 2}\na: 2\n") == (
        "f.yaml:2: the key 'c' stands twice in one mapping",
        "f.yaml:3: the key 'a' stands twice in one mapping",
    )


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: &x [1]\nb: *x\n", 1, "anchors and aliases"),
        ("b: {<<: {a: 1}}\n", 1, "merging"),
        ("a: 1\nb: !!python/object:os.system {}\n", 2, "tag"),
        ("a: 1\nb: !thing 3\n", 2, "tag"),
        ("? [1, 2]\n: 3\n", 1, "key must be plain"),
        ("a: 1\n b: 2\n", 2, "not valid YAML"),
        ("a: [1\n", 2, "not valid YAML"),
        ("", 1, "empty"),
        ("a: !!int x\n", 1, "not a valid int"),
        ("a: " + "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), 1, "nested deeper"),
    ],
)
def test_what_rule_files_do_not_use_is_refused(text: str, line: int, what: str) -> None:
    """Aliases, merges, tags, odd keys, syntax errors: one sentence with the line."""
    found = problems(text)

    assert any(p.startswith(f"f.yaml:{line}: ") and what in p for p in found)


def test_bytes_that_are_no_text() -> None:
    """A file that is not UTF-8 is refused in one sentence."""
    with pytest.raises(DocumentError, match=r"f\.yaml:1: not valid YAML"):
        parse("f.yaml", b"a: \xff\xfe\xfa")
