"""Training and evaluation mode in scripts: of loops, of single layers, while a model is scored."""
