"""Cut Slack's description of its Web API down to the methods that the peer offers.

Run as `python -m tests.oracles.extract_slack slack_web_openapi_v2.json tests/oracles/slack-web-api.json`. Of each
method stay its verb, its parameters (type, whether required) and the errors that it names.
"""

import json
import sys
from pathlib import Path
from typing import Any

METHODS = (
    "auth.test",
    "bots.info",
    "chat.postMessage",
    "chat.update",
    "conversations.history",
    "conversations.info",
    "conversations.open",
    "conversations.replies",
    "files.info",
    "reactions.add",
    "users.conversations",
    "users.info",
)


def method(path: dict[str, Any]) -> dict[str, Any]:
    """One method as `{"verb", "parameters": {name: {"type", "required"}}, "errors"}`."""
    ((verb, described),) = path.items()
    parameters = {
        p["name"]: {"type": p["type"], "required": bool(p.get("required", False))}
        for p in described.get("parameters", ())
        if p["name"] != "token"
    }
    failed = described["responses"]["default"]["schema"].get("properties", {})
    return {"verb": verb, "parameters": parameters, "errors": sorted(failed.get("error", {}).get("enum", ()))}


def extract(description: dict[str, Any]) -> dict[str, Any]:
    """`{"source", "methods"}`."""
    return {
        "source": f"slackapi/slack-api-specs {description['info']['version']}",
        "methods": {name: method(description["paths"][f"/{name}"]) for name in METHODS},
    }


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(
        json.dumps(extract(whole), indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
