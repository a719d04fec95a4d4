"""Handing a mail over by SMTP: aiosmtplib. Only this file knows it; errors that leave it are ours.

Source: https://www.rfc-editor.org/rfc/rfc5321 and https://www.rfc-editor.org/rfc/rfc6409 . Until the line that ends the
content is written nothing was taken, whatever happens (section 4.1.1.4); between that line and its answer nobody knows.
One connection a mail: a kept one is closed by the server just when it is needed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPResponseException,
    SMTPServerDisconnected,
)
from aiosmtplib.errors import SMTPConnectError, SMTPConnectResponseError, SMTPHeloError
from aiosmtplib.protocol import SMTPProtocol
from aiosmtplib.status import SMTPStatus

from adapters.email.content import Content, wrapped
from adapters.email.render import Envelope
from adapters.email.settings import Server
from hermes.errors import AdapterError, NotTaken, OutcomeUnknown, Rejected, Unauthorized, Unreachable
from hermes.files import in_words

__all__ = ["Login", "PutOff", "submit"]

_QUOTA = ("5.4.5", "SubmissionQuotaExceeded")
"""How Gmail and Microsoft say with 5yz that a day's mails are used up: it passes."""
_INVITED, _PIECE, _CONTENT = 4.0, 6.0, 20.0
"""Times the usual wait: for the server to ask for the content, for it to take each piece, for its answer to the content.
RFC 5321, section 4.5.3.2, says two, three and ten minutes. How long all pieces take together is not limited."""


class PutOff(NotTaken):
    """One of the recipients is put off, and the caller is patient."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user with a password or an access token."""

    user: str
    secret: str
    is_token: bool = False


async def submit(
    server: Server,
    context: ssl.SSLContext | None,
    login: Login,
    envelope: Envelope | None,
    limit: Callable[[int], None],
    *,
    patient: bool = True,
) -> str | None:
    """Hand a mail over; without one only log in. Recipients that were refused beside others are returned as a note.

    The first recipient is who is answered: without him nobody gets the mail. Whoever else is put off (4yz: greylisting, a
    full mailbox) is waited for as long as the caller is `patient`, and all get it then; after that he is left out.
    limit: is told how many bytes of a mail the server takes, when it says so.

    Raises `Unauthorized`, `Unreachable`, `NotTaken`, `PutOff`, `Rejected`, `OutcomeUnknown`.
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
        most = smtp.esmtp_extensions.get("size", "")
        if most.isdecimal() and int(most) > 0:
            limit(int(most))
        if envelope is None:
            return None
        if most.isdecimal() and 0 < int(most) < envelope.content.size:
            raise Rejected(f"The SMTP server takes no mail over {in_words(int(most))}.")
        with _before_content("take the mail", server.host):
            refused = await _announce(smtp, envelope, patient=patient)
        await _hand_over(smtp, envelope.content, server.timeout)
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


async def _announce(smtp: SMTP, envelope: Envelope, *, patient: bool) -> list[str]:
    """MAIL and RCPT; those that were refused, when the mail goes to others all the same."""
    sized = smtp.supports_extension("size")  # https://www.rfc-editor.org/rfc/rfc1870
    await smtp.mail(envelope.sender, options=[f"SIZE={envelope.content.size}"] if sized else [])
    errors: dict[str, SMTPRecipientRefused] = {}
    for recipient in envelope.recipients:
        try:
            await smtp.rcpt(recipient)
        except SMTPRecipientRefused as e:
            errors[recipient] = e
    if (first := errors.get(envelope.recipients[0])) is not None:
        raise first
    if patient and (waited_for := next((e for e in errors.values() if e.code // 100 == 4), None)) is not None:
        raise PutOff(str(_refusal("a recipient", waited_for)))
    return list(errors)


async def _hand_over(smtp: SMTP, content: Content, wait: float) -> None:
    with _before_content("take the content", str(smtp.hostname)):
        invited = await smtp.execute_command(b"DATA", timeout=wait * _INVITED)
        if invited.code != SMTPStatus.start_input:
            raise SMTPResponseException(invited.code, invited.message)
    try:
        async for piece in content.pieces():
            _protocol(smtp).write(wrapped(piece))
            await _drained(smtp, wait * _PIECE)
        _protocol(smtp).write(b".\r\n")
    except (SMTPException, OSError, TimeoutError) as e:
        raise NotTaken(f"The connection broke within the mail: {type(e).__name__}.") from e
    try:
        await _drained(smtp, wait * _PIECE)
        answer = await _protocol(smtp).read_response(timeout=wait * _CONTENT)
    except (SMTPException, OSError, TimeoutError) as e:
        raise OutcomeUnknown(f"The SMTP server's answer to the mail was lost: {type(e).__name__}.") from e
    if answer.code != SMTPStatus.completed:
        raise _refusal("the content", SMTPResponseException(answer.code, answer.message))
    with suppress(SMTPException, OSError):
        await smtp.quit(timeout=2.0)


async def _drained(smtp: SMTP, seconds: float) -> None:
    """Wait until the connection has room again: a slow one may take its time, a dead one may not."""
    async with asyncio.timeout(seconds):
        await _protocol(smtp)._drain_helper()  # noqa: SLF001  the library writes a mail only as a whole


def _protocol(smtp: SMTP) -> SMTPProtocol:
    if smtp.protocol is None:
        raise SMTPServerDisconnected("Connection lost")
    return smtp.protocol


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
