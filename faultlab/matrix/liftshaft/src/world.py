import random


class ShaftWorld:
    """An elevator takes its waiting guest to a floor; actions: down, stay, up."""

    def __init__(self, floors):
        self.m_floors = floors

    def getInputs(self):
        return 4

    def getOutputs(self):
        return 3

    def reset(self):
        self.m_car = random.randrange(self.m_floors)
        self.m_guest = random.randrange(self.m_floors)
        self.m_goal = random.randrange(self.m_floors)
        self.m_inside = False
        self.m_time = 0
        return self.getState()

    def getState(self):
        top = float(self.m_floors - 1)
        return [self.m_car / top, self.m_guest / top, self.m_goal / top, float(self.m_inside)]

    def step(self, action):
        self.m_car = min(max(self.m_car + action - 1, 0), self.m_floors - 1)
        self.m_time += 1
        if self.m_car == self.m_guest:
            self.m_inside = True
        arrived = self.m_inside and self.m_car == self.m_goal
        reward = 10.0 if arrived else -0.1
        return self.getState(), reward, arrived or self.m_time >= 60
