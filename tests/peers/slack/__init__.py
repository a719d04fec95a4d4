"""A Slack workspace: `SlackPeer` in process, `python -m tests.peers.slack` as a program."""

from tests.peers.faults import Fault
from tests.peers.slack.control import SlackPeerControl
from tests.peers.slack.mrkdwn import displayed
from tests.peers.slack.server import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, Call, SlackPeer, refused, slower
from tests.peers.slack.world import BOT, TEAM, USER, Message

__all__ = [
    "APP_TOKEN",
    "BOT",
    "BOT_TOKEN",
    "SIGNING_SECRET",
    "TEAM",
    "USER",
    "Call",
    "Fault",
    "Message",
    "SlackPeer",
    "SlackPeerControl",
    "displayed",
    "refused",
    "slower",
]
