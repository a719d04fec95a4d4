"""`python -m tests.peers.mail`: Dovecot and the SMTP server until SIGTERM; one line of JSON says where."""

import asyncio
import json
import signal

from tests.peers.mail import Dovecot, SmtpPeer


async def main() -> None:
    """Run both."""
    asked = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, asked.set)
    dovecot = Dovecot()
    smtp = SmtpPeer(dovecot.cert, dovecot.key)
    smtp.relay = dovecot.deliver
    try:
        await asyncio.to_thread(dovecot.start)
        await smtp.start()
        ports = {"imap": dovecot.imap, "imaps": dovecot.imaps, "lmtp": dovecot.lmtp, "smtp": smtp.port}
        print(json.dumps({**ports, "cert": str(dovecot.cert)}), flush=True)
        await asked.wait()
    finally:
        await smtp.stop()
        dovecot.aclose()


asyncio.run(main())
