"""TensorFlow and Keras in scripts: sessions, graphs, tapes, pipelines, compiled models."""
