"""The parts of the text-log reader: lines, the shapes of lines, columns, events, settings."""
