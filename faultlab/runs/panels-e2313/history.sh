python train.py --config stage1.yaml
python train.py --config stage2.yaml
