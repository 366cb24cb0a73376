#!/bin/bash
export HCCL_CONNECT_TIMEOUT=1200
export TASK_QUEUE_ENABLE=1
torchrun --nproc_per_node=8 train_npu.py --work_dir ./work_dir/seabed_8p 2>&1 | tee train_8p.log
