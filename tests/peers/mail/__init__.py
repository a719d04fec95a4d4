"""Mail servers: a real Dovecot to read from, an SMTP server that can misbehave, and a scripted IMAP server.

`python -m tests.peers.mail` runs Dovecot and the SMTP server and prints their ports as JSON.
"""

from tests.peers.mail.dovecot import Dovecot, Inbox, find_dovecot
from tests.peers.mail.scripted import ScriptedImap
from tests.peers.mail.smtp import SentMail, SmtpPeer

__all__ = ["Dovecot", "Inbox", "ScriptedImap", "SentMail", "SmtpPeer", "find_dovecot"]
