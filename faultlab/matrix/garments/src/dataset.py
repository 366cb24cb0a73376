"""Input pipeline."""
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.dataset.transforms.c_transforms as C2
import mindspore.dataset.vision.c_transforms as C

from config import cfg

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def create_dataset(path, training, batch_size):
    """Images of a folder per class; augmented in training."""
    data = ds.ImageFolderDataset(path, num_parallel_workers=cfg.workers, shuffle=training)
    if training:
        trans = [
            C.RandomCropDecodeResize(cfg.image_size, scale=(0.3, 1.0)),
            C.RandomHorizontalFlip(prob=0.5),
        ]
    else:
        trans = [
            C.Decode(),
            C.Resize(110),
            C.CenterCrop(cfg.image_size),
        ]
    trans += [C.Normalize(mean=MEAN, std=STD), C.HWC2CHW()]
    data = data.map(operations=trans, input_columns="image", num_parallel_workers=cfg.workers)
    data = data.map(operations=C2.TypeCast(mstype.int32), input_columns="label")
    return data.batch(batch_size, drop_remainder=training)
