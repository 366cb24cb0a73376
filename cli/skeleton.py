"""`diagnose rules new`: the file of a new cause, to be filled in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from .output import write_file
from .stop import usage

if TYPE_CHECKING:
    from ..engine.model import RuleBase

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*")
LONGEST = 80
TEXT = """\
# One cause, one file; nothing else has to be edited. Put something in place of every FILL-IN; what stands
# behind a # is optional. Then `diagnose rules lint` says what is missing and `diagnose rules test` whether
# inference does what you mean (both with `--rules DIR` when this file is part of a rule pack).
# `diagnose rules list symptoms` (or mechanisms, sources) lists what can be linked to.
id: {id}
title: FILL-IN, what is wrong, as a heading without a full stop
summary: >-
  FILL-IN. Two or three sentences: what it is, how it shows, the quickest test.
status: experimental   # experimental: never fails a gate; stable once it has been seen on real runs
prior: uncommon        # behind an unhappy run it is: rare, uncommon, common, frequent
# applies_when: {{precision: fp16}}        # only in this situation; what is not known does not rule it out
# refines: [porting.hyperparameters-differ] # the more general cause, when it is present too
# leads_to:            # what goes wrong inside training because of it (rules/mechanisms.yaml)
#   - {{to: update-too-large, strength: medium, source: practice, because: "each step overshoots"}}
shows:                 # what can be observed directly; strength: weak, medium, strong, certain
  - {{symptom: FILL-IN, strength: strong, source: practice, because: "FILL-IN, lower case, no full stop"}}
remedies:              # most useful first, with the exact setting
  - do: "FILL-IN, what to do"
    # patch: {{learning_rate: "/10"}}       # "/10" divided by, "*2" times, "=x" set to
    minutes: 10
    works: often       # seldom, often, usually
    confirms: "FILL-IN, what one sees when it worked"
    clears: [FILL-IN]  # symptoms that are gone from the next run then
# looks_like: [data.label-errors]          # causes it is confused with; some symptom has to separate them
provenance: [{{source: practice}}]          # ids of sources.yaml; a pack brings its own file
examples:              # what inference has to answer: rank (at most), above, below (a number, or prior)
  - {{given: {{FILL-IN: present}}, rank: 1}}
  - {{given: {{FILL-IN: absent}}, below: prior}}
"""


def new_cause(rules: RuleBase, name: str, folder: Path) -> Path:
    """Write the skeleton of a cause under `folder`; raises `Stop` when it cannot or must not be."""
    if not ID.fullmatch(name) or len(name) > LONGEST:
        raise usage(f"{name}: an id is category.name, in lower-case letters, digits and hyphens")
    if name in rules.causes:
        raise usage(f"{name}: there is such a cause already (diagnose explain {name})")
    category, _, stem = name.partition(".")
    path = folder / "causes" / category / f"{stem}.yaml"
    if path.exists():
        raise usage(f"{path}: the file is there already")
    write_file(path, _for_editors(folder) + TEXT.format(id=name))
    return path


def _for_editors(folder: Path) -> str:
    """The line by which an editor finds the schema, where the rules lie in a checkout with its docs."""
    schema = "docs/schema/cause.schema.json"
    there = folder.resolve().name == "rules" and (folder.resolve().parent / schema).is_file()
    return f"# yaml-language-server: $schema=../../../{schema}\n" if there else ""


def rules_folder() -> Path:
    """Return the folder that new rules go to: `rules` in a checkout of this project, else the current one."""
    here = Path("rules")
    return here if (here / "causes").is_dir() else Path()
