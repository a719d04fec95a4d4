"""A chat whose daemon is killed in an answer and never comes back."""

from pathlib import Path

from tests.clirig import Installation
from tests.peers.model import ModelPeer


async def test_the_chat_takes_the_place_of_a_daemon_that_does_not_come_back(
    tmp_path: Path, model_peer: ModelPeer
) -> None:
    here = Installation(tmp_path / "home")
    here.configure_model(model_peer.url)
    try:
        daemon, _ = await here.run_daemon()
        chat = await here.start("chat", "-q", "slow [[delay=1000]]")
        await model_peer.wait_for(lambda: model_peer.in_flight.total() == 1, 30)
        daemon.kill()
        await daemon.wait()
        out, err = await chat.communicate()
        assert (chat.returncode, out) == (0, b"echo: slow\n")
        gone, taken = err.decode().splitlines()
        assert gone.startswith("The daemon has gone. Your message is kept")
        assert taken.startswith("The daemon did not come back: this chat goes on by itself.")
        listed = await here.run("sessions", "list", "--json")
        assert '"messages": 2' in listed.out
    finally:
        await here.aclose()
