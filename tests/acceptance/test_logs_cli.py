"""`hermes logs` beside a running daemon."""

import json

from tests.acceptance.house import House
from tests.clirig import read_until


async def test_the_log_is_shown_chosen_from_and_followed(house: House) -> None:
    nothing = await house.hermes("logs")
    assert nothing.code == 0
    assert "no log" in nothing.err
    await house.start()
    shown = await house.hermes("logs", "-n", "500")
    assert " ready url=" in shown.out
    assert house.telegram.token not in shown.out
    as_json = [json.loads(line) for line in (await house.hermes("logs", "--json")).out.splitlines()]
    assert {"time", "level", "logger"} <= as_json[-1].keys()
    assert (await house.hermes("logs", "--level", "error")).out == ""
    assert (await house.hermes("logs", "--since", "soon")).code == 2

    following = await house.cli.start("logs", "-f", "-n", "1")
    await read_until(following.stdout, "ready")
    house.config["logging"] = {"level": "debug"}
    house.write()
    assert (await house.hermes("gateway", "reload")).code == 0
    await read_until(following.stdout, "settings.reloaded")
    following.terminate()
    await following.wait()
    await house.stop()
