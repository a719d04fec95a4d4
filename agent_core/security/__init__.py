"""Text from outside: how it is recognised and how it is marked."""
