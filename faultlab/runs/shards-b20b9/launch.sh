#!/usr/bin/env bash
set -e
torchrun --standalone --nproc_per_node=2 main.py \
    --lr 0.004 --batch 6 --steps 500 --seed 322 2>&1 | tee train.out
