from typing import Any, Callable, Dict


class Registry:
    def __init__(self, name: str):
        self.name = name
        self._items: Dict[str, Callable] = {}

    def register(self, cls):
        if cls.__name__ in self._items:
            raise KeyError(f"{cls.__name__} is already in {self.name}")
        self._items[cls.__name__] = cls
        return cls

    def build(self, cfg: Dict[str, Any], **extra):
        kwargs = dict(cfg, **extra)
        kind = kwargs.pop("type")
        if kind not in self._items:
            raise KeyError(f"no {kind} in {self.name}, there are {sorted(self._items)}")
        return self._items[kind](**kwargs)


DATASETS = Registry("datasets")
TRANSFORMS = Registry("transforms")
MODELS = Registry("models")
LOSSES = Registry("losses")
HOOKS = Registry("hooks")
