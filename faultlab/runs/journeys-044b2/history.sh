python train.py --stop-after 2
python train.py --resume
