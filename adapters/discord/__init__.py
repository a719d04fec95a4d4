"""Discord: the gateway over a WebSocket, everything else over REST. What is promised to users stands in docs/discord.md.

Nothing is imported here, so that the settings can be read without the SDK.
"""
