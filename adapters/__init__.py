"""One platform each. They know only the promises in `hermes`."""
