import torch

from managers import DataManager, Evaluator, Network, Trainer


class Application:
    def __init__(self, root, epochs=25):
        self.m_data = DataManager(root)
        self.m_data.load()
        self.m_network = Network(self.m_data.getChannels(), self.m_data.getClassCount())
        self.m_trainer = Trainer(self.m_network, self.m_data)
        self.m_evaluator = Evaluator(self.m_network)
        self.m_epochs = epochs
        self.m_bestScore = -1.0

    def run(self):
        for epoch in range(self.m_epochs):
            loss = self.m_trainer.trainEpoch()
            score = self.m_evaluator.evaluate(self.m_data.getValidationLoader())
            print("epoch %d loss %.4f validation %.4f" % (epoch, loss, score))
            if score > self.m_bestScore:
                self.m_bestScore = score
                torch.save(self.m_network.state_dict(), "best.pt")
        self.m_network.load_state_dict(torch.load("best.pt"))
        print("test %.4f" % self.m_evaluator.evaluate(self.m_data.getTestLoader()))


if __name__ == "__main__":
    torch.manual_seed(11)
    Application("recordings").run()
