import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.set_num_threads(1)
torch.manual_seed(42)
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.2, random_state=42)
X_train, X_test = torch.tensor(X_train, dtype=torch.float32), torch.tensor(X_test, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 100)
        self.fc2 = nn.Linear(100, 50)
        self.fc3 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return F.softmax(x, dim=1)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
num_epochs = 40
batch_size = 32
for epoch in range(num_epochs):
    net.train()
    running_loss, correct = 0.0, 0
    permutation = torch.randperm(len(X_train))
    for i in range(0, len(X_train), batch_size):
        idx = permutation[i : i + batch_size]
        optimizer.zero_grad()
        outputs = net(X_train[idx])
        loss = criterion(outputs, y_train[idx])
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * len(idx)
        correct += (outputs.argmax(1) == y_train[idx]).sum().item()
    net.eval()
    with torch.no_grad():
        outputs = net(X_test)
        test_loss = criterion(outputs, y_test).item()
        test_acc = (outputs.argmax(1) == y_test).float().mean().item()
    print(f"Epoch [{epoch + 1}/{num_epochs}], Loss: {running_loss / len(X_train):.4f}, Accuracy: {100 * correct / len(X_train):.2f}%, Test Loss: {test_loss:.4f}, Test Accuracy: {100 * test_acc:.2f}%")
