#!/usr/bin/env bash
set -e
torchrun --standalone --nproc_per_node=2 main.py \
    --lr {{lr}} --batch {{batch}} --steps {{steps}} --seed {{seed}} 2>&1 | tee train.out
