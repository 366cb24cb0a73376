# ruff: noqa: E501
"""Autoencoders, variational ones, adversarial and diffusion nets, as PyTorch's guides write them."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import os
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torchvision.utils as vutils
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
torch.manual_seed(999)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
nz, ngf, ndf, nc, T = 100, 64, 64, 1, 300
"""
DATA = (
    """dataset = datasets.MNIST('../data', train=True, download=True, transform=transforms.ToTensor())
loader = DataLoader(dataset, batch_size=128, shuffle=True)
test_loader = DataLoader(datasets.MNIST('../data', train=False, transform=transforms.ToTensor()), batch_size=128)""",
    """tf = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64), transforms.Grayscale(), transforms.ToTensor()])
full = datasets.ImageFolder('celeba', transform=tf)
n_test = len(full) // 10
train_part, test_part = torch.utils.data.random_split(full, [len(full) - n_test, n_test])
loader = DataLoader(train_part, batch_size=64, shuffle=True, num_workers=2, drop_last=True)
test_loader = DataLoader(test_part, batch_size=64)""",
)
KIND = (
    """class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.LazyLinear(400)
        self.fc21 = nn.Linear(400, 20)
        self.fc22 = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, SIZE)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, SIZE))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, SIZE), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(loader):
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print('====> Epoch: {} Average loss: {:.4f}'.format(epoch, train_loss / len(loader.dataset)))


def test(epoch):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for data, _ in test_loader:
            data = data.to(device)
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar).item()
    print('====> Test set loss: {:.4f}'.format(test_loss / len(test_loader.dataset)))


for epoch in range(1, 11):
    train(epoch)
    test(epoch)
    with torch.no_grad():
        sample = model.decode(torch.randn(64, 20).to(device)).cpu()""",
    """class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(SIZE, 128), nn.ReLU(), nn.Linear(128, 32))
        self.decoder = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, SIZE), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = AE().to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
for epoch in range(20):
    model.train()
    total = 0.0
    for img, _ in loader:
        img = img.to(device)
        noisy = (img + 0.3 * torch.randn_like(img)).clamp(0.0, 1.0)
        output = model(noisy)
        loss = criterion(output, img.flatten(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * img.size(0)
    print(f'epoch [{epoch + 1}/20], loss:{total / len(loader.dataset):.4f}')
model.eval()
with torch.no_grad():
    held = sum(criterion(model(x.to(device)), x.to(device).flatten(1)).item() * len(x) for x, _ in test_loader)
print('reconstruction error', held / len(test_loader.dataset))""",
    """def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find('BatchNorm') != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False), nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(ndf * 2, 1, 1), nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input)


netG = Generator().to(device)
netG.apply(weights_init)
netD = Discriminator().to(device)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(64, nz, 1, 1, device=device)
real_label, fake_label = 1.0, 0.0
optimizerD = optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
for epoch in range(5):
    for i, data in enumerate(loader, 0):
        netD.zero_grad()
        real_cpu = data[0].to(device) * 2 - 1
        b_size = real_cpu.size(0)
        label = torch.full((b_size,), real_label, dtype=torch.float, device=device)
        output = netD(real_cpu).view(-1)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()
        noise = torch.randn(b_size, nz, 1, 1, device=device)
        fake = netG(noise)
        label.fill_(fake_label)
        output = netD(fake.detach()).view(-1)
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()
        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake).view(-1)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()
        if i % 50 == 0:
            print('[%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f' % (epoch, i, errD.item(), errG.item(), D_x))
    with torch.no_grad():
        grid = vutils.make_grid(netG(fixed_noise).detach().cpu(), padding=2, normalize=True)""",
    """generator = nn.Sequential(nn.Linear(nz, 256), nn.LeakyReLU(0.2), nn.BatchNorm1d(256), nn.Linear(256, SIZE), nn.Sigmoid()).to(device)
critic = nn.Sequential(nn.Flatten(), nn.Linear(SIZE, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1)).to(device)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
LAMBDA, N_CRITIC = 10, 5


def gradient_penalty(real, fake):
    alpha = torch.rand(real.size(0), 1, device=device)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(mixed)
    grads = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True, retain_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


for epoch in range(50):
    for i, (images, _) in enumerate(loader):
        real = images.to(device).flatten(1)
        fake = generator(torch.randn(real.size(0), nz, device=device))
        loss_c = critic(fake.detach()).mean() - critic(real).mean() + LAMBDA * gradient_penalty(real, fake.detach())
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        if i % N_CRITIC == 0:
            loss_g = -critic(generator(torch.randn(real.size(0), nz, device=device))).mean()
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
    print(f'epoch {epoch}: critic {loss_c.item():.4f} generator {loss_g.item():.4f}')""",
    """betas = torch.linspace(1e-4, 0.02, T, device=device)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.time = nn.Sequential(nn.Embedding(T, ch), nn.Linear(ch, ch), nn.SiLU())
        self.inp = nn.Conv2d(nc, ch, 3, padding=1)
        self.mid = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, nc, 3, padding=1))

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)[:, :, None, None]
        h = h + self.mid(h)
        return self.out(h)


def q_sample(x0, t, noise):
    a = alphas_cumprod[t].view(-1, 1, 1, 1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


model = Denoiser().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
for epoch in range(20):
    for step, (x, _) in enumerate(loader):
        x = x.to(device) * 2 - 1
        t = torch.randint(0, T, (x.size(0),), device=device)
        noise = torch.randn_like(x)
        loss = F.mse_loss(model(q_sample(x, t, noise), t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())


@torch.no_grad()
def sample(n):
    model.eval()
    x = torch.randn(n, nc, 28, 28, device=device)
    for i in reversed(range(T)):
        t = torch.full((n,), i, device=device, dtype=torch.long)
        eps = model(x, t)
        x = (x - betas[i] / (1 - alphas_cumprod[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x""",
    """class VectorQuantizer(nn.Module):
    def __init__(self, num=512, dim=64, beta=0.25):
        super().__init__()
        self.beta = beta
        self.embedding = nn.Embedding(num, dim)
        self.embedding.weight.data.uniform_(-1 / num, 1 / num)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embedding.weight.t() + self.embedding.weight.pow(2).sum(1)
        idx = dist.argmin(1)
        q = self.embedding(idx).view(z.size(0), z.size(2), z.size(3), -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(q.detach(), z)
        q = z + (q - z).detach()
        return q, loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(nc, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1))
        self.vq = VectorQuantizer()
        self.dec = nn.Sequential(nn.ConvTranspose2d(64, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, nc, 3, padding=1))

    def forward(self, x):
        q, vq_loss = self.vq(self.enc(x))
        return self.dec(q), vq_loss


model = VQVAE().to(device)
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
for epoch in range(30):
    model.train()
    for x, _ in loader:
        x = x.to(device)
        recon, vq_loss = model(x)
        recon_loss = F.mse_loss(recon, x)
        loss = recon_loss + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f'{epoch} recon {recon_loss.item():.4f} vq {vq_loss.item():.4f}')""",
)
END = ("", "\ntorch.save({'epoch': epoch}, 'last.pt')", "\nos.makedirs('results', exist_ok=True)")


def write(choice: Choice) -> str | None:
    """The program of one choice."""
    data, kind, end = choice
    size = "784" if data == 0 else "4096"
    return (HEAD + DATA[data] + "\n" + KIND[kind] + END[end] + "\n").replace("SIZE", size)


BOOK = Book("generative", tuple(map(len, (DATA, KIND, END))), write)
