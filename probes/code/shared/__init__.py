"""What all checks of scripts share: saying what was found, sides, roles of names, loops, units."""
