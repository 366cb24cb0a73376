python train.py > output.txt
