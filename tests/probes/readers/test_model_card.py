"""Model cards of transformers: settings, results and versions, and prose that is none."""

from __future__ import annotations

from pathlib import Path

from traindoctor.probes.readers import model_card

from ._golden import content_of, points, tried
from ._golden import placed as place

CARD = "The following hyperparameters were used during training:\n- learning_rate: 1e-4\n\n## X\n- seed: 3\n"
AXOLOTL = "# out\n```yaml\nbase_model: org/tiny\nadapter: lora\n```\n" + CARD


def test_a_card_tells_settings_results_and_versions() -> None:
    """The optimizer's line holds several settings; a loss that was not logged yet is absent."""
    found = content_of("model_card", "README.md")
    told = {s.key: s.value for s in found.settings}

    assert told["base_model"] == "distilbert-base-uncased"
    assert (told["optimizer"], told["adam_beta2"], told["adam_epsilon"]) == ("adamw_torch", 0.98, 1e-6)
    assert (told["learning_rate"], told["warmup_steps"], told["num_epochs"]) == (2e-5, 100, 3)
    assert found.facts["version:transformers"] == "4.46.3"
    curves = {name[0]: pairs for name, pairs in points(found).items()}
    assert curves["train_loss"] == [(500.0, 0.512), (750.0, 0.2989)]
    assert [v for _, v in curves["eval_accuracy"]] == [0.8310, 0.8722, 0.8815]


def test_a_card_of_axolotl_holds_its_configuration(tmp_path: Path) -> None:
    """The list of hyperparameters ends with its paragraph."""
    found = model_card.read(place(tmp_path, "README.md", AXOLOTL.encode()))

    assert [(s.key, s.value, s.line) for s in found.settings] == [
        ("base_model", "org/tiny", 3),
        ("adapter", "lora", 4),
        ("learning_rate", 1e-4, 7),
    ]
    assert found.series == ()


def test_other_prose_is_not_looked_at(tmp_path: Path) -> None:
    """A README with a log in it is neither read nor spoken of."""
    text = b"# Usage\n\n" + b"".join(b"step %d loss 2.%d lr 0.001\n" % (n, n) for n in range(1, 60))

    assert tried(place(tmp_path, "README.md", text)) == (None, "")


EMBEDDINGS = """---
tags:
- sentence-transformers
- loss:CosineSimilarityLoss
---
## Training Details
### Training Dataset
| details | <ul><li>min: 6 tokens</li><li>mean: 9.1 tokens</li><li>max: 12 tokens</li></ul> | \
<ul><li>min: 0.0</li><li>mean: 2.7</li><li>max: 5.0</li></ul> |
* Loss: [<code>CosineSimilarityLoss</code>](https://sbert.net) with these parameters:
### Evaluation Dataset
* Loss: [<code>CoSENTLoss</code>](https://sbert.net) with these parameters:
### Training Hyperparameters
- `learning_rate`: 0.0002
- `num_train_epochs`: 4
### Framework Versions
- Python: 3.11
""".replace("\\\n", "")


def test_a_card_of_sentence_transformers(tmp_path: Path) -> None:
    """The loss, what its labels lie between, and the hyperparameters; not those of the evaluation."""
    found = model_card.read(place(tmp_path, "README.md", EMBEDDINGS.encode()))

    told = {s.key: s.value for s in found.settings}
    assert (told["loss"], told["train_labels.max"]) == ("CosineSimilarityLoss", 5.0)
    assert (told["learning_rate"], told["num_train_epochs"]) == (0.0002, 4)
