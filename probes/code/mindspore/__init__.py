"""MindSpore in scripts: steps, cells, graph mode, pipelines."""
