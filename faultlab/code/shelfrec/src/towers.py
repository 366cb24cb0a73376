import torch
from torch import nn
from torch.nn import functional as F


def mlp(n_in, n_hidden, n_out, p_drop):
    return nn.Sequential(
        nn.Linear(n_in, n_hidden), nn.LayerNorm(n_hidden), nn.ReLU(), nn.Dropout(p_drop), nn.Linear(n_hidden, n_out)
    )


class TwoTower(nn.Module):
    def __init__(self, catalogue, n_user_buckets, n_country_buckets, n_brand_buckets, dim=48, p_drop=0.1):
        super().__init__()
        n_items = len(catalogue["price"])
        for name in ("category", "brand", "price"):
            self.register_buffer("item_" + name, torch.from_numpy(catalogue[name]))
        # the big tables have sparse gradients, see make_optimizers
        self.item_table = nn.Embedding(n_items, dim, padding_idx=0, sparse=True)
        self.user_table = nn.Embedding(n_user_buckets, dim, sparse=True)
        self.brand_table = nn.Embedding(n_brand_buckets, dim, sparse=True)
        self.category_table = nn.Embedding(catalogue["n_categories"], dim)
        self.country_table = nn.Embedding(n_country_buckets, dim)
        self.item_mlp = mlp(3 * dim + 1, 2 * dim, dim, p_drop)
        self.user_mlp = mlp(3 * dim, 2 * dim, dim, p_drop)
        for table in (self.item_table, self.user_table, self.brand_table, self.category_table, self.country_table):
            nn.init.normal_(table.weight, std=0.05)
        with torch.no_grad():
            self.item_table.weight[0].zero_()

    def sparse_parameters(self):
        return [self.item_table.weight, self.user_table.weight, self.brand_table.weight]

    def dense_parameters(self):
        sparse = {id(p) for p in self.sparse_parameters()}
        return [p for p in self.parameters() if id(p) not in sparse]

    def items(self, idx):
        feats = [self.item_table(idx), self.category_table(self.item_category[idx]),
                 self.brand_table(self.item_brand[idx]), self.item_price[idx].unsqueeze(-1)]
        return F.normalize(self.item_mlp(torch.cat(feats, dim=-1)), dim=-1)

    def users(self, user, country, hist):
        mask = (hist > 0).unsqueeze(-1).float()
        taste = (self.item_table(hist) * mask).sum(1) / mask.sum(1).clamp(min=1.0)
        feats = [self.user_table(user), self.country_table(country), taste]
        return F.normalize(self.user_mlp(torch.cat(feats, dim=-1)), dim=-1)
