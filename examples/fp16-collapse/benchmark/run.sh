python train.py config.yaml > train.log 2>&1
