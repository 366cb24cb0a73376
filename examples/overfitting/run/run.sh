python -W ignore train.py > train.log 2>&1
