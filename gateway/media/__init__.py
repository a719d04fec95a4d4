"""Files in the home: how they come in, where they lie, how long they stay."""
