"""A training program rehearsed: gone through in the order of time, on objects that stand for the real ones.

A machine of our own goes through the program's statements: three rounds of epochs, a few batches each.
Networks, optimizers, loaders and tensors are objects that know what was done to them, and a journal keeps
what happened: which rows a network was asked of and in which mode, what a gradient was taken of and which
weights a step moved, what was saved, restored and told. Nothing of the program is executed, and nothing is
imported. What is not understood is `Unknown`, and so is all that is made of it.
"""
