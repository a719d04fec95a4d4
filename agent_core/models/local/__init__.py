"""The embedded model: a small one for a machine without any key, in a child process of its own.

`serve` is the child, `child` starts one, `supervise` keeps one alive while it is needed, `profile` shortens
what it is asked, `model` is the `hermes.model.Model` over all that. Nothing here is imported unless chosen.
"""
