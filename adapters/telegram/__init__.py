"""Telegram: the Bot API by long polling. What is promised to users stands in docs/telegram.md.

Nothing is imported here, so that the settings can be read without the SDK.
"""
