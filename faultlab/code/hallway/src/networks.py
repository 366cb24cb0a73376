import torch
import torch.nn.functional as F
from torch import nn

from registry import LOSSES, MODELS


def conv_bn(cin, cout, stride=1, act="ReLU"):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), getattr(nn, act)())


@MODELS.register
class PlainEncoder(nn.Module):
    def __init__(self, widths, blocks, act, pretrained):
        super().__init__()
        self.stem = conv_bn(3, widths[0], 2, act)
        stages, cin = [], widths[0]
        for w in widths:
            stages.append(nn.Sequential(conv_bn(cin, w, 2, act), *[conv_bn(w, w, 1, act) for _ in range(blocks)]))
            cin = w
        self.stages = nn.ModuleList(stages)
        self.widths = widths
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
        if pretrained:
            self.load_state_dict(torch.load(pretrained, map_location="cpu")["encoder"])

    def forward(self, x):
        x, outs = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            outs.append(x)
        return outs


@MODELS.register
class TopDownNeck(nn.Module):
    def __init__(self, in_widths, width):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(w, width, 1) for w in in_widths])
        self.smooth = nn.ModuleList([conv_bn(width, width) for _ in in_widths])
        self.width = width

    def forward(self, feats):
        top = self.smooth[-1](self.lateral[-1](feats[-1]))
        for i in range(len(feats) - 2, -1, -1):
            side = self.lateral[i](feats[i])
            up = F.interpolate(top, side.shape[-2:], mode="bilinear", align_corners=False)
            top = self.smooth[i](side + up)
        return top


@MODELS.register
class BoundedDepthHead(nn.Module):
    def __init__(self, width, max_depth):
        super().__init__()
        self.max_depth = max_depth
        self.body = nn.Sequential(conv_bn(width, width // 2), nn.Conv2d(width // 2, 1, 3, padding=1))

    def forward(self, x, size):
        x = F.interpolate(self.body(x), size, mode="bilinear", align_corners=False)
        return self.max_depth * torch.sigmoid(x)


@MODELS.register
class DepthNet(nn.Module):
    def __init__(self, encoder, neck, head):
        super().__init__()
        self.encoder = MODELS.build(encoder)
        self.neck = MODELS.build(neck, in_widths=self.encoder.widths)
        self.head = MODELS.build(head, width=self.neck.width)

    def forward(self, image):
        return self.head(self.neck(self.encoder(image)), image.shape[-2:])


@LOSSES.register
class ScaleInvariantLog:
    def __init__(self, lam, weight):
        self.lam, self.weight = lam, weight

    def __call__(self, pred, depth, valid):
        d = pred.clamp(min=1e-3)[valid].log() - depth[valid].log()
        return self.weight * (d.pow(2).mean() - self.lam * d.mean().pow(2))


@LOSSES.register
class DepthEdges:
    """L1 between the horizontal and vertical differences of prediction and measurement."""

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, pred, depth, valid):
        err = pred - depth
        dx = (err[..., 1:] - err[..., :-1]).abs()[valid[..., 1:] & valid[..., :-1]]
        dy = (err[..., 1:, :] - err[..., :-1, :]).abs()[valid[..., 1:, :] & valid[..., :-1, :]]
        return self.weight * (dx.mean() + dy.mean())
