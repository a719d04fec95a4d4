"""Slack: Socket Mode, or requests to the shared HTTP server. What is promised to users stands in docs/slack.md.

Nothing is imported here, so that the settings can be read without the SDK.
"""
