"""What the agent can do. They know only the promises in `hermes`."""
