"""One Markdown tree, many flavours.

The agent writes plain Markdown. `tree` parses it once into a small tree, `flat` writes a tree as text with
marked stretches, `entities` turns those into messages whose offsets count UTF-16 units, `plain` drops the
marks, `split` cuts long text. Everything here is pure: no socket, no disk, no clock.
"""
