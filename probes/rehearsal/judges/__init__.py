"""What a rehearsal shows: each judge reads a journal and gives verdicts, only where all that it rests on is known."""
