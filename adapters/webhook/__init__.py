"""Webhooks: signed POSTs of other systems become prompts."""

from adapters.webhook.adapter import build

__all__ = ["build"]
