"""What bad input gets: one line that says what is wrong, and nothing else changes."""

import asyncio
import socket
import time

from tests.acceptance.house import House, answer_of, eventually
from tests.peers.model.script import ToolCall, calls, says
from tests.peers.telegram import TelegramPeer


async def test_a_typo_in_the_settings_is_78_with_its_line(house: House) -> None:
    house.config["gateway"]["drain_timeot"] = "30s"
    house.write()
    line = next(
        n
        for n, text in enumerate((house.home / "config.yaml").read_text().splitlines(), 1)
        if "timeot" in text
    )
    code, said = await house.refused()
    assert code == 78
    assert f"config.yaml, line {line}: gateway.drain_timeot" in said
    assert '"drain_timeout"' in said
    assert not (house.home / "state.db").exists()


async def test_a_wrong_token_fails_that_platform_alone_and_calls_no_more(house: House) -> None:
    refused: list[str] = []

    async def unauthorized(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        refused.append(head.split()[1].decode().rpartition("/")[2])
        body = b'{"ok":false,"error_code":401,"description":"Unauthorized"}'
        head = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: close\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(unauthorized, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    house.config["platforms"]["telegram"]["base_url"] = f"http://127.0.0.1:{port}/bot"
    house.write()
    async with server:
        await house.start()
        told = await house.platform("telegram", "failed")
        assert (told["reason"], told["setting"]) == ("unauthorized", "token")
        assert answer_of(await house.ask("still here")) == "echo: still here"
        assert (await house.hook({"text": "taken"})).status_code == 202
        watched = time.monotonic() + 4

        async def over() -> bool:
            return time.monotonic() > watched

        await eventually(over)
        assert refused.count("getMe") == 1
        assert refused.count("getUpdates") == 0
        assert len(refused) <= 8  # the answer to the webhook is tried ever more rarely
        others = (await house.status())["platforms"]
        assert {others[name]["state"] for name in ("api", "webhook")} == {"connected"}


async def test_webhooks_that_are_wrong_are_told_so_and_leave_nothing(house: House) -> None:
    house.config["gateway"]["limits"]["http_body"] = 2000
    house.write()
    await house.start()

    async def status(*args: object, **more: object) -> int:
        response = await house.hook(*args, **more)  # type: ignore[arg-type]  # passed on as given
        assert isinstance(response.json()["error"], str)
        return response.status_code

    assert await status({"text": "x"}, route="unknown") == 404
    assert await status(b"x" * 4000) == 413
    assert await status({"text": "x"}, secret="wrong") == 401
    assert await status({"text": "x"}, X_Hub_Signature_256="") == 401
    assert await status(b"{not json") == 400
    assert await status(b"\xff\xfe", Content_Type="application/json; charset=utf-8") == 400
    assert await status(b"x" * 4000, route="unknown") == 404  # the order of the checks
    assert await status(b"x" * 4000, secret="wrong") == 413
    assert await status(b"{not json", secret="wrong") == 401
    assert house.rows("SELECT count(*) FROM inbox") == [(0,)]
    assert house.rows("SELECT count(*) FROM outbox") == [(0,)]
    assert (await house.hook({"text": "x"})).status_code == 202
    await house.stop()


async def test_a_stranger_gets_a_code_once_and_is_let_in_by_it(house: House) -> None:
    telegram = house.telegram
    del house.config["platforms"]["telegram"]["allow_from"]
    house.write()
    await house.start()
    telegram.push_text("hello?", chat=5)
    told = await telegram.wait_text(5, "code")
    telegram.push_text("hello again?", chat=5)
    telegram.push_text("@peer_bot in a group", chat=-100500, user=6)
    refused = "SELECT coalesce(sum(count), 0) FROM verdicts WHERE reason = 'unknown sender'"

    async def judged() -> bool:
        return house.rows(refused) == [(3,)]

    await eventually(judged)
    listed = (await house.hermes("pairing", "list")).out
    code = next(word for word in told.split() if word in listed and len(word) == 8)
    done = await house.hermes("pairing", "approve", code)
    assert done.code == 0, done.err
    telegram.push_text("and now", chat=5)
    await telegram.wait_text(5, "echo: and now")
    assert len(house.texts(5)) == 2  # the code, the answer; silence between
    assert house.texts(-100500) == []
    assert (await house.hermes("pairing", "approve", "AAAAAAAA")).code != 0
    assert len(house.model.requests) == 1


async def test_a_model_that_is_down_is_told_once_and_retry_works(house: House) -> None:
    house.config["llm"]["tries"] = 2
    house.write()
    await house.start()
    await house.model.server.stop()
    house.telegram.push_text("anybody there", chat=1)
    await house.telegram.wait_text(1, "/retry", 20)
    await house.model.server.start()
    house.telegram.push_text("/retry", chat=1)
    await house.telegram.wait_text(1, "echo: anybody there", 20)
    assert len(house.texts(1)) == 2
    assert house.texts(1)[0].count("/retry") == 1
    await house.stop()


async def test_model_output_that_is_broken_ends_in_an_answer_or_one_sentence(house: House) -> None:
    house.config["llm"]["tries"] = 2
    house.write()
    script = house.model.script
    await house.start()

    script.add(says("this will be cut in the middle", cut_after=300))
    assert answer_of(await house.ask("cut, then whole")) == "echo: cut, then whole"

    script.add(says(""), times=4)
    empty = await house.ask("empty")
    assert "no answer" in empty.text or "could not be read" in empty.text

    script.clear()
    script.add(says("", raw="<html>not JSON</html>"), times=2)
    broken = await house.ask("not json")
    assert broken.status_code == 502
    assert "/retry" in broken.json()["error"]["message"]

    script.clear()
    script.add(says("whole", malformed=True))
    assert answer_of(await house.ask("a broken chunk")) in ("whole", "echo: a broken chunk")

    script.clear()
    script.add(calls(ToolCall("todo", '{"items": [')), says("it was told so"))
    assert answer_of(await house.ask("broken arguments")) == "it was told so"
    result = next(m for m in house.asked() if m["role"] == "tool")
    assert "not valid JSON" in result["content"]
    assert "Traceback" not in house.daemon.stderr
    await house.stop()


async def test_a_broken_live_reload_keeps_the_last_good_settings(house: House) -> None:
    await house.start()
    good = (house.home / "config.yaml").read_text()
    (house.home / "config.yaml").write_text(good.replace('"drain_timeout": "30s"', '"drain_timeout": "soon"'))

    async def complained() -> str | None:
        error: str | None = (await house.status())["settings"]["error"]
        return error

    said = await eventually(complained)
    assert "gateway.drain_timeout" in said
    assert answer_of(await house.ask("goes on")) == "echo: goes on"
    (house.home / "config.yaml").write_text(good.replace('"drain_timeout": "30s"', '"drain_timeout": "20s"'))

    async def mended() -> bool:
        settings = (await house.status())["settings"]
        return settings["error"] is None and settings["number"] > 1

    await eventually(mended)
    await house.stop()


async def test_a_second_daemon_neither_polls_nor_listens(house: House) -> None:
    """PR-09: nothing of the second one reaches a platform."""
    await house.start()
    polls = len(house.telegram.calls("getMe"))
    began = time.monotonic()
    code, said = await house.refused()
    assert time.monotonic() - began < 3 + 2  # the interpreter's own start on a busy machine
    assert code == 73
    assert str(house.daemons[0].process.pid) in said
    assert len(house.telegram.calls("getMe")) == polls
    assert answer_of(await house.ask("the first goes on")) == "echo: the first goes on"


async def test_a_taken_port_is_69_and_names_the_process(house: House) -> None:
    with socket.create_server(("127.0.0.1", house.port)):
        code, said = await house.refused()
    assert code == 69
    assert "python" in said or "pytest" in said
    assert house.telegram.calls("getMe") == []


async def test_a_peer_that_is_away_at_the_start_delays_nobody(house: House) -> None:
    """D18: ready once each adapter has a named state, at most 5 s later."""
    async with TelegramPeer() as away:
        address = away.base_url
    house.config["platforms"]["telegram"]["base_url"] = address
    house.write()
    daemon = await house.begin()
    await house.said("adapter.state")  # the adapters have begun
    began = time.monotonic()
    await daemon.until_ready()
    assert time.monotonic() - began < 5.5
    assert "telegram:connecting" in next(line for line in daemon.lines if line.startswith("ready "))
    told = (await house.status())["platforms"]["telegram"]
    assert told["state"] == "connecting"
    assert told["reason"]
    assert (await house.client.get("/ready")).json() == {"ready": True, "reason": None}


async def test_a_settings_file_that_vanishes_changes_nothing(house: House) -> None:
    await house.start()
    (house.home / "config.yaml").rename(house.home / "elsewhere.yaml")

    async def complained() -> str | None:
        error: str | None = (await house.status())["settings"]["error"]
        return error

    assert "missing" in await eventually(complained)
    house.telegram.push_text("known to all", chat=1)
    await house.telegram.wait_text(1, "echo: known to all")
    (house.home / "elsewhere.yaml").rename(house.home / "config.yaml")

    async def is_back() -> bool:
        return (await house.status())["settings"]["error"] is None

    await eventually(is_back)
    assert (await house.status())["settings"]["restart_needed"] is None


async def test_what_the_rate_holds_back_delays_no_stop_and_is_answered_later(house: House) -> None:
    house.config["gateway"]["limits"] = {"rate": "2/8s", "backlog": 1}
    house.write()
    await house.start()
    for n in range(4):
        house.telegram.push_text(f"message {n}", chat=1)
    for text in ("echo: message 0", "echo: message 1", "Too many messages"):
        await house.telegram.wait_text(1, text)
    began = time.monotonic()
    await house.stop()
    assert time.monotonic() - began < 10
    await house.start()
    await house.telegram.wait_text(1, "echo: message 2", 40)
    assert len(house.texts(1)) == 4
