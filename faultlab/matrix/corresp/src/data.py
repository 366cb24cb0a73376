"""Letters as token ids in MindRecord files; padded to one length."""
import glob
import os

import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore as ms


def letters(folder, split, config, batch, rank=0, size=1):
    """Rows of ids (B, seq_length + 1); training is shuffled."""
    files = sorted(glob.glob(os.path.join(folder, split, "*.mindrecord")))
    data = ds.MindDataset(files, columns_list=["input_ids"], shuffle=split == "train",
                          num_shards=size, shard_id=rank, num_parallel_workers=4)
    data = data.map(transforms.PadEnd([config.seq_length + 1], config.pad_token_id), ["input_ids"])
    data = data.map(transforms.TypeCast(ms.int32), ["input_ids"])
    return data.batch(batch, drop_remainder=split == "train")
