"""What a file is, by its content, and what it says. They know only the promises in `hermes`."""
