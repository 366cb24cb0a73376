#!/bin/bash
python train.py \
    --seed 142 \
    --train-size 1200 \
    --dim 64 \
    --dropout 0.2 \
    --label-smoothing 0.0 \
    --lr 0.004 > train.log 2>&1
