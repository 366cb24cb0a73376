"""Methods that a script writes out by hand, held against their formulas."""
