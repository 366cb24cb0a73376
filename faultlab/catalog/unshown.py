"""Causes that no training on this CPU can show honestly, and why. quality.py prints them."""

NOT_SHOWN = {
    "environment.incompatible": "needs a device whose driver and library do not fit but compute",
}
