"""Cut Discord's OpenAPI description down to the bodies of the calls that the Discord peer knows.

Run as `python -m tests.oracles.extract_discord discord-openapi.json tests/oracles/discord-api.json`. Prose and vendor
extensions are dropped, all else stays.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.oracles.extract import closure, plain, referred

CALLS = (
    ("post", "/channels/{channel_id}/messages"),
    ("patch", "/channels/{channel_id}/messages/{message_id}"),
    ("post", "/channels/{channel_id}/messages/{message_id}/threads"),
    ("post", "/users/@me/channels"),
    ("put", "/applications/{application_id}/commands"),
    ("post", "/interactions/{interaction_id}/{interaction_token}/callback"),
    ("patch", "/webhooks/{webhook_id}/{webhook_token}/messages/@original"),
)


def file_parts(form: Any) -> list[str]:
    """Names of the parts of a form that are files, wherever they stand in its schema."""
    if isinstance(form, list):
        return [name for inner in form for name in file_parts(inner)]
    if not isinstance(form, dict):
        return []
    own = [k for k, v in form.get("properties", {}).items() if v.get("contentEncoding") == "binary"]
    return own + [name for key, inner in form.items() if key != "properties" for name in file_parts(inner)]


def extract(description: dict[str, Any]) -> dict[str, Any]:
    """`{"source", "bodies": {"POST /path": schema}, "files": {"POST /path": part names}, "components": {"schemas"}}`."""
    bodies, files = {}, {}
    for method, path in CALLS:
        content = description["paths"][path][method]["requestBody"]["content"]
        name = f"{method.upper()} {path}"
        bodies[name] = plain(content["application/json"]["schema"])
        if parts := file_parts(content.get("multipart/form-data", {})):
            files[name] = parts
    schemas = description["components"]["schemas"]
    needed = closure(schemas, tuple(sorted(referred(bodies))))
    return {
        "source": f"discord/discord-api-spec, {description['info']['title']}",
        "bodies": bodies,
        "files": files,
        "components": {"schemas": {name: plain(schemas[name]) for name in needed}},
    }


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(
        json.dumps(extract(whole), indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
