"""Webhooks: signed POSTs of other systems become prompts."""
