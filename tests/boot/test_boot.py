"""The unit that `hermes gateway install` writes, in a machine that systemd boots."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine import CACHE, ROOT, missing, run, small_machine, wheels

pytestmark = [
    pytest.mark.skipif((why := missing("debootstrap", "systemd-nspawn")) is not None, reason=str(why)),
    pytest.mark.timeout(900),
]
CONFIG = """
platforms:
  api: {key: secret-of-the-test}
"""
# Seconds that a test can wait for; all else is as it was written.
FASTER = """
[Service]
WatchdogSec=3
TimeoutAbortSec=2
"""
WATCHER = """
[Unit]
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /watcher.py
ExecStopPost=/bin/systemctl --no-block poweroff

[Install]
WantedBy=multi-user.target
"""
INSTALL = """
set -e
python3 -m venv /opt/hermes
/opt/hermes/bin/pip install -q --no-index --find-links /wheels --require-hashes -r /source/requirements.lock
cp -r /source /tmp/source
/opt/hermes/bin/pip install -q --no-index --no-deps --no-build-isolation /tmp/source
/opt/hermes/bin/hermes gateway install
mkdir -p /var/lib/hermes
install -m 0600 /config.yaml /var/lib/hermes/config.yaml
systemctl enable watcher.service
"""
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "requirements.lock")
PACKAGES = ("hermes", "gateway", "agent_core", "adapters", "media", "tools", "skills")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Return what the watcher saw in the booted machine."""
    folder = tmp_path_factory.mktemp("boot")
    machine = CACHE / f"boot-{folder.name}"
    shutil.rmtree(machine, ignore_errors=True)
    run("cp", "-a", small_machine(), machine)
    try:
        yield _booted(machine, folder)
    finally:
        shutil.rmtree(machine, ignore_errors=True)


def _booted(machine: Path, folder: Path) -> dict[str, Any]:
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    units = machine / "etc" / "systemd" / "system"
    (units / "hermes.service.d").mkdir()
    (units / "hermes.service.d" / "faster.conf").write_text(FASTER)
    (units / "watcher.service").write_text(WATCHER)
    (machine / "config.yaml").write_text(CONFIG)
    shutil.copy(Path(__file__).with_name("watcher.py"), machine)
    nspawn = ("systemd-nspawn", "-q", "-D", machine, "--register=no", "--keep-unit", "--link-journal=no")
    run(
        *nspawn,
        *(f"--bind-ro={wheels()}:/wheels", f"--bind-ro={source}:/source", "--pipe"),
        *("/bin/sh", "-c", INSTALL),
        seconds=300,
    )
    log = folder / "console"
    with log.open("wb") as console:
        subprocess.run(
            [str(w) for w in (*nspawn, "--boot", "--private-network")],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            timeout=420,
            check=False,
        )
    file = machine / "findings.json"
    assert file.exists(), log.read_text(errors="replace")[-4000:]
    seen: dict[str, Any] = json.loads(file.read_text())
    for step, what in seen.items():
        assert "raised" not in what, f"{step}: {what}\n{seen.get('journal', '')[-4000:]}"
    return seen


def test_PR_13_the_service_is_started_when_it_is_ready(found: dict[str, Any]) -> None:
    seen = found["start"]
    assert seen["start"]["code"] == 0, found["journal"]
    assert (seen["ActiveState"], seen["SubState"]) == ("active", "running")
    assert seen["ready"] == 200
    assert seen["said_ready"]
    assert seen["uid"] != 0
    assert seen["home"] == {"mode": 0o700, "is_root": False}
    assert seen["files"] == [0o600]


def test_a_killed_service_is_started_again(found: dict[str, Any]) -> None:
    assert (found["kill"]["NRestarts"], found["kill"]["ActiveState"], found["kill"]["ready"]) == (
        "1",
        "active",
        200,
    )


def test_PR_14_one_that_hangs_is_ended_by_the_watchdog_and_started_again(found: dict[str, Any]) -> None:
    assert (found["hang"]["NRestarts"], found["hang"]["ActiveState"], found["hang"]["ready"]) == (
        "2",
        "active",
        200,
    )
    assert "watchdog" in found["journal"].lower()


def test_a_restart_that_was_asked_for_is_done_by_the_service_manager(found: dict[str, Any]) -> None:
    seen = found["restart"]
    assert seen["asked"]["code"] == 0, seen["asked"]
    assert (seen["NRestarts"], seen["same"]) == ("3", False)
    assert "status=75" in found["journal"]


def test_a_reload_takes_the_settings_over_and_keeps_the_process(found: dict[str, Any]) -> None:
    seen = found["reload"]
    assert (seen["reload"]["code"], seen["same"], seen["taken"]) == (0, True, True), seen


def test_the_service_can_write_nowhere_but_into_its_home(found: dict[str, Any]) -> None:
    for place, said in found["closed"].items():
        assert "Read-only file system" in said, place


def test_commands_of_root_reach_the_service(found: dict[str, Any]) -> None:
    seen = found["commands"]
    assert seen["status"]["code"] == 0
    assert json.loads(seen["status"]["out"])["platforms"]["api"]["state"] == "connected"
    assert seen["doctor"]["code"] == 0, seen["doctor"]
    assert seen["pairing"]["code"] == 0, seen["pairing"]


def test_settings_are_changed_as_the_services_user(found: dict[str, Any]) -> None:
    seen = found["commands"]
    assert (seen["refused"]["code"], "systemd-run" in seen["refused"]["err"]) == (78, True), seen["refused"]
    assert seen["set"]["code"] == 0, seen["set"]
    assert set(seen["owners"].values()) == {seen["uid"]}, seen["owners"]


def test_systemd_itself_finds_nothing_wrong_with_the_unit(found: dict[str, Any]) -> None:
    verify, security = found["judged"]["verify"], found["judged"]["security"]
    assert (verify["code"], verify["out"], verify["err"]) == (0, "", ""), verify
    level = security["out"].rpartition("hermes.service: ")[2].split()[0]
    print(f"exposure level of the running unit: {level}")
    assert float(level) <= 3.0


def test_PR_01_PR_03_a_stop_ends_well_and_in_time(found: dict[str, Any]) -> None:
    seen = found["stop"]
    assert (seen["stop"]["code"], seen["ActiveState"], seen["Result"]) == (0, "inactive", "success")
    assert seen["ExecMainStatus"] == "0"
    assert seen["stop"]["seconds"] < 10


def test_a_broken_configuration_is_not_started_again_and_again(found: dict[str, Any]) -> None:
    seen = found["broken"]
    assert seen["start"]["code"] != 0
    assert (seen["ActiveState"], seen["ExecMainStatus"], seen["NRestarts"]) == ("failed", "78", "0")
    assert "gateway.http.port" in found["journal"]
    assert seen["again"]["code"] == 0
    assert seen["after"]["ActiveState"] == "active"


def test_uninstalling_leaves_nothing_but_the_home(found: dict[str, Any]) -> None:
    seen = found["uninstalled"]
    assert seen["uninstall"]["code"] == 0, seen["uninstall"]
    assert seen["left"] == []
    assert {"config.yaml", "state.db"} <= set(seen["home"])


def test_a_persons_own_service_runs_without_anybody_logged_in(found: dict[str, Any]) -> None:
    seen = found["person"]
    for step in ("lingers", "installed", "begun", "killed", "asked", "stopped", "uninstalled"):
        assert seen[step]["code"] == 0, (step, seen[step], seen["log"])
    assert (seen["ready"], seen["restarts"], seen["result"]) == (200, "1", "success"), seen["log"]
    assert seen["made"] == 0o700
    assert seen["left"] == []
    assert {"config.yaml", "state.db"} <= set(seen["home"])
