"""Functions of a program worked out exactly on made inputs, and held to what their names promise."""
