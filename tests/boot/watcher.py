"""Runs inside the booted machine, as root, by Debian's own Python: does things to the service and notes what is seen.

Each step's findings go to /findings.json at once, so that a step that hangs hides nothing of those before.
"""

import json
import os
import signal
import stat
import subprocess
import time
import traceback
import urllib.request
from pathlib import Path

HOME = Path("/var/lib/hermes")
CONFIG = HOME / "config.yaml"
HERMES = "/opt/hermes/bin/hermes"
found: dict[str, object] = {}


def run(*words: str) -> dict[str, object]:
    began = time.monotonic()
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "HERMES_HOME": str(HOME)},
    )
    took = round(time.monotonic() - began, 2)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr, "seconds": took}


def show(name: str) -> str:
    return str(run("systemctl", "show", "-p", name, "--value", "hermes")["out"]).strip()


def state() -> dict[str, object]:
    names = ("ActiveState", "SubState", "Result", "NRestarts", "ExecMainStatus", "StatusText")
    return {name: show(name) for name in names}


def restarted(times: int) -> dict[str, object]:
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        if int(show("NRestarts")) >= times and show("ActiveState") == "active":
            break
        time.sleep(0.1)
    return state()


def ready() -> object:
    try:
        with urllib.request.urlopen("http://127.0.0.1:8642/ready", timeout=3) as answer:
            return answer.status
    except OSError as error:
        return str(error)


def pid() -> int:
    return int(show("MainPID"))


def start() -> object:
    started = run("systemctl", "start", "hermes")
    home = HOME.stat()
    return {
        "start": started,
        **state(),
        "ready": ready(),
        "home": {"mode": stat.S_IMODE(home.st_mode), "is_root": home.st_uid == 0},
        "files": sorted({stat.S_IMODE(p.stat().st_mode) for p in HOME.iterdir() if p.is_file()}),
        "uid": Path(f"/proc/{pid()}").stat().st_uid,
        "said_ready": "ready http://"
        in str(run("journalctl", "-u", "hermes", "--no-pager", "-o", "cat")["out"]),
    }


def kill() -> object:
    os.kill(pid(), signal.SIGKILL)
    return {**restarted(1), "ready": ready()}


def hang() -> object:
    os.kill(pid(), signal.SIGSTOP)
    return {**restarted(2), "ready": ready()}


def restart() -> object:
    before = pid()
    asked = run(HERMES, "gateway", "restart")
    return {"asked": asked, **restarted(3), "same": pid() == before}


def reload() -> object:
    before = pid()
    with CONFIG.open("a") as file:
        file.write("logging: {level: debug}\n")
    done = run("systemctl", "reload", "hermes")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if "settings.reloaded" in str(run("journalctl", "-u", "hermes", "--no-pager", "-o", "cat")["out"]):
            break
        time.sleep(0.2)
    else:
        return {"reload": done, "same": pid() == before, "taken": False}
    return {"reload": done, "same": pid() == before, "taken": True}


def closed() -> object:
    inside = ("nsenter", "-t", str(pid()), "-m")
    return {
        place: run(*inside, "touch", f"{place}/x")["err"]
        for place in ("/usr", "/etc", "/opt/hermes", "/root")
    }


def as_service(*words: str) -> dict[str, object]:
    """As docs/install.md has it for root, but without a terminal."""
    kept = ("-p", "User=hermes", "-p", "DynamicUser=yes", "-p", "StateDirectory=hermes")
    home = ("-E", f"HERMES_HOME={HOME}")
    return run("systemd-run", "-q", "--pipe", "--wait", "--collect", *kept, *home, HERMES, *words)


def commands() -> object:
    return {
        "status": run(HERMES, "status", "--json"),
        "doctor": run(HERMES, "doctor"),
        "pairing": run(HERMES, "pairing", "list", "--json"),
        "refused": run(HERMES, "config", "set", "logging.level", "info"),
        "set": as_service("config", "set", "logging.level", "info"),
        "owners": {p.name: p.stat().st_uid for p in HOME.iterdir()},
        "uid": Path(f"/proc/{pid()}").stat().st_uid,
    }


def stop() -> object:
    return {"stop": run("systemctl", "stop", "hermes"), **state()}


def broken() -> object:
    whole = CONFIG.read_text()
    CONFIG.write_text("gateway: {http: {port: many}}\n")
    failed = run("systemctl", "start", "hermes")
    time.sleep(4)  # longer than RestartSec: nothing may happen meanwhile
    seen = {"start": failed, **state()}
    CONFIG.write_text(whole)
    run("systemctl", "reset-failed", "hermes")
    return {**seen, "again": run("systemctl", "start", "hermes"), "after": state()}


def judged() -> object:
    unit = "/etc/systemd/system/hermes.service"
    return {
        "verify": run("systemd-analyze", "verify", unit),
        "security": run("systemd-analyze", "security", "--no-pager", "hermes.service"),
    }


def uninstalled() -> object:
    done = run(HERMES, "gateway", "uninstall")
    left = [str(p) for p in Path("/etc/systemd").rglob("hermes*") if not p.name.endswith(".d")]
    return {
        "uninstall": done,
        "left": left,
        "home": sorted(p.name for p in HOME.iterdir()),
        "state": show("LoadState"),
    }


def person() -> object:
    """A person's own service: begun without anybody logged in, since their manager lingers."""
    run("useradd", "--create-home", "--uid", "1000", "kim")
    lingers = run("loginctl", "enable-linger", "kim")
    runtime, home = Path("/run/user/1000"), Path("/home/kim/.hermes")
    as_kim = (
        "runuser",
        "-u",
        "kim",
        "--",
        "env",
        "-u",
        "HERMES_HOME",
        f"XDG_RUNTIME_DIR={runtime}",
        "HOME=/home/kim",
    )
    deadline = time.monotonic() + 20
    while not (runtime / "systemd" / "private").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    installed = run(*as_kim, HERMES, "gateway", "install")
    made = stat.S_IMODE(home.stat().st_mode)
    (home / "config.yaml").write_text("platforms: {api: {key: secret-of-the-test}}\n")
    (home / "config.yaml").chmod(0o600)
    run("chown", "-R", "kim:", str(home))
    systemctl = (*as_kim, "systemctl", "--user")
    begun = run(*systemctl, "enable", "--now", "hermes")
    seen = {"lingers": lingers, "installed": installed, "begun": begun, "ready": ready()}
    killed = run(*systemctl, "kill", "-s", "KILL", "hermes")
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        restarts = str(run(*systemctl, "show", "-p", "NRestarts", "--value", "hermes")["out"]).strip()
        if restarts == "1" and ready() == 200:
            break
        time.sleep(0.1)
    asked = run(*as_kim, HERMES, "gateway", "restart")
    stopped = run(*systemctl, "stop", "hermes")
    result = str(run(*systemctl, "show", "-p", "Result", "--value", "hermes")["out"]).strip()
    return {
        **seen,
        "made": made,
        "killed": killed,
        "restarts": restarts,
        "asked": asked,
        "stopped": stopped,
        "result": result,
        "log": run("journalctl", "--no-pager", "-n", "60", "_UID=1000")["out"],
        "uninstalled": run(*as_kim, HERMES, "gateway", "uninstall"),
        "left": sorted(str(p) for p in Path("/home/kim/.config/systemd").rglob("*") if not p.is_dir()),
        "home": sorted(p.name for p in home.iterdir()),
    }


STEPS = (start, kill, hang, restart, reload, closed, commands, judged, stop, broken, uninstalled, person)


def main() -> None:
    for step in STEPS:
        try:
            found[step.__name__] = step()
        except Exception:  # noqa: BLE001  whatever it was is what was found
            found[step.__name__] = {"raised": traceback.format_exc()}
        found["journal"] = run("journalctl", "-u", "hermes", "--no-pager")["out"]
        Path("/findings.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
