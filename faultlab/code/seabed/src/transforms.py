"""numpy transforms, results is a dict with img (h, w, 3) rgb and seg (h, w)"""
import numpy as np
import torch
from PIL import Image

TRANSFORMS = {}


def register(cls):
    TRANSFORMS[cls.__name__] = cls
    return cls


class Compose:
    def __init__(self, pipeline):
        self.ops = []
        for item in pipeline:
            item = dict(item)
            self.ops.append(TRANSFORMS[item.pop('type')](**item))

    def __call__(self, results):
        for op in self.ops:
            results = op(results)
        return results


@register
class LoadImage:
    def __call__(self, results):
        results['img'] = np.array(Image.open(results['img_path']).convert('RGB'))
        return results


@register
class LoadSeg:
    def __init__(self, reduce_zero_label=False):
        self.reduce_zero_label = reduce_zero_label

    def __call__(self, results):
        seg = np.array(Image.open(results['seg_path'])).astype(np.uint8)
        if self.reduce_zero_label:
            # 0 is "not labeled" in the png
            seg[seg == 0] = 255
            seg = seg - 1
            seg[seg == 254] = 255
        results['seg'] = seg
        return results


@register
class RandomResize:
    def __init__(self, ratio_range):
        self.ratio_range = ratio_range

    def __call__(self, results):
        ratio = np.random.uniform(*self.ratio_range)
        h, w = results['seg'].shape
        size = (int(w * ratio + 0.5), int(h * ratio + 0.5))
        results['img'] = np.array(Image.fromarray(results['img']).resize(size, Image.BILINEAR))
        results['seg'] = np.array(Image.fromarray(results['seg']).resize(size, Image.NEAREST))
        return results


@register
class RandomCrop:
    def __init__(self, crop_size, cat_max_ratio=1.0, ignore_index=255):
        self.crop_size = crop_size
        self.cat_max_ratio = cat_max_ratio
        self.ignore_index = ignore_index

    def get_box(self, h, w):
        ch, cw = self.crop_size
        y = np.random.randint(0, max(h - ch, 0) + 1)
        x = np.random.randint(0, max(w - cw, 0) + 1)
        return y, y + ch, x, x + cw

    def __call__(self, results):
        img, seg = results['img'], results['seg']
        h, w = seg.shape
        y1, y2, x1, x2 = self.get_box(h, w)
        for _ in range(10):
            labels, cnt = np.unique(seg[y1:y2, x1:x2], return_counts=True)
            cnt = cnt[labels != self.ignore_index]
            if len(cnt) > 1 and cnt.max() / cnt.sum() < self.cat_max_ratio:
                break
            y1, y2, x1, x2 = self.get_box(h, w)
        results['img'] = img[y1:y2, x1:x2]
        results['seg'] = seg[y1:y2, x1:x2]
        return results


@register
class RandomFlip:
    def __init__(self, prob):
        self.prob = prob

    def __call__(self, results):
        if np.random.rand() < self.prob:
            results['img'] = results['img'][:, ::-1]
            results['seg'] = results['seg'][:, ::-1]
        return results


@register
class PhotoMetric:
    def __init__(self, brightness, contrast, prob):
        self.brightness = brightness
        self.contrast = contrast
        self.prob = prob

    def __call__(self, results):
        img = results['img'].astype(np.float32)
        if np.random.rand() < self.prob:
            img = img + np.random.uniform(-self.brightness, self.brightness)
        if np.random.rand() < self.prob:
            img = img * np.random.uniform(*self.contrast)
        results['img'] = np.clip(img, 0, 255)
        return results


@register
class Normalize:
    def __init__(self, mean, std):
        self.mean = np.array(mean, dtype=np.float32)
        self.std = np.array(std, dtype=np.float32)

    def __call__(self, results):
        results['img'] = (results['img'].astype(np.float32) - self.mean) / self.std
        return results


@register
class Pad:
    def __init__(self, size=None, size_divisor=None, pad_val=0, seg_pad_val=255):
        self.size = size
        self.size_divisor = size_divisor
        self.pad_val = pad_val
        self.seg_pad_val = seg_pad_val

    def __call__(self, results):
        h, w = results['seg'].shape
        if self.size is not None:
            th, tw = max(h, self.size[0]), max(w, self.size[1])
        else:
            d = self.size_divisor
            th, tw = -(-h // d) * d, -(-w // d) * d
        pad = ((0, th - h), (0, tw - w))
        results['img'] = np.pad(results['img'], pad + ((0, 0),), constant_values=self.pad_val)
        results['seg'] = np.pad(results['seg'], pad, constant_values=self.seg_pad_val)
        return results


@register
class ToTensor:
    def __call__(self, results):
        img = np.ascontiguousarray(results['img'].transpose(2, 0, 1))
        seg = np.ascontiguousarray(results['seg'])
        return torch.from_numpy(img).float(), torch.from_numpy(seg).long()
