"""The fault lab: real training runs with one injected fault each, and the score over them."""
