#!/bin/bash
LR=1e-4
export NCCL_DEBUG=INFO
torchrun --nproc_per_node 8 train.py --lr $LR --batch_size 32 \
  --fp16 --epochs 3
