python train.py
python train.py --resume
