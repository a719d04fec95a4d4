"""A private Dovecot on free ports of loopback: any user at test.local logs in with the password `pw`, or with a token
that the server on the port `tokens` (which a test runs) knows as his.

https://doc.dovecot.org/2.3/ ; run as root its mail belongs to the system's user `mail`, else to us.
"""

import grp
import imaplib
import os
import pwd
import shutil
import signal
import smtplib
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import psutil

from tests.ports import free_port

PASSWORD = "pw"
_PLACES = (Path("/usr/sbin/dovecot"), Path("/usr/local/sbin/dovecot"))
_SECONDS_TO_START = 20.0

_CONFIG = """
protocols = imap lmtp
base_dir = {folder}/run
state_dir = {folder}/state
listen = 127.0.0.1
log_path = {folder}/dovecot.log
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = yes
auth_mechanisms = plain login xoauth2
auth_failure_delay = 0
service anvil {{
  {chroot}
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
first_valid_uid = 1
mail_location = maildir:~/Maildir
mailbox_idle_check_interval = 1s
mail_max_userip_connections = 100
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Sent {{
    special_use = \\Sent
    auto = create
  }}
}}
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {folder}/oauth2.conf
}}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%n
}}
service imap-login {{
  {chroot}
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
    ssl = yes
  }}
}}
service lmtp {{
  {lmtp_user}
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
service stats {{
  {chroot}
}}
protocol lmtp {{
  postmaster_address = postmaster@test.local
}}
{rootless}
"""

_TOKENS = """
tokeninfo_url = http://127.0.0.1:{tokens}/tokeninfo?token=
username_attribute = email
"""


def find_dovecot() -> Path | None:
    """The program, where it is installed with what is needed of it."""
    found = next((path for path in _PLACES if path.exists()), None)
    return found if found is not None and Path("/usr/lib/dovecot/lmtp").exists() else None


class Dovecot:
    """One server. `start` and `stop` may be called again and again; ports and mail stay."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dovecot."))
        self.folder.chmod(0o755)
        self.cert = self.folder / "cert.pem"
        self.key = self.folder / "key.pem"
        self.imap, self.imaps, self.lmtp, self.tokens = (free_port() for _ in range(4))
        self._process: subprocess.Popen[bytes] | None = None
        make_certificate(self.cert, self.key)
        self._write()

    def _write(self) -> None:
        is_root = os.geteuid() == 0
        owner = pwd.getpwnam("mail") if is_root else pwd.getpwuid(os.geteuid())
        me, group = owner.pw_name, grp.getgrgid(owner.pw_gid).gr_name
        (self.folder / "mail").mkdir()
        if is_root:
            os.chown(self.folder / "mail", owner.pw_uid, owner.pw_gid)
        names = {"default_login_user": me, "default_internal_user": me, "default_internal_group": group}
        text = _CONFIG.format(
            folder=self.folder,
            password=PASSWORD,
            uid=owner.pw_uid,
            gid=owner.pw_gid,
            imap=self.imap,
            imaps=self.imaps,
            lmtp=self.lmtp,
            chroot="" if is_root else "chroot =",
            lmtp_user="" if is_root else f"user = {me}",
            rootless="" if is_root else "\n".join(f"{k} = {v}" for k, v in names.items()),
        )
        (self.folder / "dovecot.conf").write_text(text)
        (self.folder / "oauth2.conf").write_text(_TOKENS.format(tokens=self.tokens))

    def start(self) -> None:
        """Start it and wait until it answers. Raises `RuntimeError` with its log."""
        program = find_dovecot()
        assert program is not None
        with (self.folder / "out").open("ab") as out:
            command = [str(program), "-F", "-c", str(self.folder / "dovecot.conf")]
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _SECONDS_TO_START
        while not _answers(self.imap):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.log())
            time.sleep(0.02)

    def stop(self) -> None:
        """End it and every connection."""
        if self._process is None:
            return
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        for child in children:  # its own end does not cut a client that waits in IDLE
            _kill(child)
        self._process.wait(10)
        self._process = None

    def freeze(self, *, thaw: bool = False) -> None:
        """Stop all its processes where they are: nobody answers, and no connection ends. `thaw`: go on."""
        assert self._process is not None
        master = psutil.Process(self._process.pid)
        for process in [master, *master.children(recursive=True)]:
            process.send_signal(signal.SIGCONT if thaw else signal.SIGSTOP)

    def aclose(self) -> None:
        """Stop it and remove everything."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """What it said."""
        parts = [self.folder / "out", self.folder / "dovecot.log"]
        return "\n".join(path.read_text(errors="replace")[-4000:] for path in parts if path.exists())

    def deliver(self, to: str, content: bytes, sender: str = "ana@far.test") -> None:
        """Hand a mail to it by LMTP, as the mail server beside it would."""
        with smtplib.LMTP("127.0.0.1", self.lmtp) as lmtp:
            lmtp.sendmail(sender, [to], content)

    def inbox(self, user: str) -> "Inbox":
        """A second client of a mailbox."""
        return Inbox(self, user)

    def rebuild(self, user: str) -> None:
        """Give the mailbox a new UIDVALIDITY and new UIDs, as a restored one has.

        `dovecot-uidvalidity`, the newest one ever given, stays: without it the time decides, which may be the same second.
        """
        folder = self.folder / "mail" / user.partition("@")[0] / "Maildir"
        for name in ("dovecot-uidlist", "dovecot.index", "dovecot.index.cache", "dovecot.index.log"):
            (folder / name).unlink(missing_ok=True)


class Inbox:
    """A mailbox as the standard library's client sees it."""

    def __init__(self, server: Dovecot, user: str) -> None:
        self._client = imaplib.IMAP4_SSL(
            "localhost", server.imaps, ssl_context=ssl.create_default_context(cafile=str(server.cert))
        )
        self._client.login(user, PASSWORD)

    def mails(self, folder: str = "INBOX") -> list[EmailMessage]:
        """All mails, in order."""
        self._client.select(folder, readonly=True)
        return [
            message_from_bytes(self._raw(number), policy=policy.default) for number in self._numbers("ALL")
        ]

    def unseen(self) -> int:
        """How many are not read."""
        self._client.select("INBOX", readonly=True)
        return len(self._numbers("UNSEEN"))

    def empty(self) -> None:
        """Remove all mails."""
        self._client.select("INBOX")
        for number in self._numbers("ALL"):
            self._client.store(number, "+FLAGS", "\\Deleted")
        self._client.expunge()

    def append(self, content: bytes, when: float) -> None:
        """Put a mail there with an age (epoch seconds)."""
        self._client.append("INBOX", "", imaplib.Time2Internaldate(when), content)

    def close(self) -> None:
        """Log out."""
        self._client.logout()

    def _numbers(self, what: str) -> Sequence[str]:
        _, found = self._client.search(None, what)
        return found[0].decode().split() if found and found[0] else []

    def _raw(self, number: str) -> bytes:
        _, parts = self._client.fetch(number, "(BODY.PEEK[])")
        part = parts[0]
        assert isinstance(part, tuple)
        return bytes(part[1])


def make_certificate(cert: Path, key: Path) -> None:
    """A certificate for localhost that signs itself."""
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
    command = ["openssl", "req", "-x509", *curve, *subject, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0) as connection:
            return connection.recv(4) == b"* OK"
    except OSError:
        return False


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
