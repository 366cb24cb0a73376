"""Code as people paste it: what is mended for reading it, what is left, and what imports are implied."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import script
from traindoctor.probes.readers._pasted import readable

BODY = "for x, y in loader:\n    loss = net(x, y)\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("print 'a', b\n", "print('a', b)\n"),
        ("if x: print 'y' # odd\n", "if x: print('y')  # odd\n"),
        ("print 'a %d' % (\n  3)\n", "print('a %d' % (\n  3))\n"),
        ("print 'x'\nprint (a)\n", "print('x')\nprint (a)\n"),
        (
            "try:\n  f()\nexcept ValueError, e:\n  raise E, 'm'\n",
            "try:\n  f()\nexcept ValueError as e:\n  raise E('m')\n",
        ),
        ("!pip install torch\nx = 1\n", "\nx = 1\n"),
        ("while x:\n    !nvidia-smi | grep MiB\n    x = f()\n", "while x:\n    pass\n    x = f()\n"),
        (">>> x = f(1)\n>>> x\n3\n>>> for i in x:\n...     g(i)\n", "x = f(1)\nx\n\nfor i in x:\n    g(i)\n"),
        ("def f():\n    x = 1\n    ....\n    return x\n", "def f():\n    x = 1\n    ...\n    return x\n"),
        ("  x = 1\n  y = 2\n", "x = 1\ny = 2\n"),
        ("for x in y:\n     f(x)\n   g(x)\n", "for x in y:\n     f(x)\n     g(x)\n"),
        ("for x in y:\n        f(x)\n\tg(x)\n", "for x in y:\n        f(x)\n        g(x)\n"),
    ],
)
def test_what_was_pasted_is_made_readable_line_by_line(text: str, after: str) -> None:
    mended, said = readable(text)

    assert mended == after
    assert said.startswith("this is no Python 3")
    ast.parse(mended)


@pytest.mark.parametrize(
    "text", ["print('a')\nx = ...\n", "x = {'print b': 1}\n", "print\n", "a = '''\nprint 'b'\n'''\n"]
)
def test_what_is_python_is_left_as_it_is(text: str) -> None:
    assert readable(text) == (text, "")


@pytest.mark.parametrize(
    "text",
    ["def (:\n", "x = (\n", "for x in y\n    pass\n", "if x:\ny = 1\n", "a b c\n", "print 'a'\nx = (\n"],
)
def test_what_cannot_be_mended_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        readable(text)


def test_the_reader_tells_what_it_mended(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import torch\nprint 'x'\n")

    read = script.read(RunFile(tmp_path, "train.py", path.stat().st_size))

    assert read.facts == {"framework": "pytorch"}
    assert any("Python 2" in n for n in read.notes)


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        (BODY + "    loss.backward()\n    opt.step()\n", "pytorch"),
        ("class Net(nn.Module):\n    pass\n", "pytorch"),
        ("x = torch.zeros(3)\n", "pytorch"),
        ("m = Sequential()\nm.add(Dense(3))\nm.compile(loss='mse')\n", "keras"),
        ("m = keras.Sequential()\n", "keras"),
        ("with tf.GradientTape() as tape:\n    pass\n", "tensorflow"),
        ("net = ms.nn.Dense(3, 4)\n", "mindspore"),
        ("x = paddle.zeros([3])\n", "paddle"),
    ],
)
def test_the_framework_of_a_snippet_without_imports(text: str, framework: str) -> None:
    assert script.frameworks(script.parse(text)) == [framework]


@pytest.mark.parametrize(
    "text",
    [
        "nn = 3\nprint(nn)\n",  # bound
        "def f(torch):\n    return torch.zeros(3)\n",
        "from common import *\nx = torch.zeros(3)\n",  # a star may bring anything
        "job.step()\n",
        "doc.compile(target='x')\n",
        "optimizer.lr = 3\nmodel = dict(type='x')\n",  # a configuration that is executed into others
        "import paddle\n" + BODY + "    loss.backward()\n    opt.step()\n    opt.clear_grad()\n",
    ],
)
def test_nothing_is_implied(text: str) -> None:
    assert "pytorch" not in script.frameworks(script.parse(text))
    assert "keras" not in script.frameworks(script.parse(text))


def test_implied_imports_move_no_line_and_stand_behind_the_docstring() -> None:
    tree = script.parse(
        '"""Doc."""\nfrom __future__ import division\nnet = nn.Linear(3, 4)\nx = torch.ones(3)\n'
    )

    assert ast.get_docstring(tree) == "Doc."
    assert [type(n).__name__ for n in tree.body[:2]] == ["Expr", "ImportFrom"]
    assert tree.body[-1].lineno == 4
    assert {i.module for i in script.imports("net = nn.Linear(3)\nx = torch.ones(3)\n")} == {"torch"}


@pytest.mark.parametrize(
    ("text", "brought"),
    [
        ("m = Sequential([Dense(3), Odd(4)])\nm.compile(loss='mse')\n", "keras.layers"),
        ("x = Dense(3)(x)\nm = Model(i, x)\nm.compile(optimizer=SGD(0.1))\n", "keras.optimizers"),
        ("d = datasets.load_iris()\nx = torch.tensor(d.data)\n", "sklearn"),
        ("d = datasets.MNIST('.')\nx = torch.tensor(d.data)\n", "torchvision"),
        ("x = torch.tensor(1)\nl = DataLoader(d)\n", "torch.utils.data"),
        ("x = torch.tensor(1)\nf = CrossEntropyLoss()\n", "torch.nn"),
    ],
)
def test_names_of_tutorials_mean_what_they_call_so(text: str, brought: str) -> None:
    assert brought in {i.module for i in script.imports(text)}
