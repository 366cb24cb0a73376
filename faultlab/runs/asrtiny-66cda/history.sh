python train.py --max-epoch 5
python train.py --max-epoch 12 --restore-file checkpoints/checkpoint_last.pt
