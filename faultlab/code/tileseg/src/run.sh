#!/bin/sh
# one GPU, about three hours
python train.py root=tiles out=out/base epochs=80 batch_size=16 "$@"
