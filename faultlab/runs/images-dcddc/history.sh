python train.py --epochs 9
python train.py --epochs 16 --resume last.pt
