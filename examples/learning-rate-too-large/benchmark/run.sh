python train.py --lr 0.05 --epochs 20
