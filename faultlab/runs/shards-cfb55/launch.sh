#!/usr/bin/env bash
set -e
torchrun --standalone --nproc_per_node=2 main.py \
    --lr 6.0 --batch 32 --steps 300 --seed 17 2>&1 | tee train.out
