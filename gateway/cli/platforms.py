"""`hermes gateway add|remove`: a platform is set up, asked whether it holds, and written."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.consent import ensure_agreed
from gateway.cli.examples import api_example, webhook_example
from gateway.cli.loop import run
from gateway.cli.mail import MailWish, mail_values
from gateway.cli.output import AsJson, print_json
from gateway.cli.piped import piped, piped_secret
from gateway.config.editing import Addition
from gateway.control_client import running_daemon
from hermes.errors import ConfigError, HermesError, NotTaken, Unreachable
from hermes.home import Home, default_home

__all__ = ["add", "remove"]

GENERATE = "generate"
_DEFAULT_PROMPT = "{{ payload.text }}"


@dataclass(frozen=True, slots=True)
class _Wish:
    """The command's options as they were given."""

    name: str
    secret: str | None
    allow: tuple[str, ...]
    base_url: str | None
    route: str | None
    scheme: str
    prompt: str | None
    deliver: tuple[str, ...]
    signing_secret: str | None = None
    mail: MailWish = field(default_factory=MailWish)
    gateway_url: str | None = None


@dataclass(frozen=True, slots=True)
class _Set:
    """What will be written, and what is shown once: the secret that was made here."""

    addition: Addition
    made: str | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    example: Callable[[str], str] | None = None


def add(  # noqa: PLR0913, PLR0917  one option each
    kind: Annotated[str, typer.Argument(metavar="telegram|webhook|api|discord|slack|email")],
    name: Annotated[str | None, typer.Option(help="The instance's name; absent: the platform's.")] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="-|FILE", help="telegram, discord, slack: where the token is; `-`: on stdin."),
    ] = None,
    secret: Annotated[
        str, typer.Option(metavar="generate|-|FILE", help="webhook, api: the secret; absent: made here.")
    ] = GENERATE,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="Who may write; absent: pairing codes.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="telegram, discord, slack: where its API is served.")
    ] = None,
    gateway_url: Annotated[str | None, typer.Option(help="discord: where its gateway is served.")] = None,
    route: Annotated[str | None, typer.Option(help="webhook: the route's name.")] = None,
    scheme: Annotated[str, typer.Option(help="webhook: hmac, github, gitlab or standard.")] = "hmac",
    prompt: Annotated[str | None, typer.Option(help="webhook: the message for the agent.")] = None,
    deliver: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET", help="webhook: where the answer goes, as telegram:1."),
    ] = None,
    signing_secret: Annotated[
        str | None,
        typer.Option(
            metavar="-|FILE", help="slack: where the signing secret is; Slack then calls us by HTTP."
        ),
    ] = None,
    address: Annotated[str | None, typer.Option(help="email: the mailbox's address.")] = None,
    password: Annotated[
        str | None, typer.Option(metavar="-|FILE", help="email: where the password is; `-`: on stdin.")
    ] = None,
    imap: Annotated[
        str | None,
        typer.Option(metavar="HOST[:PORT]", help="email: the server to read from; absent: guessed."),
    ] = None,
    smtp: Annotated[
        str | None, typer.Option(metavar="HOST[:PORT]", help="email: the server to send by; absent: guessed.")
    ] = None,
    ca_file: Annotated[str | None, typer.Option(help="email: certificates (PEM) to trust for both.")] = None,
    authserv_id: Annotated[
        str | None, typer.Option(help="email: your server's name in its Authentication-Results.")
    ] = None,
    trust_from: Annotated[
        bool, typer.Option("--trust-from", help="email: believe what mails say of their sender.")
    ] = False,
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Do not ask the platform.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set a platform up, after asking it whether it takes what is given."""
    from gateway.config.editing import add_platform, tried_platform
    from gateway.home import prepare
    from gateway.wiring import SCHEMA

    makers = {
        "telegram": _telegram,
        "webhook": _webhook,
        "api": _api,
        "discord": _discord,
        "slack": _slack,
        "email": _email,
    }
    if kind not in makers:
        raise ConfigError(f"There is no platform {kind!r} to add; there are {', '.join(makers)}.")
    home = Home(default_home())
    wish = _Wish(
        name or kind,
        token if kind in ("telegram", "discord", "slack") else secret,
        tuple(allow or ()),
        base_url,
        route,
        scheme,
        prompt,
        tuple(deliver or ()),
        signing_secret,
        gateway_url=gateway_url,
    )
    if kind == "email":
        mail = MailWish(address, imap, smtp, ca_file, authserv_id, trust_from)
        wish = replace(wish, secret=password, mail=mail)
    prepare(home)
    taken = _platforms(home)
    ready = makers[kind](wish, taken)
    if wish.name != kind and wish.name not in taken:
        typed = replace(ready.addition, values={("type",): kind, **ready.addition.values})
        ready = replace(ready, addition=typed)
    snapshot = tried_platform(home, SCHEMA, ready.addition, os.environ)
    account, notes = (None, ()) if unchecked else _checked(snapshot, wish.name)
    add_platform(home, SCHEMA, ready.addition, os.environ)
    _tell(home, kind, (wish, ready, snapshot), (account, notes), as_json=as_json)


def _platforms(home: Home) -> Mapping[str, Any]:
    from gateway.config.document import parse
    from gateway.config.loading import read_bytes

    found = parse(read_bytes(home)).values.get("platforms") or {}
    return found if isinstance(found, dict) else {}


def _refuse_taken(wish: _Wish, taken: Mapping[str, Any], secret: str) -> None:
    if wish.name in taken:
        raise ConfigError(
            f"platforms.{wish.name} is set up already. Give it another {secret} with "
            f"`hermes config set platforms.{wish.name}.{secret} -`, or add a second one with --name."
        )


def _telegram(wish: _Wish, taken: Mapping[str, Any]) -> _Set:
    _refuse_taken(wish, taken, "token")
    token = _given(wish.secret, "The bot's token, from @BotFather", "--token -")
    values: dict[tuple[str | int, ...], Any] = {}
    if wish.base_url:
        values["base_url",] = wish.base_url
    if wish.allow:
        values["allow_from",] = list(wish.allow)
    return _Set(Addition(wish.name, values, {("token",): token}))


def _discord(wish: _Wish, taken: Mapping[str, Any]) -> _Set:
    _refuse_taken(wish, taken, "token")
    token = _given(wish.secret, "The bot's token, from discord.com/developers (Bot)", "--token -")
    values: dict[tuple[str | int, ...], Any] = {}
    if wish.base_url:
        values["base_url",] = wish.base_url
    if wish.gateway_url:
        values["gateway_url",] = wish.gateway_url
    if wish.allow:
        values["allow_from",] = list(wish.allow)
    return _Set(Addition(wish.name, values, {("token",): token}))


def _slack(wish: _Wish, taken: Mapping[str, Any]) -> _Set:
    """The two tokens may be piped in together: they are known by how they begin."""
    _refuse_taken(wish, taken, "bot_token")
    question = "The Bot User OAuth Token (xoxb-...)"
    how = "--token - (the app token, xapp-..., on the next line)"
    where = wish.secret
    given = piped(question) if where == "-" else _given(where, question, how)
    hidden: dict[tuple[str | int, ...], str] = {}
    values: dict[tuple[str | int, ...], Any] = {}
    for token in given.split():
        hidden["app_token" if token.startswith("xapp-") else "bot_token",] = token
    if wish.signing_secret is not None:
        values["mode",] = "http"
        hidden["signing_secret",] = _given(wish.signing_secret, "The Signing Secret", "--signing-secret -")
    elif ("app_token",) not in hidden and sys.stdin.isatty():
        hidden["app_token",] = _given(None, "The App-Level Token (xapp-...)", "--token -")
    if wish.base_url:
        values["base_url",] = wish.base_url
    if wish.allow:
        values["allow_from",] = list(wish.allow)
    return _Set(Addition(wish.name, values, hidden))


def _email(wish: _Wish, taken: Mapping[str, Any]) -> _Set:
    _refuse_taken(wish, taken, "password")
    values = mail_values(wish.mail, _prompted)
    password = _given(wish.secret, "Its password (with many providers an app password)", "--password -")
    if wish.allow:
        values["allow_from",] = list(wish.allow)
    return _Set(Addition(wish.name, values, {("password",): password}))


def _api(wish: _Wish, taken: Mapping[str, Any]) -> _Set:
    _refuse_taken(wish, taken, "key")
    key, made = _secret(wish)
    return _Set(Addition(wish.name, {}, {("key",): key}), made, {}, lambda url: api_example(url, key))


def _webhook(wish: _Wish, taken: Mapping[str, Any]) -> _Set:
    route = wish.route or (_prompted("The route's name", "hook"))
    routes = (taken.get(wish.name) or {}).get("routes") or {}
    if route in routes:
        raise ConfigError(f"platforms.{wish.name}.routes.{route} is there already; choose another --route.")
    text = wish.prompt or _prompted("The message for the agent", _DEFAULT_PROMPT)
    key, made = _secret(wish)
    place = ("routes", route)
    values: dict[tuple[str | int, ...], Any] = {(*place, "prompt"): text, (*place, "scheme"): wish.scheme}
    if wish.deliver:
        values[*place, "deliver"] = list(wish.deliver)
    if wish.allow:
        values["allow_from",] = list(wish.allow)
    return _Set(
        Addition(wish.name, values, {(*place, "secret"): key}),
        made,
        {"route": route},
        lambda url: webhook_example(f"{url}/webhooks/{route}", wish.scheme, key),
    )


# --- secrets -------------------------------------------------------------------------------------


def _given(where: str | None, question: str, option: str) -> str:
    if where == "-":
        return piped_secret(question)
    if where is not None:
        return _read(Path(where))
    if not sys.stdin.isatty():
        raise ConfigError(f"{question}: pipe it in, with {option}")
    return str(typer.prompt(f"{question} (not shown)", hide_input=True)).strip()


def _secret(wish: _Wish) -> tuple[str, str | None]:
    """The secret, and the same again when it was made here."""
    if wish.secret not in (None, GENERATE):
        return _given(wish.secret, "The secret", "--secret -"), None
    from base64 import b64encode

    made = (
        f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"
        if wish.scheme == "standard"
        else secrets.token_urlsafe(32)
    )
    return made, made


def _read(path: Path) -> str:
    try:
        return path.expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None


def _prompted(question: str, default: str) -> str:
    return str(typer.prompt(question, default=default)) if sys.stdin.isatty() else default


# --- checking ------------------------------------------------------------------------------------


def _checked(snapshot: Any, name: str) -> tuple[str | None, tuple[str, ...]]:  # noqa: ANN401  see above
    from gateway.wiring import check_account

    try:
        account = run(check_account(snapshot, name))
    except (Unreachable, NotTaken) as error:
        print(f"It could not be checked: {error}", file=sys.stderr)
        if not sys.stdin.isatty():
            raise HermesError("Nothing was written. With --unchecked it is taken as it is.") from None
        if not typer.confirm("Take it all the same?"):
            raise HermesError("Nothing was written.") from None
        return None, ()
    return (None, ()) if account is None else (account.name, account.notes)


# --- telling -------------------------------------------------------------------------------------


def _tell(
    home: Home,
    kind: str,
    what: tuple[_Wish, _Set, Any],
    seen: tuple[str | None, tuple[str, ...]],
    *,
    as_json: bool,
) -> None:
    wish, ready, snapshot = what
    account, notes = seen
    status = running_daemon(home)
    runs = status is not None
    url = _url(snapshot, status)
    example = ready.example(url) if ready.example else None
    if as_json:
        print_json(
            {
                "instance": wish.name,
                "type": kind,
                "account": account,
                "notes": list(notes),
                "secret": ready.made,
                "variables": sorted(ready.addition.variables()),
                "example": example,
                "restart_needed": runs,
                **ready.told,
            }
        )
        return
    print(f"platforms.{wish.name} is set up" + (f": {account} on {kind}." if account else "."))
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)
    if ready.made:
        print(f"Its secret, shown only now (it stands in {home.env}):\n\n    {ready.made}\n")
    if example:
        print(f"Try it, once the daemon has it:\n\n{example}\n")
    print(
        "The daemon takes it up with: hermes gateway restart"
        if runs
        else "Start: hermes gateway run --daemon"
    )


def _url(snapshot: Any, status: Mapping[str, Any] | None) -> str:  # noqa: ANN401  see above
    from gateway.settings import GatewaySettings

    if status and status.get("url"):
        return str(status["url"])
    http = snapshot.get("gateway", GatewaySettings).http
    host = "127.0.0.1" if http.host in ("", "0.0.0.0", "::") else http.host  # noqa: S104  compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{http.port}"


# --- remove --------------------------------------------------------------------------------------


def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `hermes gateway list` shows it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a platform out of the settings, and its secrets out of .env. Conversations stay."""
    from gateway.config.editing import remove_platform
    from gateway.config.problems import unknown
    from gateway.home import check_made, prepare
    from gateway.wiring import SCHEMA

    home = Home(default_home())
    check_made(home)
    prepare(home)
    taken = _platforms(home)
    if name not in taken:
        raise ConfigError(f"{name} {unknown(name, taken, 'platform')}")
    if not yes:
        question = f"Remove {name} and its secrets? Conversations stay."
        ensure_agreed(question, f"Add --yes to remove {name}.")
    removed = remove_platform(home, SCHEMA, name)
    runs = running_daemon(home) is not None
    if as_json:
        print_json({"instance": name, "variables": removed, "restart_needed": runs})
        return
    print(f"{name} is removed" + (f", and {', '.join(removed)} from {home.env}." if removed else "."))
    if runs:
        print("The running daemon has it until: hermes gateway restart")
