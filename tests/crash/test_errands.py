"""The daemon is killed while an agent sends a message elsewhere: it goes there once, but for what is marked."""

import json
import signal
from collections import Counter

from tests.crash.house import MakeHouse, problem_of, token_of

PLACES = ("outbox.claimed", "tool.finished")
"""Each in a life of its own, in which a message comes in; what it leaves over goes on in the next."""
HERE, THERE = 5, 6


async def test_killed_while_a_message_goes_elsewhere(make_house: MakeHouse) -> None:
    house = await make_house()
    path = house.home / "config.yaml"
    config = json.loads(path.read_text())
    config["platforms"]["telegram"]["allow_from"] = [str(HERE)]
    more = {"display": {"live": False}, "tools": {"send_to": [f"telegram:{THERE}"]}}
    path.write_text(json.dumps({**config, **more}))
    house.telegram.add_chat(THERE)
    tokens = [f"m-tg-{n}" for n in range(1, len(PLACES) + 1)]
    excused: Counter[tuple[str, str]] = Counter()
    for token, place in zip(tokens, PLACES, strict=True):
        await house.start(failpoint=place)
        call = json.dumps({"target": f"telegram:{THERE}", "text": f"done {token}."})
        house.send_telegram(token, f"{token} [[tool=send_message {call}]] [[text=done {token}.]]", chat=HERE)
        assert await house.ended() == -signal.SIGKILL, f"{place} was never reached: {house.tail()}"
        excused.update((token_of(r.text), r.chat) for r in house.outbox() if r.state == "sending")
    assert (tokens[0], str(THERE)) in excused
    await house.start()
    await house.answered(tokens, 60.0)
    assert await house.stop() == 0
    for token in tokens:
        for chat in (HERE, THERE):
            texts = [m.text for m in house.telegram.chats[chat] if m.from_bot]
            seen = [text for text in texts if token_of(text) == token]
            assert problem_of(seen, excused[token, str(chat)]) is None, (token, chat, texts, house.tail())
    assert [r.kind for r in house.outbox() if r.chat == str(THERE)] == ["send"] * len(tokens)
