#!/bin/bash
accelerate launch --num_processes 4 --mixed_precision bf16 train_sft.py \
    --model base-1b --data recipes.jsonl --out out/sft-r16 \
    --ds_config ds_config.json --micro_batch 2 --accum 8 --lr 2e-4 --epochs 3
