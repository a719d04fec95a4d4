"""The HTTP API: OpenAI's chat completions, so that any program that speaks them can talk to the agent."""
