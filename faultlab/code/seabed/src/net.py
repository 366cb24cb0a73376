import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(cin, cout, k, stride=1, dilation=1, act=True):
    pad = dilation * (k - 1) // 2
    layers = [nn.Conv2d(cin, cout, k, stride, pad, dilation, bias=False), nn.BatchNorm2d(cout)]
    if act:
        layers.append(nn.ReLU(inplace=True))
    return nn.Sequential(*layers)


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1, dilation=1):
        super().__init__()
        self.conv1 = conv_bn(cin, cout, 3, stride, dilation)
        self.conv2 = conv_bn(cout, cout, 3, 1, dilation, act=False)
        self.down = conv_bn(cin, cout, 1, stride, act=False) if stride != 1 or cin != cout else None

    def forward(self, x):
        identity = x if self.down is None else self.down(x)
        out = self.conv2(self.conv1(x))
        return F.relu(out + identity)


class Backbone(nn.Module):
    """resnet with output stride 8"""

    def __init__(self, base, depths):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, base, 3, 2), conv_bn(base, base, 3), nn.MaxPool2d(3, 2, 1))
        cin = base
        self.stages = nn.ModuleList()
        for i, (n, stride, dilation) in enumerate(zip(depths, (1, 2, 1, 1), (1, 1, 2, 4))):
            cout = base * 2 ** i
            blocks = [BasicBlock(cin, cout, stride, dilation)]
            blocks += [BasicBlock(cout, cout, 1, dilation) for _ in range(n - 1)]
            self.stages.append(nn.Sequential(*blocks))
            cin = cout

    def forward(self, x):
        x = self.stem(x)
        outs = []
        for stage in self.stages:
            x = stage(x)
            outs.append(x)
        return outs


class ASPPHead(nn.Module):
    def __init__(self, cin, dim, num_classes, dropout, rates=(6, 12, 18)):
        super().__init__()
        self.branches = nn.ModuleList([conv_bn(cin, dim, 1)] + [conv_bn(cin, dim, 3, 1, r) for r in rates])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(cin, dim, 1), nn.ReLU(inplace=True))
        self.fuse = conv_bn(dim * (len(rates) + 2), dim, 3)
        self.drop = nn.Dropout2d(dropout)
        self.cls = nn.Conv2d(dim, num_classes, 1)

    def forward(self, x):
        feats = [b(x) for b in self.branches]
        g = F.interpolate(self.pool(x), size=x.shape[2:], mode='bilinear', align_corners=False)
        feats.append(g)
        return self.cls(self.drop(self.fuse(torch.cat(feats, dim=1))))


class AuxHead(nn.Module):
    def __init__(self, cin, dim, num_classes, dropout):
        super().__init__()
        self.conv = conv_bn(cin, dim, 3)
        self.drop = nn.Dropout2d(dropout)
        self.cls = nn.Conv2d(dim, num_classes, 1)

    def forward(self, x):
        return self.cls(self.drop(self.conv(x)))


class SegNet(nn.Module):
    def __init__(self, base, depths, head_dim, aux_dim, num_classes, dropout):
        super().__init__()
        self.backbone = Backbone(base, depths)
        self.head = ASPPHead(base * 8, head_dim, num_classes, dropout)
        self.aux = AuxHead(base * 4, aux_dim, num_classes, dropout)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
        for h in (self.head, self.aux):
            nn.init.normal_(h.cls.weight, std=0.01)

    def forward(self, img):
        size = img.shape[2:]
        feats = self.backbone(img)
        out = F.interpolate(self.head(feats[-1]), size=size, mode='bilinear', align_corners=False)
        if not self.training:
            return out
        aux = F.interpolate(self.aux(feats[-2]), size=size, mode='bilinear', align_corners=False)
        return out, aux


def load_backbone(model, path):
    state = torch.load(path, map_location='cpu')
    state = {k[len('backbone.'):]: v for k, v in state.items() if k.startswith('backbone.')}
    missing, unexpected = model.backbone.load_state_dict(state, strict=False)
    missing = [k for k in missing if not k.endswith('num_batches_tracked')]
    assert not missing, 'pretrained weight does not fit: %s' % missing[:5]
