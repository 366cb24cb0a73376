"""The loss in scripts: what it is given, its sign and reduction, and its way back to the parameters."""
