"""Handing a mail over by SMTP: aiosmtplib. Only this file knows it; errors that leave it are ours.

Source: https://www.rfc-editor.org/rfc/rfc5321 and https://www.rfc-editor.org/rfc/rfc6409 . Until the server has asked
for the content (354) nothing was taken, whatever happens; between the content's end and its answer nobody knows.
One connection a mail: a kept one is closed by the server just when it is needed.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPResponseException,
)
from aiosmtplib.errors import SMTPConnectError, SMTPConnectResponseError, SMTPHeloError

from adapters.email.render import Envelope
from adapters.email.settings import Server
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable

__all__ = ["Login", "submit"]

_QUOTA = ("5.4.5", "SubmissionQuotaExceeded")
"""How Gmail and Microsoft say with 5yz that a day's mails are used up: it passes."""
_CONTENT = 20.0
"""Times the usual wait, for the answer to the content: RFC 5321, section 4.5.3.2.6, says ten minutes."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user with a password or an access token."""

    user: str
    secret: str
    is_token: bool = False


async def submit(
    server: Server, context: ssl.SSLContext | None, login: Login, envelope: Envelope | None
) -> str | None:
    """Hand a mail over; without one only log in. Recipients that were refused beside others are returned as a note.

    Raises `Unauthorized`, `Unreachable`, `NotTaken`, `Rejected`, `OutcomeUnknown`.
    """
    smtp = SMTP(
        hostname=server.host,
        port=server.port_for("smtp"),
        use_tls=server.tls == "implicit",
        start_tls=server.tls == "starttls",
        tls_context=context,
        timeout=server.timeout,
        local_hostname="localhost",
    )
    try:
        with _before_content("connect", server.host):
            await smtp.connect()
            await _log_in(smtp, login)
        if envelope is None:
            return None
        with _before_content("take the mail", server.host):
            refused = await _announce(smtp, envelope)
        await _hand_over(smtp, envelope.content, server.timeout * _CONTENT)
        return f"not sent to {', '.join(refused)}" if refused else None
    finally:
        smtp.close()


async def _log_in(smtp: SMTP, login: Login) -> None:
    await smtp.ehlo()
    if not smtp.supported_auth_methods:
        raise Unauthorized("The SMTP server takes no login on this port; check smtp.port and smtp.tls.")
    if login.is_token:
        await smtp.auth_xoauth2(login.user, login.secret)
    else:
        await smtp.login(login.user, login.secret)


async def _announce(smtp: SMTP, envelope: Envelope) -> list[str]:
    """MAIL and RCPT; those that were refused, when others were not."""
    await smtp.mail(envelope.sender)
    errors: dict[str, SMTPRecipientRefused] = {}
    for recipient in envelope.recipients:
        try:
            await smtp.rcpt(recipient)
        except SMTPRecipientRefused as e:
            errors[recipient] = e
    if len(errors) == len(envelope.recipients):
        raise errors[envelope.recipients[0]]
    return list(errors)


async def _hand_over(smtp: SMTP, content: bytes, seconds: float) -> None:
    try:
        await smtp.data(content, timeout=seconds)
    except SMTPResponseException as e:
        raise _refusal("the content", e) from e
    except (SMTPException, OSError) as e:
        raise OutcomeUnknown(f"The SMTP server's answer to the mail was lost: {type(e).__name__}.") from e
    with suppress(SMTPException, OSError):
        await smtp.quit(timeout=2.0)


@contextmanager
def _before_content(what: str, host: str) -> Iterator[None]:
    """Errors while nothing of the mail was sent."""
    try:
        yield
    except SMTPAuthenticationError as e:
        if e.code // 100 == 4:
            raise Unreachable(f"The SMTP server takes no login now ({e.code} {e.message[:200]}).") from e
        raise Unauthorized(
            f"The SMTP server refused the login ({e.code} {e.message[:200]}). Check the address and the password: "
            "many providers want an app password, and SMTP switched on in their settings."
        ) from e
    except (SMTPConnectResponseError, SMTPHeloError) as e:
        raise NotTaken(f"The SMTP server is not ready ({e.code} {e.message[:200]}).") from e
    except SMTPResponseException as e:
        raise _refusal("the mail", e) from e
    except SMTPConnectError as e:
        raise Unreachable(f"The SMTP server {host} cannot be reached: {_why(e)}") from e
    except (SMTPException, OSError, ValueError) as e:
        raise Unreachable(f"The SMTP server {host} could not {what}: {_why(e)}") from e


def _why(error: BaseException) -> str:
    """The innermost words: a certificate that is not trusted is said as that."""
    inner = error.__cause__
    if isinstance(inner, ssl.SSLError):
        return f"TLS failed: {inner}"[:300]
    return f"{error}"[:300] or type(error).__name__


def _refusal(what: str, error: SMTPResponseException) -> AdapterError:
    """4yz may be tried again, 5yz not: RFC 5321, section 4.2.1."""
    text = f"The SMTP server refused {what} ({error.code} {' '.join(error.message.split())[:300]})."
    if error.code in (530, 534, 535):
        return Unauthorized(text)
    passes = error.code // 100 == 4 or any(word in error.message for word in _QUOTA)
    return NotTaken(text) if passes else Rejected(text)
