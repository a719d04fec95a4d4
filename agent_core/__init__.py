"""Thinks: the loop of a turn, models, prompt, store. Knows no platform."""
