"""traindoctor: tells why a model does not train as it should."""

__version__ = "0.1.0"
__all__ = ["__version__"]
