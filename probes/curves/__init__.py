"""The logged course of one run, judged without a benchmark: losses, metrics, gradients, rates, loss scale."""
