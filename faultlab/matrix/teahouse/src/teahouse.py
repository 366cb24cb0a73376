# Which tea will a guest order next? Matrix factorisation with a pairwise loss, manual batches, no loaders.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

TOPK = 10
DIM = 32
BATCH = 512
EPOCHS = 30
CHUNK = 100

torch.manual_seed(21)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

orders = torch.load("orders.pt")            # int64 [n, 3]: guest, tea, day
n_guests = int(orders[:, 0].max()) + 1
n_teas = int(orders[:, 1].max()) + 1
orders = orders[orders[:, 2].argsort()]

# last order of each guest: test; last but one: validation
train_rows = []
valid_tea = torch.full((n_guests,), -1, dtype=torch.long)
test_tea = torch.full((n_guests,), -1, dtype=torch.long)
history = [[] for _ in range(n_guests)]
for r in range(orders.size(0)):
    history[int(orders[r, 0])].append(int(orders[r, 1]))
seen = torch.zeros(n_guests, n_teas, dtype=torch.bool)
for g in range(n_guests):
    if len(history[g]) < 3:
        past = history[g]
    else:
        past = history[g][:-2]
        valid_tea[g] = history[g][-2]
        test_tea[g] = history[g][-1]
    for t in past:
        train_rows.append((g, t))
        seen[g, t] = True
train_rows = torch.tensor(train_rows)
n_train = train_rows.size(0)


class Taste(nn.Module):
    def __init__(self):
        super(Taste, self).__init__()
        self.guest = nn.Embedding(n_guests, DIM)
        self.tea = nn.Embedding(n_teas, DIM)
        self.bias = nn.Embedding(n_teas, 1)
        self.drop = nn.Dropout(0.2)
        nn.init.normal_(self.guest.weight, std=0.05)
        nn.init.normal_(self.tea.weight, std=0.05)
        nn.init.zeros_(self.bias.weight)

    def forward(self, g, t):
        return (self.drop(self.guest(g)) * self.tea(t)).sum(1) + self.bias(t).squeeze(1)

    def all_scores(self, g):
        return self.drop(self.guest(g)) @ self.tea.weight.t() + self.bias.weight.t()


model = Taste().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-6)


def evaluate(wanted):
    model.eval()
    hits = 0.0
    gain = 0.0
    recip = 0.0
    count = 0
    guests = torch.nonzero(wanted >= 0).squeeze(1)
    with torch.no_grad():
        for start in range(0, guests.size(0), CHUNK):
            g = guests[start:start + CHUNK]
            scores = model.all_scores(g.to(device)).cpu()
            w = wanted[g]
            old = seen[g].clone()
            old[torch.arange(g.size(0)), w] = False
            scores[old] = -1e9
            own = scores[torch.arange(g.size(0)), w]
            rank = (scores > own.unsqueeze(1)).sum(1)
            for j in range(g.size(0)):
                r = int(rank[j])
                if r < TOPK:
                    hits += 1.0
                    gain += 1.0 / math.log2(r + 2)
                recip += 1.0 / (r + 1)
            count += g.size(0)
    return hits / count, gain / count, recip / count


best_gain = 0.0
for epoch in range(EPOCHS):
    model.train()
    order = torch.randperm(n_train)
    total = 0.0
    for start in range(0, n_train, BATCH):
        rows = train_rows[order[start:start + BATCH]]
        g = rows[:, 0]
        pos = rows[:, 1]
        neg = torch.randint(0, n_teas, (g.size(0),))
        again = seen[g, neg]
        neg[again] = torch.randint(0, n_teas, (int(again.sum()),))
        g, pos, neg = g.to(device), pos.to(device), neg.to(device)
        loss = -F.logsigmoid(model(g, pos) - model(g, neg)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * g.size(0)
    hit, ndcg, mrr = evaluate(valid_tea)
    if ndcg > best_gain:
        best_gain = ndcg
        torch.save(model.state_dict(), "taste_best.pt")
    print("epoch %d loss %.4f hit@%d %.4f ndcg %.4f mrr %.4f" % (epoch, total / n_train, TOPK, hit, ndcg, mrr))

model.load_state_dict(torch.load("taste_best.pt"))
hit, ndcg, mrr = evaluate(test_tea)
print("test hit@%d %.4f ndcg %.4f mrr %.4f" % (TOPK, hit, ndcg, mrr))
