python train.py --stop_at 180
python train.py --resume ckpt.pt
