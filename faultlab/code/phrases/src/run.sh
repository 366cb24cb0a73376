#!/bin/sh
# four cards of one machine; goes on from exp/last.pt when that is there
exec torchrun --standalone --nproc_per_node=4 train.py corpus --dir exp "$@"
