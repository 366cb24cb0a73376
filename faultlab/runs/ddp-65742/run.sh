#!/bin/bash
python train.py \
    --seed 5 \
    --train-size 1600 \
    --hidden 64 \
    --lr 0.1 \
    --momentum 0.9 \
    --weight-decay 0.0005
