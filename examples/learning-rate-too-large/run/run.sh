python train.py --lr 0.5 --epochs 20
