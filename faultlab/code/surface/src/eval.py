"""Evaluate the best checkpoint on the test pictures."""
import argparse
import os

import mindspore as ms
from mindspore import nn
from mindspore.train import Model

from config import config as cfg
from dataset import create_dataset
from network import DefectNet

parser = argparse.ArgumentParser()
parser.add_argument("--data_path", default="./data")
parser.add_argument("--device_target", default="Ascend")
parser.add_argument("--out", default="./output")

if __name__ == "__main__":
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE, device_target=args.device_target)
    test_set = create_dataset(os.path.join(args.data_path, "test"), cfg, do_train=False)
    net = DefectNet(cfg.num_classes)
    ms.load_param_into_net(net, ms.load_checkpoint(os.path.join(args.out, "best.ckpt")))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss_fn=loss, metrics={"loss", "top_1_accuracy"})
    print(model.eval(test_set, dataset_sink_mode=False))
