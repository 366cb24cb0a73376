"""Entity-level scores for BIO tags."""


def spans(tags):
    """[(type, start, end)] of one sentence; a stray I- opens an entity."""
    found, kind, start = [], None, 0
    for i, tag in enumerate(list(tags) + ["O"]):
        prefix, _, name = tag.partition("-")
        if kind is not None and (prefix != "I" or name != kind):
            found.append((kind, start, i))
            kind = None
        if prefix == "B" or (prefix == "I" and kind is None):
            kind, start = name, i
    return found


def entity_scores(references, predictions):
    correct = predicted = expected = 0
    for ref, pred in zip(references, predictions):
        ref_spans, pred_spans = set(spans(ref)), set(spans(pred))
        correct += len(ref_spans & pred_spans)
        predicted += len(pred_spans)
        expected += len(ref_spans)
    precision = correct / predicted if predicted else 0.0
    recall = correct / expected if expected else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}
