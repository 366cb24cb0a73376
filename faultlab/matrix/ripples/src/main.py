from __future__ import print_function
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torch.utils.data as data
from torch.autograd import Variable

parser = argparse.ArgumentParser(description='VAE of sand ripples')
parser.add_argument('--batchSize', type=int, default=64)
parser.add_argument('--niter', type=int, default=40)
parser.add_argument('--nz', type=int, default=24)
parser.add_argument('--lr', type=float, default=1e-3)
parser.add_argument('--warm', type=int, default=10, help='epochs until the divergence has its full weight')
parser.add_argument('--adv', type=float, default=2.0)
parser.add_argument('--cuda', action='store_true')
opt = parser.parse_args()
torch.manual_seed(1)
if opt.cuda:
    torch.cuda.manual_seed(1)

pics = np.load('ripples.npy').astype(np.float32) / 255.0   # N x 32 x 32, grey
pics = torch.from_numpy(pics).view(-1, 1024)
cut = len(pics) * 9 // 10
train_loader = data.DataLoader(data.TensorDataset(pics[:cut]), batch_size=opt.batchSize, shuffle=True)
test_loader = data.DataLoader(data.TensorDataset(pics[cut:]), batch_size=opt.batchSize)


class VAE(nn.Module):
    def __init__(self, nz):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(1024, 400)
        self.fc21 = nn.Linear(400, nz)
        self.fc22 = nn.Linear(400, nz)
        self.fc3 = nn.Linear(nz, 400)
        self.fc4 = nn.Linear(400, 1024)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparametrize(self, mu, logvar):
        std = logvar.mul(0.5).exp_()
        eps = Variable(std.data.new(std.size()).normal_())
        return eps.mul(std).add_(mu)

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return F.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparametrize(mu, logvar)), mu, logvar


class Judge(nn.Module):
    def __init__(self):
        super(Judge, self).__init__()
        self.main = nn.Sequential(nn.Linear(1024, 200), nn.LeakyReLU(0.2), nn.Linear(200, 1))

    def forward(self, x):
        return self.main(x).view(-1)


netV, netD = VAE(opt.nz), Judge()
if opt.cuda:
    netV.cuda()
    netD.cuda()
optimizerV = optim.Adam(netV.parameters(), lr=opt.lr)
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr * 0.5, betas=(0.5, 0.999))
criterionD = nn.BCEWithLogitsLoss()


def loss_function(recon_x, x, mu, logvar, beta):
    BCE = F.binary_cross_entropy(recon_x, x, size_average=False)
    # Kingma and Welling, appendix B: 0.5 * sum(1 + log(sigma^2) - mu^2 - sigma^2)
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (BCE + beta * KLD) / x.size(0)


for epoch in range(opt.niter):
    netV.train()
    beta = min(1.0, float(epoch) / opt.warm)
    total = 0.0
    for i, (batch,) in enumerate(train_loader):
        if opt.cuda:
            batch = batch.cuda()
        x = Variable(batch)
        recon, mu, logvar = netV(x)
        ones = Variable(x.data.new(x.size(0)).fill_(1))
        zeros = Variable(x.data.new(x.size(0)).fill_(0))

        # the judge
        netD.zero_grad()
        errReal = criterionD(netD(x), ones)
        errFake = criterionD(netD(recon.detach()), zeros)
        errD = errReal + errFake
        errD.backward()
        optimizerD.step()

        # the autoencoder
        netV.zero_grad()
        errV = loss_function(recon, x, mu, logvar, beta)
        errG = criterionD(netD(recon), ones)
        errT = errV + opt.adv * errG
        errT.backward()
        optimizerV.step()
        total += errV.data.item()
    netV.eval()
    held = 0.0
    for (batch,) in test_loader:
        x = Variable(batch.cuda() if opt.cuda else batch)
        recon, mu, logvar = netV(x)
        held += loss_function(recon, x, mu, logvar, 1.0).data.item() * x.size(0)
    print('[%d/%d] train %.3f held out %.3f' % (epoch, opt.niter, total / len(train_loader), held / (len(pics) - cut)))
    torch.save(netV.state_dict(), 'vae.pth')
