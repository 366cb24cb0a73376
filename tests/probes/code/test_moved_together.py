"""A picture and what lies over it: moved together, or one of them alone."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

SET = """
import random
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Pairs(Dataset):
    def __init__(self, rows, train):
        self.rows, self.train = rows, train
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        scan, over = self.rows[i]
        {body}

net, opt = torch.nn.Conv2d(1, 1, 3, padding=1), None
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in DataLoader(Pairs([], True), 8, shuffle=True):
    loss = torch.nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
TF = """
import tensorflow as tf

def read(a, b):
    image = tf.cast(tf.io.decode_png(tf.io.read_file(a)), tf.float32) / 255.0
    msk = tf.io.decode_png(tf.io.read_file(b))
    return image, msk

def change(image, msk):
    {body}
    return image, msk

ds = tf.data.Dataset.from_tensor_slices((names, others)).map(read).map(change).shuffle(99).batch(8)
model.fit(ds)
"""
WARP = """
import cv2
import torch

class Poses(torch.utils.data.Dataset):
    def turn(self, frame, joints, box):
        m = cv2.getRotationMatrix2D(box[:2], 20, 1.0)
        frame = cv2.warpAffine(frame, m, (64, 64))
        {body}
        return frame, joints
"""

ALONE = [
    SET.format(
        body="""mask = over.copy()
        if self.train and random.random() < 0.5:
            scan = scan[:, ::-1].copy()
        return torch.from_numpy(scan), torch.from_numpy(mask)"""
    ),
    SET.format(
        body="""landmarks = np.asarray(over, np.float32)
        if random.random() < 0.5:
            scan = np.fliplr(scan)
            landmarks = landmarks[ORDER]
        return scan, landmarks"""
    ),
    SET.format(
        body="""gt_boxes = over
        k = np.random.randint(4)
        scan = np.rot90(scan, k)
        return {"image": scan, "boxes": gt_boxes}"""
    ),
    SET.format(
        body="""keypoints = over.copy()
        if random.random() < 0.5:
            scan = scan[:, ::-1]
            keypoints[:, 1] = scan.shape[0] - 1 - keypoints[:, 1]
        return scan, keypoints"""
    ),
    TF.format(body="if tf.random.uniform(()) > 0.5:\n        image = tf.reverse(image, [1])"),
    WARP.format(body="pass"),
]
TOGETHER = [
    SET.format(
        body="""mask = over.copy()
        if self.train and random.random() < 0.5:
            scan, mask = scan[:, ::-1].copy(), mask[:, ::-1].copy()
        return torch.from_numpy(scan), torch.from_numpy(mask)"""
    ),
    SET.format(
        body="""landmarks = np.asarray(over, np.float32)
        if random.random() < 0.5:
            scan = np.fliplr(scan)
            landmarks[:, 0] = scan.shape[1] - 1 - landmarks[:, 0]
            landmarks = landmarks[ORDER]
        return scan, landmarks"""
    ),
    SET.format(
        body="""label = over
        if random.random() < 0.5:
            scan = scan[:, ::-1].copy()
        return scan, label"""
    ),
    SET.format(
        body="""mask = over
        flip = random.random() < 0.5
        if flip:
            scan = np.flipud(scan)
        scan = scan / 255.0
        if flip:
            mask = np.flipud(mask)
        return scan, mask"""
    ),
    SET.format(
        body="""mask = over
        scan = scan[::-1]  # stored upside down
        return scan, mask"""
    ),
    SET.format(
        body="""boxes = over
        if random.random() < 0.5:
            scan = scan[..., ::-1]  # the colours
        return scan, boxes"""
    ),
    SET.format(
        body="""masks = over
        if random.random() < 0.5:
            scan = np.flipud(scan)
            masks = [np.flipud(m) for m in masks]
        return scan, masks"""
    ),
    TF.format(
        body="if tf.random.uniform(()) > 0.5:\n"
        "        image, msk = tf.reverse(image, [1]), tf.reverse(msk, [1])"
    ),
    WARP.format(body="joints = joints @ m[:, :2].T + m[:, 2]"),
]


@pytest.mark.parametrize("text", ALONE)
def test_moved_alone(text: str) -> None:
    assert state("script-sample-torn-apart", text) == "present"


@pytest.mark.parametrize("text", TOGETHER)
def test_moved_together(text: str) -> None:
    assert state("script-sample-torn-apart", text) != "present"
