"""Which addresses are Slack's: only there goes what is meant for Slack. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["host_of", "is_slacks"]

_DOMAINS = ("slack.com", "slack-edge.com", "slack-files.com", "slack-gov.com")


def is_slacks(url: str, base_url: str) -> bool:
    """Whether an address belongs to the server of `base_url`, or is one of Slack's own, by https."""
    try:
        parts, own = urlsplit(url), urlsplit(base_url)
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError:
        return False
    if "@" in parts.netloc or "\\" in url:  # where programs differ in what they take for the host
        return False
    if parts.scheme == own.scheme and parts.netloc == own.netloc:
        return True
    if parts.scheme != "https" or port not in (None, 443):
        return False
    return any(host == domain or host.endswith(f".{domain}") for domain in _DOMAINS)


def host_of(url: str) -> str:
    """The host, for people; `?` where there is none."""
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"
