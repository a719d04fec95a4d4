"""Commands that try a platform which was just set up; they run in a POSIX shell with curl and openssl."""

from __future__ import annotations

import shlex

__all__ = ["api_example", "webhook_example"]

_BODY = '{"text": "hello"}'


def api_example(url: str, key: str) -> str:
    """Ask the HTTP API."""
    body = '{"model": "hermes", "messages": [{"role": "user", "content": "hello"}]}'
    return (
        f"curl -s {url}/v1/chat/completions -H {shlex.quote(f'Authorization: Bearer {key}')} "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )


def webhook_example(url: str, scheme: str, secret: str) -> str:
    """Deliver a signed body to a route, in the way of its scheme."""
    key = shlex.quote(secret)
    sent = f"-H 'Content-Type: application/json' -d \"$body\" {url}"
    match scheme:
        case "gitlab":
            return f"body='{_BODY}'\ncurl -s -H {shlex.quote(f'X-Gitlab-Token: {secret}')} {sent}"
        case "github":
            return (
                f"body='{_BODY}'\n"
                f"sig=$(printf '%s' \"$body\" | openssl dgst -sha256 -hmac {key} -r | cut -d' ' -f1)\n"
                f'curl -s -H "X-Hub-Signature-256: sha256=$sig" {sent}'
            )
        case "standard":
            raw = '$(printf %s "$secret" | sed s/^whsec_// | openssl base64 -d -A | od -An -v -tx1 | tr -d " \\n")'
            return (
                f"secret={key}; id=msg_$(date +%s); ts=$(date +%s); body='{_BODY}'\n"
                f'sig=$(printf \'%s.%s.%s\' "$id" "$ts" "$body" | '
                f"openssl dgst -sha256 -mac HMAC -macopt hexkey:{raw} -binary | openssl base64 -A)\n"
                'curl -s -H "webhook-id: $id" -H "webhook-timestamp: $ts" -H "webhook-signature: v1,$sig" '
                f"{sent}"
            )
        case _:
            return (
                f"ts=$(date +%s); body='{_BODY}'\n"
                f"sig=$(printf '%s.%s' \"$ts\" \"$body\" | openssl dgst -sha256 -hmac {key} -r | cut -d' ' -f1)\n"
                f'curl -s -H "X-Timestamp: $ts" -H "X-Signature: sha256=$sig" {sent}'
            )
