"""One platform after the other goes away and comes back, while people write on all of them."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.acceptance.house import House, answer_of, eventually
from tests.peers.town import Street, Town

DELIVERED = 900
"""The chat of each platform that gets what the webhook's route of its name delivers."""
_BACK_WITHIN = 120.0  # after a minute away an adapter's last pause before a new try may be long
_SHOWN_WITHIN = 30.0  # a busy machine's time: what waited goes as soon as the platform is back
_ASK_EVERY = 1.0


def settle(house: House, town: Town) -> None:
    """A home with all platforms; anybody may write, and each has a webhook's route that delivers to it."""
    route = house.config["platforms"]["webhook"]["routes"]["build"]
    routes = {s.name: {**route, "deliver": f"{s.name}:{s.target(DELIVERED)}"} for s in town}
    house.config["platforms"] |= town.platforms(allow_from=["*"])
    house.config["platforms"]["webhook"] = {"routes": routes}
    house.write()


@dataclass
class Days:
    """What happens in a house whose platforms go away in turn. Chat 1 of each is asked again and again."""

    house: House
    town: Town
    wanted: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def begin(self) -> None:
        """Start, and wait until everything is connected."""
        await self.house.start()
        for street in self.town:
            await self.house.platform(street.name, "connected")

    async def without(self, street: Street, seconds: float) -> None:
        """The platform is away for so long, and at least until the others have answered and the status says so."""
        others = [other for other in self.town if other is not street]
        await self._say(street, 2, f"asked before {street.name} went [[delay=300]]")
        await self.house.model_busy()
        await street.go_away()
        try:
            until = time.monotonic() + seconds
            await self._say(street, 1, f"while {street.name} is away")
            await self._deliver(street, f"report to {street.name} for later")
            await self._others_answer(others, street.name, 0)
            await self._status_names(street)
            round_ = 0
            while time.monotonic() < until:
                round_ += 1
                await asyncio.sleep(_ASK_EVERY)  # they go on all the while
                await self._others_answer(others, street.name, round_)
            await self._status_names(street)
        finally:
            await street.come_back()
        told = await self.house.platform(street.name, "connected", _BACK_WITHIN)
        assert told["reason"] is None
        await street.wait_shown(2, f"asked before {street.name} went", _SHOWN_WITHIN)
        await street.wait_shown(1, f"while {street.name} is away", _SHOWN_WITHIN)
        await street.wait_shown(DELIVERED, f"report to {street.name} for later", _SHOWN_WITHIN)

    async def end(self) -> None:
        """Stop; each message has its one answer, whatever was away when."""
        status = await self.house.status()
        assert (status["delivery"]["lost"], status["delivery"]["dead"]) == (0, 0)
        restarts = {name: p["restarts"] for name, p in status["platforms"].items() if p["restarts"]}
        await self.house.stop()
        streets = {street.name: street for street in self.town}
        found = {(name, chat): len(streets[name].shown(chat)) for name, chat in self.wanted}
        assert found == dict(self.wanted)
        assert self.house.rows("SELECT DISTINCT state FROM inbox") == [("answered",)]
        assert restarts == {}
        assert self.town.violations() == []

    async def _others_answer(self, others: list[Street], away: str, round_: int) -> None:
        """Everybody else is answered, as if nothing had happened."""
        text = f"without {away} {round_}"
        began = time.monotonic()
        for street in others:
            await self._say(street, 1, text)
        await self._deliver(others[round_ % len(others)], f"report {text}")
        assert text in answer_of(await self.house.ask(text))
        for street in others:
            await street.wait_shown(1, text)
        await others[round_ % len(others)].wait_shown(DELIVERED, f"report {text}")
        assert time.monotonic() - began < 15.0  # a busy machine's time, and far less than an outage

    async def _status_names(self, street: Street) -> None:
        """`hermes status --json` names the platform that is away, and no other."""

        async def told() -> bool:
            platforms = (await self.house.status())["platforms"]
            return bool(platforms[street.name]["state"] == "connecting" and platforms[street.name]["reason"])

        await eventually(told)
        platforms = (await self.house.status())["platforms"]
        rest = {name: (p["state"], p["reason"]) for name, p in platforms.items() if name != street.name}
        assert set(rest) == {"api", "webhook", *(s.name for s in self.town)} - {street.name}
        assert set(rest.values()) == {("connected", None)}

    async def _say(self, street: Street, chat: int, text: str) -> None:
        await street.say(chat, text)
        self.wanted[street.name, chat] += 1

    async def _deliver(self, street: Street, text: str) -> None:
        assert (await self.house.hook({"text": text}, route=street.name, delivery=text)).status_code == 202
        self.wanted[street.name, DELIVERED] += 1
