"""The daemon's life on one screen: start, serve, stop. Read this first.

    start   home claimed and locked -> settings -> store -> parts -> HTTP bound, control socket -> recovery ->
    adapters -> READY
    serve   wait for a reason to stop
    stop    one ordered list under one deadline: stop taking, let turns end, flush the outbox, close

Exit codes: 0 asked to stop, 1 second signal or unexpected, 69 port taken, 73 home held, 75 restart wanted, 78
configuration or home wrong.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from gateway import adopted, books, wiring
from gateway.claim import claim_home
from gateway.config.live import LiveSettings
from gateway.config.loading import load
from gateway.control import ControlServer, Role
from gateway.core import Core, build_core, enabled
from gateway.disk import DiskUse, is_full
from gateway.handlers import control_handlers
from gateway.housekeeping import Housekeeping
from gateway.lag import LoopLag
from gateway.logs import Logs, configure, redact
from gateway.presence import Presence
from gateway.recovery import ResumeRules, recover
from gateway.report import Report
from gateway.secrets import api_key_check, secret_values
from gateway.service import Notifier
from gateway.settings import GatewaySettings, Logging
from gateway.stopping import Stop, install_signals
from hermes import failpoint
from hermes.adapter import HttpAdapter, HttpLimits, StreamAdapter
from hermes.clock import SystemClock
from hermes.config import Snapshot
from hermes.errors import HermesError, StoreUnavailable
from hermes.home import Home

if TYPE_CHECKING:
    from gateway.http import HttpServer

__all__ = ["Gateway", "RunOptions", "local", "serve"]

log = structlog.get_logger("gateway.app")

_MIGRATION = 600.0
"""Seconds that a service manager leaves us for bringing the store to this version."""
_SETTLE = 5.0
"""Seconds that READY waits for the adapters to be in a named state."""
_FLUSH = 5.0
"""Seconds at the end for what stands in the outbox."""
_RESTART = "platforms have changed; restart to use them: hermes gateway restart"
_ALONE = (
    "No platform is switched on, so only `hermes chat` reaches me; {config} takes them under `platforms`.\n"
)
_FULL = "The disk is full: make room, then Hermes can start."
"""It may pass, so it is no fault of the home (78), on which a service manager would give up."""
_TRY_AGAIN = 35.0
_GRACE = 1.0
"""Seconds for HTTP answers and a title under way, once turns and outbox are through."""
_HURRIED = 0.1
"""The same after a second signal."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """only: the one platform instance to run. platforms: False runs none but the terminal (and no HTTP).

    sends: the one instance that is sent for without being listened to (with `platforms` False).
    on_ready: called once when READY. stderr_log: the log goes to stderr too.
    """

    only: str | None = None
    platforms: bool = True
    sends: str | None = None
    role: Role = "daemon"
    on_ready: Callable[[], None] | None = None
    stderr_log: bool = True


class Gateway:
    """One running gateway.

    `start`, then `stop`; what was opened is closed in reverse order, also after a failed start.
    """

    def __init__(self, home: Home, options: RunOptions) -> None:
        self._home = home
        self._options = options
        self._clock = SystemClock()
        self._stack = AsyncExitStack()
        self._http: HttpServer | None = None
        self._notifier = Notifier.from_environ(os.environ, os.getpid())
        self.yielded = asyncio.Event()
        self.stopped = Stop()
        self._logs: Logs | None = None
        self.core: Core
        self.report: Report

    @property
    def may_yield(self) -> bool:
        """Whether a starting daemon may have the home: this is only a chat."""
        return self._options.role == "chat"

    # --- start ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Come up. Raises the errors of `hermes.errors` with their exit codes."""
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise

    async def _open(self) -> None:
        stack, clock = self._stack, self._clock
        os.umask(0o077)  # whatever is made from here on is the owner's alone
        failpoint.arm()
        wiring.check_folder()
        note = await claim_home(self._home, stack, self._options.role)
        first = await asyncio.to_thread(load, self._home, wiring.SCHEMA, os.environ)
        self._start_logging(first)
        if note:
            log.warning("home.narrowed", note=note)
        options = self._options
        chosen = enabled(first, options.only, platforms=options.platforms, sends=options.sends)
        self._notifier.extend(_MIGRATION)  # an upgrade copies the database first
        store = await books.open_store(self._home)
        stack.push_async_callback(store.aclose)
        store.on_fault = lambda fault: (
            log.error("store.fault", fault=fault) if fault else log.info("store.recovered")
        )
        settings = LiveSettings(
            self._home, wiring.SCHEMA, first, on_error=lambda text: log.error("settings.refused", error=text)
        )
        unheard = () if options.sends is None else (options.sends,)
        self.core = core = await build_core(self._home, settings, store, clock, chosen, unheard=unheard)
        stack.push_async_callback(core.thinking.models.aclose)
        core.thinking.behind.start()
        stack.push_async_callback(core.thinking.behind.aclose)
        stack.push_async_callback(self._close_titles)
        stack.push_async_callback(core.thinking.figures.aclose)
        stack.push_async_callback(core.agents.aclose)
        for adapter in core.adapters.values():
            stack.push_async_callback(adapter.aclose)
        stack.push_async_callback(core.readers.aclose)
        stack.push_async_callback(core.delivery.aclose)
        stack.push_async_callback(core.sessions.aclose)
        lag = LoopLag()
        self._presence = Presence(self._home, clock, lambda: self.stopped.ask("unexpected"))
        self.report = Report(
            core,
            lag,
            self._presence,
            DiskUse(self._home),
            url=lambda: self._http.url if self._http else None,
            role=self._options.role,
        )
        for intake in core.intakes.values():
            intake.hold()
        await self._serve_http(first)
        await self._serve_control()
        self._tasks(lag, first)
        await core.thinking.models.prepare()
        await self._recover(first)
        for intake in core.intakes.values():
            intake.release()
        core.supervisor.start(core.intake)
        await core.supervisor.settled(_SETTLE)
        self._ready(first)

    def _start_logging(self, snapshot: Snapshot) -> None:
        settings = snapshot.get("logging", Logging)
        redact(secret_values(snapshot))
        self._logs = configure(
            self._home.logs,
            level=settings.level,
            form=settings.format,
            files=settings.files,
            file_size=settings.file_size,
            stderr=self._options.stderr_log,
        )
        self._stack.callback(self._logs.close)

    async def _serve_http(self, snapshot: Snapshot) -> None:
        if not self._options.platforms:
            return
        from gateway.http import HttpServer, Probes  # noqa: PLC0415  a command without a daemon serves nobody

        settings = snapshot.get("gateway", GatewaySettings)
        probes = Probes(self.report.readiness, api_key_check(self.core.settings), self.report.metrics)
        self._http = HttpServer(
            settings.http.host,
            settings.http.port,
            HttpLimits(body=settings.limits.http_body),
            probes,
            trusted_proxies=settings.http.trusted_proxies,
        )
        for name, adapter in self.core.adapters.items():
            if isinstance(adapter, HttpAdapter):
                adapter.mount(self._http.router, self.core.intake(name))
        self._stack.push_async_callback(self._close_http)
        await self._http.start()

    async def _close_http(self) -> None:
        if self._http is not None:
            await self._http.aclose(_HURRIED if self.stopped.forced else _GRACE)

    async def _close_titles(self) -> None:
        await self.core.thinking.titles.aclose(_HURRIED if self.stopped.forced else _GRACE)

    async def _serve_control(self) -> None:
        terminal = self.core.adapters["terminal"]
        intake = self.core.intake("terminal")

        async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if isinstance(terminal, StreamAdapter):
                await terminal.serve(reader, writer, intake)

        server = ControlServer(self._home, control_handlers(self), stream, self._options.role)
        self._stack.push_async_callback(server.aclose)
        await server.start()

    def _tasks(self, lag: LoopLag, snapshot: Snapshot) -> None:
        """What runs beside the messages; each is named, and ends with the gateway."""
        core = self.core
        housekeeping = Housekeeping(core, self._home, self._clock)
        jobs = {"lag": lag.measure(), "agents": core.agents.sweep(), "housekeeping": housekeeping.run()}
        if self._options.role == "daemon":
            jobs["presence"] = self._presence.watch()
            jobs["settings"] = core.settings.watch()
            if adopted.is_everybodys_parent():
                jobs["orphans"] = adopted.watch(self._clock)
            self._notifier.feed()
            self._stack.push_async_callback(self._notifier.aclose)
        platforms = snapshot.platforms
        core.settings.subscribe(lambda fresh: self._settings_changed(platforms, fresh))
        for name, job in jobs.items():
            task = asyncio.create_task(job, name=name)
            task.add_done_callback(self._helper_ended)
            self._stack.callback(task.cancel)

    def _helper_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("helper.died", task=task.get_name(), error=repr(error))
            self.stopped.ask("unexpected")

    def _settings_changed(self, platforms: object, fresh: Snapshot) -> None:
        redact(secret_values(fresh))
        if self._logs is not None:
            self._logs.set_level(fresh.get("logging", Logging).level)
        log.info("settings.reloaded", number=fresh.number)
        changed = fresh.platforms != platforms
        self.report.restart_needed = _RESTART if changed else None

    async def _recover(self, snapshot: Snapshot) -> None:
        core, g = self.core, snapshot.get("gateway", GatewaySettings)
        rules = ResumeRules(g.resume_max_age, g.resume_max_starts)
        found = await recover(core.parts, core.sessions, rules)
        if found.turns or found.waiting or found.endings:
            log.info(
                "recovered", turns=len(found.turns), waiting=len(found.waiting), ended=len(found.endings)
            )

    def _ready(self, snapshot: Snapshot) -> None:
        _settle_memory()
        self.report.started = True
        for warning in snapshot.warnings:
            log.warning("settings.warning", text=warning)
        if self._http is not None:
            states = self.core.supervisor.conditions
            named = ",".join(f"{n}:{c.state}" for n, c in states.items() if n != "terminal") or "none"
            # One write: the log has the same stream, and whoever started us reads whole lines.
            hint = "" if named != "none" else _ALONE.format(config=self._home.config)
            sys.stderr.write(f"ready {self._http.url} platforms={named}\n{hint}")
            sys.stderr.flush()
            log.info("ready", url=self._http.url, platforms=named)
        self._notifier.ready()
        if self._options.on_ready is not None:
            self._options.on_ready()

    # --- stop ----------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Stop taking, let turns end until the deadline, flush, close.

        A second signal cuts the waiting short.
        """
        core = self.core
        timeout = core.settings.current().get("gateway", GatewaySettings).drain_timeout
        log.info("stopping", reason=self.stopped.reason, running=core.turns.running, seconds=timeout)
        self.report.stopping = True
        self._notifier.stopping("letting turns end")
        self._notifier.extend(timeout + 2 * _FLUSH + 5.0)
        for intake in core.intakes.values():
            intake.open = False
        try:
            await self.stopped.unless_hurried(self._drain(timeout))
        finally:
            await self._stack.aclose()

    async def _drain(self, seconds: float) -> None:
        core = self.core
        await core.supervisor.stop()
        if self._http is not None:
            await self._http.drain()
        if not await core.sessions.drain(seconds):
            log.warning("drain.cut", running=core.turns.running)
        await core.sessions.aclose()
        try:
            await asyncio.wait_for(core.delivery.flush(), _FLUSH)
        except TimeoutError:
            log.warning("outbox.kept", waiting=core.delivery.waiting)

    async def reload(self) -> None:
        """Read the settings again and re-open the logs (SIGHUP, `hermes gateway reload`)."""
        if self._logs is not None:
            self._logs.reopen()
        await self.core.settings.reload()


def _settle_memory() -> None:
    """What was made at start stays: the collector need not look at it again, and it looks less often.

    With its default of 700 new objects it runs several times in a turn.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


async def serve(home: Home, options: RunOptions) -> int:
    """Run in the foreground until asked to stop; the exit code. Errors of the start are raised."""
    gateway = Gateway(home, options)
    install_signals(gateway.stopped, gateway.reload)
    try:
        await gateway.start()
    except (HermesError, OSError) as error:
        if not is_full(error):
            raise
        if "NOTIFY_SOCKET" in os.environ:
            await _pause_before_the_end(gateway.stopped)
        raise StoreUnavailable(f"{error} {_FULL}") from error
    await gateway.stopped.wait()
    await gateway.stop()
    return gateway.stopped.exit_code


async def _pause_before_the_end(stopped: Stop) -> None:
    """So that a service manager's ten starts in 300 s (`StartLimitBurst`) are not used up while the disk is full."""
    sys.stderr.write(f"{_FULL} The next try is in {_TRY_AGAIN:.0f} s.\n")
    sys.stderr.flush()
    with suppress(TimeoutError):
        await asyncio.wait_for(stopped.wait(), _TRY_AGAIN)


@asynccontextmanager
async def local(home: Home, *, sends: str | None = None) -> AsyncIterator[Gateway]:
    """The gateway in this process for commands and a chat without a daemon: no HTTP, no platform but `sends`."""
    gateway = Gateway(home, RunOptions(platforms=False, sends=sends, role="chat", stderr_log=False))
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
