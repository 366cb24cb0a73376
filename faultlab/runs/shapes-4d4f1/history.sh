python train.py --max-epochs 5
python train.py --max-epochs 10 --resume-from work_dirs/resnet_shapes/latest.pth
