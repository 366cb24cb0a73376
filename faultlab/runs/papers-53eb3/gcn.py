# semi-supervised node classification, Kipf & Welling style
import torch
import torch.nn as nn
import torch.nn.functional as F

from data import citation_graph, glorot, normalize_adj, row_normalize

torch.set_num_threads(1)

HID = 32
LR = 0.03
WD = 1e-3
DROP = 0.5
EPOCHS = 150
SEED = 7


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = nn.Parameter(glorot(d_in, d_out))
        self.b = nn.Parameter(torch.zeros(d_out))

    def forward(self, A, h):
        return torch.sparse.mm(A, h @ self.W) + self.b


class GCN(nn.Module):
    def __init__(self, d_in, d_hid, n_cls):
        super().__init__()
        self.gc1 = GraphConv(d_in, d_hid)
        self.gc2 = GraphConv(d_hid, n_cls)

    def forward(self, A, x):
        x = F.dropout(x, DROP, training=self.training)
        h = F.relu(self.gc1(A, x))
        h = F.dropout(h, DROP, training=self.training)
        return F.log_softmax(self.gc2(A, h), dim=1)


def acc(out, y):
    return (out.argmax(1) == y).float().mean().item()


torch.manual_seed(SEED)
x, y, edge_index, (tr, va, te) = citation_graph(seed=SEED)
A = normalize_adj(edge_index, x.size(0))
x = row_normalize(x)
n_cls = int(y.max()) + 1

net = GCN(x.size(1), HID, n_cls)
opt = torch.optim.Adam(net.parameters(), lr=LR, weight_decay=WD)
print(net)
print(f"nodes {x.size(0)}  edges {edge_index.size(1)}  train {int(tr.sum())}  val {int(va.sum())}  test {int(te.sum())}")

for epoch in range(1, EPOCHS + 1):
    net.train()
    out = net(A, x)
    loss = F.nll_loss(out[tr], y[tr])
    loss.backward()
    opt.step()

    net.eval()
    with torch.no_grad():
        out = net(A, x)
        val_loss = F.nll_loss(out[va], y[va])
        tr_acc, va_acc = acc(out[tr], y[tr]), acc(out[va], y[va])
    if epoch == 1 or epoch % 5 == 0:
        print(
            f"Epoch: {epoch:03d}, loss: {loss.item():.4f}, val loss: {val_loss.item():.4f}, "
            f"train acc: {tr_acc:.4f}, val acc: {va_acc:.4f}"
        )

net.eval()
with torch.no_grad():
    out = net(A, x)
print(f"test acc: {acc(out[te], y[te]):.4f}")
