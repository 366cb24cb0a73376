"""Input pipeline."""
import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as C
import mindspore.dataset.vision as V


def create_dataset(dataset_path, cfg, do_train, rank_id=0, device_num=1, workers=4):
    """Make the train or the evaluation pipeline (columns image, label)."""
    if do_train:
        data_set = ds.ImageFolderDataset(
            dataset_path,
            num_parallel_workers=workers,
            shuffle=True,
            class_indexing=cfg.class_indexing,
            num_shards=device_num,
            shard_id=rank_id,
        )
        trans = [
            V.RandomCropDecodeResize(cfg.image_size, scale=(0.5, 1.0), ratio=(0.8, 1.25)),
            V.RandomHorizontalFlip(prob=0.5),
            V.Normalize(mean=cfg.mean, std=cfg.std),
            V.HWC2CHW(),
        ]
    else:
        data_set = ds.ImageFolderDataset(
            dataset_path,
            num_parallel_workers=workers,
            shuffle=False,
            class_indexing=cfg.class_indexing,
        )
        trans = [
            V.Decode(),
            V.Resize(int(cfg.image_size * 256 / 224)),
            V.CenterCrop(cfg.image_size),
            V.Normalize(mean=cfg.mean, std=cfg.std),
            V.HWC2CHW(),
        ]

    type_cast_op = C.TypeCast(ms.int32)
    data_set = data_set.map(operations=trans, input_columns="image", num_parallel_workers=workers)
    data_set = data_set.map(operations=type_cast_op, input_columns="label", num_parallel_workers=workers)
    return data_set.batch(cfg.batch_size, drop_remainder=do_train)
