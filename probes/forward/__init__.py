"""A program's networks asked on made inputs: their layers worked out by our own hands, in evaluation mode.

Whatever the spelling, what a network answers tells what it does with what it is given: whether one sample
changes another one's answer, whether a position sees what follows it, what no answer depends on.
Nothing of the program is executed, and nothing is trained: weights are drawn.
"""
