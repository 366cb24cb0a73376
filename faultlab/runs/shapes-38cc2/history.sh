python train.py --max-epochs 7
python train.py --max-epochs 10 --resume-from work_dirs/resnet_shapes/latest.pth
