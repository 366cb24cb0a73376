import numpy as np
import torch
import torch.nn as nn

N_ENV = 16
N_STEP = 128
N_ITER = 400
N_EPOCH = 4
N_MINI = 8
N_MICRO = 2
N_ACT = 5
N_OBS = 6
GAMMA = 0.99
LAM = 0.95
CLIP = 0.2
C_VALUE = 0.5
C_ENT = 0.01
LR = 2.5e-4


class Ferries:
    """N boats: place, speed and wind in two directions; four thrusts and none."""

    def __init__(self, n, seed):
        self.rng = np.random.RandomState(seed)
        self.n = n
        self.s = np.zeros((n, N_OBS), dtype=np.float32)
        self.t = np.zeros(n, dtype=np.int64)
        for i in range(n):
            self.reset_one(i)

    def reset_one(self, i):
        self.s[i, 0:2] = self.rng.uniform(-1, 1, 2)
        self.s[i, 2:4] = 0.0
        self.s[i, 4:6] = self.rng.uniform(-0.02, 0.02, 2)
        self.t[i] = 0

    def step(self, act):
        push = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], dtype=np.float32)[act] * 0.05
        self.s[:, 2:4] = 0.95 * self.s[:, 2:4] + push + self.s[:, 4:6]
        self.s[:, 0:2] += self.s[:, 2:4]
        self.t += 1
        dist = np.sqrt((self.s[:, 0:2] ** 2).sum(1))
        rew = (-0.1 * dist).astype(np.float32)
        done = (dist < 0.1) | (dist > 2.0) | (self.t >= 200)
        rew[dist < 0.1] += 5.0
        rew[dist > 2.0] -= 5.0
        for i in range(self.n):
            if done[i]:
                self.reset_one(i)
        return self.s.copy(), rew, done.astype(np.float32)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N_OBS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, N_ACT)
        self.v = nn.Linear(64, 1)

    def forward(self, o):
        h = self.body(o)
        return torch.log_softmax(self.pi(h), dim=1), self.v(h)[:, 0]


torch.manual_seed(0)
env = Ferries(N_ENV, 0)
net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=LR, eps=1e-5)
obs = np.zeros((N_STEP, N_ENV, N_OBS), dtype=np.float32)
act = np.zeros((N_STEP, N_ENV), dtype=np.int64)
rew = np.zeros((N_STEP, N_ENV), dtype=np.float32)
end = np.zeros((N_STEP, N_ENV), dtype=np.float32)
val = np.zeros((N_STEP + 1, N_ENV), dtype=np.float32)
old = np.zeros((N_STEP, N_ENV), dtype=np.float32)
adv = np.zeros((N_STEP, N_ENV), dtype=np.float32)
o = env.s.copy()
for it in range(N_ITER):
    for t in range(N_STEP):
        with torch.no_grad():
            lp, v = net(torch.from_numpy(o))
            a = torch.multinomial(lp.exp(), 1)[:, 0]
        obs[t], act[t], val[t] = o, a.numpy(), v.numpy()
        old[t] = lp.gather(1, a[:, None])[:, 0].numpy()
        o, rew[t], end[t] = env.step(act[t])
    with torch.no_grad():
        val[N_STEP] = net(torch.from_numpy(o))[1].numpy()
    last = np.zeros(N_ENV, dtype=np.float32)
    for t in range(N_STEP - 1, -1, -1):
        delta = rew[t] + GAMMA * val[t + 1] * (1 - end[t]) - val[t]
        last = delta + GAMMA * LAM * (1 - end[t]) * last
        adv[t] = last
    ret = adv + val[:N_STEP]

    b_obs = torch.from_numpy(obs.reshape(-1, N_OBS))
    b_act = torch.from_numpy(act.reshape(-1))
    b_old = torch.from_numpy(old.reshape(-1))
    b_adv = torch.from_numpy(adv.reshape(-1))
    b_ret = torch.from_numpy(ret.reshape(-1))
    n = N_STEP * N_ENV
    size = n // N_MINI
    micro = size // N_MICRO
    for ep in range(N_EPOCH):
        perm = torch.randperm(n)
        for k in range(N_MINI):
            opt.zero_grad()
            mb = perm[k * size:(k + 1) * size]
            g = b_adv[mb]
            g = (g - g.mean()) / (g.std() + 1e-8)
            for m in range(N_MICRO):
                lo, hi = m * micro, (m + 1) * micro
                idx = mb[lo:hi]
                lp, v = net(b_obs[idx])
                new = lp.gather(1, b_act[idx][:, None])[:, 0]
                ratio = torch.exp(new - b_old[idx])
                s1 = ratio * g[lo:hi]
                s2 = torch.clamp(ratio, 1 - CLIP, 1 + CLIP) * g[lo:hi]
                l_pi = -torch.min(s1, s2).mean()
                l_v = 0.5 * ((v - b_ret[idx]) ** 2).mean()
                ent = -(lp.exp() * lp).sum(1).mean()
                loss = l_pi + C_VALUE * l_v - C_ENT * ent
                (loss / N_MICRO).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
    print(it, "reward a step %.4f loss %.4f entropy %.3f" % (rew.mean(), loss.item(), ent.item()))
    if it % 50 == 49:
        torch.save(net.state_dict(), "ferry_%03d.pt" % it)
