"""MindRecord pipelines of the tile pictures."""
import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.dataset.transforms.c_transforms as C2
import mindspore.dataset.vision.c_transforms as C


def create_dataset(files, do_train, batch_size=32, image_size=224, device_num=1, rank_id=0):
    if do_train:
        data_set = ds.MindDataset(
            files,
            columns_list=["data", "label"],
            num_parallel_workers=8,
            shuffle=True,
            num_shards=device_num,
            shard_id=rank_id,
        )
    else:
        data_set = ds.MindDataset(files, columns_list=["data", "label"], num_parallel_workers=8, shuffle=False)

    mean = [0.485 * 255, 0.456 * 255, 0.406 * 255]
    std = [0.229 * 255, 0.224 * 255, 0.225 * 255]
    if do_train:
        trans = [
            C.RandomCropDecodeResize(image_size, scale=(0.08, 1.0), ratio=(0.75, 1.333)),
            C.RandomHorizontalFlip(prob=0.5),
            C.Normalize(mean=mean, std=std),
            C.HWC2CHW(),
        ]
    else:
        trans = [
            C.Decode(),
            C.Resize(256),
            C.CenterCrop(image_size),
            C.Normalize(mean=mean, std=std),
            C.HWC2CHW(),
        ]
    type_cast_op = C2.TypeCast(mstype.int32)
    data_set = data_set.map(operations=trans, input_columns="data", num_parallel_workers=8)
    data_set = data_set.map(operations=type_cast_op, input_columns="label", num_parallel_workers=8)
    data_set = data_set.batch(batch_size, drop_remainder=do_train)
    return data_set
