"""From a run directory to readings: the only folder that measures anything."""
