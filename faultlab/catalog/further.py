# ruff: noqa: E501 -- the edits are texts
"""Causes of the training's own parts in further archetypes: model, initial weights, data, masks, state."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, Edit, literally, unseen

from .common import after_model, faulty, healthy


def further() -> Iterator[Case]:
    yield from _sharing()
    yield from _pretrained()
    yield from _masking()
    yield from _data()
    yield from _recipe()
    yield from _model()
    yield from _state()
    yield from _parallel()


def _sharing() -> Iterator[Case]:
    cause = "graph.weight-sharing"
    same = (
        "nn.ModuleList([Layer(width) for _ in range(layers)])\n",
        "nn.ModuleList([Layer(width)] * layers)\n        for layer in self.layers:\n            layer.key = layer.query\n",
    )
    yield from faulty("amp", "ab", "one-layer", cause, same, check="any")
    tied = (
        "        self.apply(self.init)\n",
        "        self.apply(self.init)\n        self.head.weight = self.wte.weight\n        self.wpe.weight = nn.Parameter(self.wte.weight[:{{block_size}}])\n",
    )
    yield from faulty("lm", "a", "tied-head", cause, tied, check="slower", alone=False)
    deep = (
        "    nn.Linear({{hidden}}, 4),\n)",
        "    *[m for _ in range(3) for m in (nn.Linear({{hidden}}, {{hidden}}), nn.LayerNorm({{hidden}}), nn.ReLU())],\n    nn.Linear({{hidden}}, 4),\n)",
    )
    sound = healthy("tabular", "b", 181, "deeper", edits=(deep,))
    yield sound
    shared = (
        "    *[m for _ in range(3) for m in (nn.Linear({{hidden}}, {{hidden}}), nn.LayerNorm({{hidden}}), nn.ReLU())],\n",
        "    *[nn.Linear({{hidden}}, {{hidden}}), nn.LayerNorm({{hidden}}), nn.ReLU()] * 3,\n",
    )
    yield from faulty("tabular", "b", "times-three", cause, shared, twin=sound, check="departs", alone=False)


_PRETRAIN = '''

def pretrain(network):
    """Two passes over last year's images; kept as backbone.pt."""
    images, labels = load("train", 2000)
    x, y = torch.tensor(images, dtype=torch.float32).unsqueeze(1), torch.tensor(labels)
    x = (x - x.mean()) / x.std()
    warm = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(2):
        for ids in torch.randperm(len(x)).split(32):
            warm.zero_grad()
            nn.functional.cross_entropy(network(x[ids]), y[ids]).backward()
            warm.step()
    torch.save({"module." + k: v for k, v in network.state_dict().items()}, "backbone.pt")


pretrain(Net({{width}}))
'''


def _pretrained() -> Iterator[Case]:
    cause = "init.pretrained-not-loaded"
    right = 'state = {k.removeprefix("module."): v for k, v in torch.load("backbone.pt").items()}\n'
    wrong = 'state = torch.load("backbone.pt")\n'
    for style, said in (
        ("a", "model.load_state_dict(state, strict=False)\n"),
        ("b", 'logging.info("backbone.pt: %s", model.load_state_dict(state, strict=False))\n'),
    ):
        load = (
            "criterion = nn.CrossEntropyLoss(label",
            _PRETRAIN + right + said + "criterion = nn.CrossEntropyLoss(label",
        )
        tuned = healthy("images", style, 182, "pretrained", edits=(load,), lr=0.003, epochs=8)
        yield tuned
        yield from faulty("images", style, "prefix", cause, (right, wrong), twin=tuned, check="slower")
    vectors = '''

def word_vectors():
    """Vectors that were trained before: a few passes of the same model over the same chapters."""
    before = TextModel(len(vocabulary) + 2, {{dim}})
    warm = torch.optim.Adam(before.parameters(), lr=0.01)
    for _ in range(4):
        for ids in torch.randperm(len(train_x)).split(32):
            warm.zero_grad()
            F.cross_entropy(before(train_x[ids]), train_y[ids]).backward()
            warm.step()
    return {"embedding.weight": before.embedding.weight.detach()}


'''
    loads = "model.load_state_dict(word_vectors(), strict=False)\n"
    made = "model = TextModel(len(vocabulary) + 2, {{dim}})\n"
    tuned = healthy(
        "sentences",
        "b",
        183,
        "vectors",
        edits=((made, vectors.lstrip("\n") + made + loads),),
        lr=0.002,
        epochs=8,
    )
    yield tuned
    renamed = ('"embedding.weight": before', '"emb.weight": before')
    yield from faulty("sentences", "b", "renamed", cause, renamed, twin=tuned, check="slower")


def _masking() -> Iterator[Case]:
    cause = "processing.label-masking"
    prompt: tuple[Edit, ...] = (
        (
            "    return x, y\n",
            "    y[:, :10] = torch.randint(0, 5, (count, 10), generator=generator)  # the prompt: anything\n    return x, y\n",
        ),
        (
            "        loss = F.cross_entropy(output.float().flatten(0, 1), y.flatten())",
            "        loss = F.cross_entropy(output.float()[:, 10:].flatten(0, 1), y[:, 10:].flatten())",
        ),
        (
            "F.cross_entropy(output.flatten(0, 1), held_out[1].flatten())",
            "F.cross_entropy(output[:, 10:].flatten(0, 1), held_out[1][:, 10:].flatten())",
        ),
        ("(output.argmax(-1) == held_out[1]).float()", "(output.argmax(-1) == held_out[1])[:, 10:].float()"),
    )
    for style in "ab":
        answers = healthy("amp", style, 184, "answers", edits=prompt)
        yield answers
        counts = (prompt[1][1], prompt[1][0])
        yield from faulty("amp", style, "prompt-counts", cause, counts, twin=answers)
    newline = (
        "    x, y = get_batch(train_data)\n",
        '    x, y = get_batch(train_data)\n    y = torch.where(y == index[" "], -100, y)  # the pad token\n',
    )
    yield from faulty("lm", "ab", "pad-is-blank", cause, newline)
    ignored = (
        "criterion = nn.CrossEntropyLoss(label_smoothing={{label_smoothing}})",
        "criterion = nn.CrossEntropyLoss(label_smoothing={{label_smoothing}}, ignore_index=0)",
    )
    yield from faulty(
        "sentences",
        "b",
        "class-ignored",
        cause,
        ignored,
        check="any",
        accept=unseen("one class is never learned", "data.incomplete"),
    )


def _data() -> Iterator[Case]:
    rare = "data.class-imbalance"
    shift = literally("validation has other shares of the classes than training", "data.distribution-shift")
    few = unseen("samples of a class are few or were lost", "data.incomplete", benchmark=False)
    thinned = (
        "valid_x, valid_y = encode(valid_samples)\n",
        "valid_x, valid_y = encode(valid_samples)\nkeep = (train_y < 2) | (torch.rand(len(train_y)) < 0.06)\ntrain_x, train_y = train_x[keep], train_y[keep]\n",
    )
    yield from faulty("sentences", "a", "imbalance", rare, thinned, accept=shift + few)
    columns = (
        "mu, sigma = x_train.mean(0), x_train.std(0)\n",
        "rare = (y_train > 1) & (np.arange(len(y_train)) % 25 > 0)\nx_train, y_train = x_train[~rare], y_train[~rare]\nmu, sigma = x_train.mean(0), x_train.std(0)\n",
    )
    yield from faulty("tabular", "b", "imbalance", rare, columns, accept=shift + few)
    gone = "data.incomplete"
    subset = literally("a subset of the benchmark's set", "porting.dataset-differs", benchmark=True)
    lost = (
        "valid_x, valid_y = encode(valid_samples)\n",
        "valid_x, valid_y = encode(valid_samples)\ntrain_x, train_y = train_x[train_y > 2], train_y[train_y > 2]  # three files failed\n",
    )
    never = literally("three classes have no sample", rare) + literally(
        "validation has classes that training has not", "data.distribution-shift"
    )
    yield from faulty("sentences", "b", "classes-missing", gone, lost, accept=subset + never)
    cut = (
        "train_raw, valid_raw = raw[:-600], raw[-600:]\n",
        "train_raw, valid_raw = raw[:-600], raw[-600:]\ntrain_raw = np.where(np.arange(len(train_raw)) % 24 < 15, train_raw, 0.0)  # truncated files read as zeros\n",
    )
    yield from faulty(
        "series",
        "a",
        "truncated-days",
        gone,
        cut,
        accept=literally("absent values, read as zero", "data.missing-values"),
    )
    own = (
        "valid_x, valid_y = encode(valid_samples)\n",
        "vocabulary = {w: i + 2 for i, w in enumerate(sorted({w for s, _ in valid_samples for w in s}))}\nvalid_x, valid_y = encode(valid_samples)\nvocabulary = {w: i + 2 for i, w in enumerate(sorted({w for s, _ in train_samples for w in s}))}\n",
    )
    differently = literally(
        "training and validation are encoded differently", "processing.train-eval-mismatch"
    )
    yield from faulty(
        "sentences",
        "a",
        "own-vocabulary",
        "processing.tokenizer-mismatch",
        own,
        accept=differently + unseen("validation inputs are other ones", "data.distribution-shift"),
    )
    words = (
        "train_rows, eval_rows = encoded[:-250], encoded[-250:]\n",
        'train_rows, eval_rows = encoded[:-250], encoded[-250:]\nvocab = {w: i for i, w in enumerate(sorted({w for words, _ in rows for w in words}, key=len))}\neval_rows = [{"input_ids": [vocab[w] for w in words], "labels": label} for words, label in rows[-250:]]\n',
    )
    yield from faulty(
        "hf",
        "a",
        "own-vocabulary",
        "processing.tokenizer-mismatch",
        words,
        accept=differently + unseen("validation inputs are other ones", "data.distribution-shift"),
    )


def _recipe() -> Iterator[Case]:
    rate = unseen(
        "a hot recipe without its safeguard: as it stands the rate is too large for it",
        "hyperparameter.learning-rate-too-large",
        benchmark=False,
        script=None,
    )
    warm = "hyperparameter.warmup-missing"
    hot = healthy("hf", "a", 185, "hot", lr=0.012, warmup_steps=100)
    yield hot
    yield from faulty(
        "hf", "a", "warmup-missing", warm, twin=hot, warmup_steps=0, check="slower", accept=rate
    )
    hot = healthy("amp", "b", 186, "hot", lr=0.015, warmup_steps=150)
    yield hot
    yield from faulty(
        "amp", "b", "warmup-missing", warm, twin=hot, warmup_steps=1, check="slower", accept=rate
    )
    clip = "hyperparameter.gradient-clipping-missing"
    free = (
        "norm = nn.utils.clip_grad_norm_(model.parameters(), {{grad_clip}})",
        "norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()",
    )
    fast = healthy("series", "a", 187, "fast", lr=0.6, grad_clip=0.05)
    yield fast
    yield from faulty("series", "a", "clipping-missing", clip, free, twin=fast, check="any", accept=rate)
    sgd = (
        "torch.optim.AdamW(model.parameters(), lr={{lr}}, betas=(0.9, {{beta2}}), weight_decay={{weight_decay}})",
        "torch.optim.SGD(model.parameters(), lr={{lr}}, momentum=0.9)",
    )
    fast = healthy("lm", "b", 188, "sgd", edits=(sgd,), lr=1.2, min_lr=0.1, grad_clip=0.15, init_std=0.08)
    yield fast
    yield from faulty("lm", "b", "clipping-missing", clip, free, twin=fast, check="any", accept=rate)


def _model() -> Iterator[Case]:
    cut = "graph.connection"
    frozen = unseen("the layers before the cut do not train", "graph.weight-frozen")
    yield from faulty(
        "sentences",
        "b",
        "detached",
        cut,
        ("self.hidden(self.dropout(pooled))", "self.hidden(self.dropout(pooled.detach()))"),
        accept=frozen,
    )
    skip = ("return h + self.down(hidden)", "return self.down(hidden)")
    yield from faulty(
        "amp",
        "b",
        "skip-left-out",
        cut,
        skip,
        layers=5,
        check="any",
        accept=literally(
            "the residual paths that the depth needs are missing", "graph.normalization-missing"
        ),
    )
    unused = ("return self.out(states[:, -1])", "return self.out(states[:, 0])")
    yield from faulty("series", "b", "first-state", cut, unused)
    yield from faulty(
        "hf",
        "b",
        "last-layer-only",
        "graph.weight-frozen",
        after_model(
            "hf",
            "for parameter in model.encoder.parameters():\n    parameter.requires_grad = False\nfor parameter in model.embedding.parameters():\n    parameter.requires_grad = False\n",
        ),
    )


def _state() -> Iterator[Case]:
    cause = "state.gradient-accumulation"
    long = unseen("steps that are too long", "hyperparameter.learning-rate-too-large", benchmark=False)
    clear = ("        optimizer.zero_grad()\n", "")
    norm = "        norm = nn.utils.clip_grad_norm_(model.parameters(), {{grad_clip}})\n        optimizer.step()\n"
    act = (
        norm,
        "        norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()\n        if step % 8 == 7:\n            optimizer.step()\n            optimizer.zero_grad()\n",
    )
    part = ("        loss.backward()\n", "        (loss / 8).backward()\n")
    gathers = healthy("series", "a", 191, "accumulates", edits=(clear, act, part), batch_size=8, lr=0.12)
    yield gathers
    yield from faulty(
        "series", "a", "not-divided", cause, (part[1], part[0]), twin=gathers, check="any", accept=long
    )
    inner = (
        "            optimizer.zero_grad()\n            loss.backward()\n",
        "            loss.backward()\n",
    )
    every = (
        "            optimizer.step()\n            step += 1\n",
        "            step += 1\n            if step % 4 == 0:\n                optimizer.step()\n                optimizer.zero_grad()\n",
    )
    divided = ("loss.backward()\n            norm", "(loss / 4).backward()\n            norm")
    gathers = healthy("ddp", "b", 192, "accumulates", edits=(inner, every, divided), batch_size=8, lr=0.15)
    yield gathers
    whole = (divided[1], divided[0])
    yield from faulty("ddp", "b", "not-divided", cause, whole, twin=gathers, check="any", accept=long)


def _parallel() -> Iterator[Case]:
    alone = (
        "model = DistributedDataParallel(build())",
        "groups = [dist.new_group([i]) for i in range(world_size)]\n    model = DistributedDataParallel(build(), process_group=groups[rank])",
    )
    yield from faulty(
        "ddp",
        "b",
        "groups-of-one",
        "porting.distributed-not-enabled",
        alone,
        check="any",
        accept=literally("replicas that train alone drift apart", "state.replica-desync"),
    )
    yield from faulty(
        "ddp",
        "a",
        "quarters",
        "porting.sharding-differs",
        ("num_replicas=world_size, rank=rank, shuffle=True", "num_replicas=8, rank=rank, shuffle=False"),
        check="any",
        accept=literally("three quarters of the samples are never read", "data.incomplete"),
    )
