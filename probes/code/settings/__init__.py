"""Checks of the settings that scripts define for themselves."""
