"""Clients of language models.

Requests, streams, errors and token figures, for the wire protocols that providers speak.
"""
