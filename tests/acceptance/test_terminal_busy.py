"""What is typed while a turn runs, on the screen of the installed `hermes chat`, with the daemon killed in between."""

import os

import pytest

from tests.acceptance.house import House, eventually
from tests.acceptance.screen import Screen, chat
from tests.clirig import HERMES
from tests.peers.model.script import ToolCall, calls, says
from tests.tmux import in_tmux

WORK = calls(ToolCall("todo", {"todos": []}), first=1.0)


@pytest.fixture
async def quiet(house: House) -> House:
    """A house that is only talked to at the terminal."""
    house.config["platforms"] = {}
    return house


async def _daemon(house: House, mode: str) -> None:
    """Begin a daemon's life with that mode."""
    house.config["gateway"]["sessions"] = {"busy": mode}
    house.write()
    await house.start()


async def _killed(house: House, screen: Screen, mode: str) -> None:
    """Kill the daemon in a turn and start the next: the chat tells both, and its user does nothing."""
    await house.daemon.kill()
    await screen.says("The daemon has gone. Your message is kept")
    await _daemon(house, mode)
    await screen.says("The daemon is back")


async def _taken(house: House, count: int) -> None:
    async def are_taken() -> bool:
        return len(house.rows("SELECT id FROM inbox")) == count

    await eventually(are_taken, 20)


def _states(house: House) -> list[str]:
    return [s for (s,) in house.rows("SELECT state FROM inbox ORDER BY id")]


async def test_each_mode_answers_once_over_a_kill(quiet: House) -> None:
    house = quiet
    house.model.script.add(WORK, text="begin")
    house.model.script.add(says("As you say.", first=1.5), text="but shorter", times=2)
    house.model.script.add(says("never", first=60), text="long work")
    house.model.script.add(says("The new one.", first=1.5), text="rather this", times=2)
    await _daemon(house, "steer")
    async with chat(house.cli) as screen:
        screen.type("begin\r")
        await house.model_busy()
        screen.type("but shorter\r")
        await house.model.wait_for(lambda: len(house.model.requests) == 2, 20)
        await _killed(house, screen, "interrupt")
        await screen.says("As you say.")
        await screen.rests()
        assert _states(house) == ["merged", "answered"]
        assert len(house.model.requests) == 3

        screen.type("long work\r")
        await house.model_busy()
        screen.type("rather this\r")
        await house.model.wait_for(lambda: len(house.model.requests) == 5, 20)
        await _killed(house, screen, "collect")
        await screen.says("The new one.")
        await screen.rests()
        assert _states(house)[2:] == ["stopped", "answered"]
        assert len(house.model.requests) == 6

        for count, word in enumerate(("one", "two", "three"), 5):
            screen.type(f"{word}\r")
            await _taken(house, count)
        await _killed(house, screen, "collect")
        await screen.says("echo:")
        await screen.rests()
        assert _states(house)[4:] == ["merged", "merged", "answered"]
        assert len(house.model.requests) == 7
        seen = screen.everything
        for line, count in (("As you say.", 1), ("The new one.", 1), ("The daemon is back and goes on.", 3)):
            assert seen.count(line) == count, seen
    await house.stop()


PASTE = "\n".join(f"line {n} of\ta long text with several words in it" for n in range(1, 111))


async def test_a_paste_is_one_message_and_a_stop_ends_what_runs(quiet: House) -> None:
    house = quiet
    assert len(PASTE) > 4000
    house.model.script.add(says("Read.", chunks=1), text="line 1 of", times=2)
    house.model.script.add(says("never to its end " * 50, chunks=50, every=0.5), text="endless")
    house.model.script.add(says("Then this.", first=1.0), text="and then")
    await _daemon(house, "queue")
    async with chat(house.cli) as screen:
        for begin, last, end in (("\x1b[200~", "the marked one", "\x1b[201~"), ("", "the other one", "")):
            screen.type(begin + f"{PASTE}\n{last}".replace("\n", "\r") + end)
            await screen.says(last)
            screen.type("\r")
            await screen.shows(lambda lines: [line for line in lines if line][-3:-2] == ["Read."], "read")
            await screen.rests()
            assert house.asked()[-1]["content"].endswith(f"{PASTE}\n{last}")
        assert _states(house) == ["answered"] * 2
        screen.type("endless\r")
        await screen.says("never to its")
        screen.type("and then\r")
        await _taken(house, 4)
        screen.type("/status\r")
        await screen.says("Waiting: 1.")
        screen.type("/stop\r")
        await screen.says("Then this.")
        await screen.rests()
        assert _states(house)[2:] == ["stopped", *["answered"] * 3]
        seen = screen.everything
        assert seen.count("Stopped.") == 1, seen
        assert seen.index("Stopped.") < seen.index("Then this."), seen
    await house.stop()


async def test_in_a_real_terminal_a_paste_a_steered_message_and_a_kill(quiet: House) -> None:
    house = quiet
    house.model.script.add(WORK, text="begin")
    house.model.script.add(says("As you say.", first=1.5), text="but shorter", times=2)
    house.model.script.add(says("Read.", chunks=1), text="line 1 of", times=2)
    await _daemon(house, "steer")
    environ = {**os.environ, "HERMES_HOME": str(house.home)}
    async with in_tmux(str(HERMES), "chat", environ=environ, columns=80) as tmux:
        await tmux.says("Ctrl-D leaves")
        for marked in (True, False):
            last = f"the last line, marked: {marked}"
            await tmux.paste(f"{PASTE}\n{last}", marked=marked)
            await tmux.says(last)
            await tmux.press("Enter")
            await tmux.shows(lambda lines: [line for line in lines if line][-3:-2] == ["Read."], "read")
            assert house.asked()[-1]["content"].endswith(f"{PASTE}\n{last}")
        await tmux.type("begin", "Enter")
        await house.model_busy()
        await tmux.type("but shorter", "Enter")
        await house.model.wait_for(lambda: len(house.model.requests) == 4, 20)
        await house.daemon.kill()
        await tmux.says("The daemon has gone. Your message is kept")
        await _daemon(house, "steer")
        await tmux.says("As you say.")
        await tmux.says("tokens")
        seen = await tmux.everything()
        assert seen.count("As you say.") == 1, seen
        assert seen.count("> but shorter") == 1, seen
        assert seen.count("The daemon is back and goes on.") == 1, seen
        assert _states(house) == ["answered"] * 2 + ["merged", "answered"]
        await tmux.press("C-d")
    await house.stop()
