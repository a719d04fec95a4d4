"""The terminal: `hermes chat` over the control socket."""
