"""The systemd unit: its times, its hardening as systemd itself judges it, how it is written."""

import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from gateway.unit import STATE, STOP_MARGIN, Unit, plan, remove, render, write
from hermes.errors import ConfigError
from hermes.home import Home

ROOT = Path(__file__).parents[2]
analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def a_unit(tmp_path: Path, *, home: Path = STATE, drain: float = 30.0, kind: str = "own") -> Unit:
    program = tmp_path / "bin" / "hermes"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / "hermes.service"
    if kind == "user":
        return Unit(path, program, home, drain, system=False, user="", own_state=False)
    if kind == "root":
        return Unit(path, program, home, drain, user="root", own_state=False)
    return Unit(path, program, home, drain)


def value(text: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("kind", ["own", "root", "user"])
def test_PR_03_the_stop_time_is_longer_than_the_drain(tmp_path: Path, kind: str) -> None:
    text = render(a_unit(tmp_path, drain=60.5, kind=kind))
    [stop] = value(text, "TimeoutStopSec")
    assert int(stop) >= 60.5 + 30  # what `hermes gateway stop` waits for beyond the drain
    assert int(stop) == 61 + STOP_MARGIN
    assert value(text, "KillMode") == ["mixed"]
    assert value(text, "Restart") == ["on-failure"]
    assert value(text, "RestartForceExitStatus") == ["75"]
    assert value(text, "Type") == ["notify"]
    assert int(value(text, "WatchdogSec")[0]) > 0
    assert "PYTHONSAFEPATH=1" in text


def test_PR_03_no_secret_is_in_the_unit(tmp_path: Path) -> None:
    environ = {"HERMES_HOME": str(tmp_path), "OPENAI_API_KEY": "sk-hush", "TELEGRAM_TOKEN": "1:hush"}
    assert "hush" not in render(plan(Home(tmp_path), environ, drain=30))


@analyze
@pytest.mark.parametrize("kind", ["own", "root", "user"])
@pytest.mark.parametrize("home", ["/var/lib/hermes", "/srv/a b%c/home"])
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path, kind: str, home: str) -> None:
    unit = a_unit(tmp_path, home=Path(home), kind=kind)
    write(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit.path)], capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


@analyze
@pytest.mark.parametrize("kind", ["own", "root"])
def test_systemd_calls_it_hardened_with_user_namespaces_open(tmp_path: Path, kind: str) -> None:
    unit = a_unit(tmp_path, kind=kind)
    write(unit)
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=30", str(unit.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "user" in value(unit.path.read_text(), "RestrictNamespaces")[0].split()


def test_a_home_of_ones_own_choice_can_be_written_to(tmp_path: Path) -> None:
    text = render(a_unit(tmp_path, home=Path("/srv/hermes"), kind="root"))
    assert value(text, "ReadWritePaths") == ['"/srv/hermes"']
    assert 'Environment="HERMES_HOME=/srv/hermes"' in text
    assert not value(text, "DynamicUser")
    # PrivateTmp hides /tmp, so a home there is mounted back.
    assert value(render(a_unit(tmp_path, home=Path("/tmp/h"), kind="root")), "BindPaths") == ['"/tmp/h"']


def test_the_system_service_has_a_user_and_a_home_of_its_own(tmp_path: Path) -> None:
    text = render(a_unit(tmp_path))
    assert value(text, "DynamicUser") == ["yes"]
    assert value(text, "StateDirectory") == ["hermes"]
    assert value(text, "RuntimeDirectory") == ["hermes"]
    assert value(text, "WantedBy") == ["multi-user.target"]


def test_a_user_service_asks_for_nothing_that_only_root_may(tmp_path: Path) -> None:
    text = render(a_unit(tmp_path, home=Path("/home/u/.hermes"), kind="user"))
    for key in ("User", "DynamicUser", "CapabilityBoundingSet", "PrivateDevices"):
        assert not value(text, key)
    assert value(text, "WantedBy") == ["default.target"]


def test_the_home_is_made_where_systemd_does_not_make_it(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    write(a_unit(tmp_path, home=home, kind="user"))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    write(a_unit(tmp_path, home=tmp_path / "kept", kind="own"))
    assert not (tmp_path / "kept").exists()


def test_the_unit_at_the_root_of_the_project_is_what_install_would_write() -> None:
    unit = Unit(Path("/etc/systemd/system/hermes.service"), Path("/opt/hermes/bin/hermes"), STATE, 30)
    assert (ROOT / "hermes.service").read_text() == render(unit)


def test_somebody_elses_unit_is_left_alone(tmp_path: Path) -> None:
    unit = a_unit(tmp_path)
    unit.path.write_text("[Service]\nExecStart=/bin/mine\n")
    with pytest.raises(ConfigError, match="--force"):
        write(unit)
    assert "mine" in unit.path.read_text()
    write(unit, force=True)
    write(unit)  # and our own is replaced unasked
    assert stat.S_IMODE(unit.path.stat().st_mode) == 0o644
    remove(unit)
    assert not unit.path.exists()


def test_the_plan_follows_the_home(tmp_path: Path) -> None:
    ours = plan(Home(tmp_path), {"HERMES_HOME": str(tmp_path)}, drain=30)
    assert ours.home == tmp_path
    assert not ours.own_state
    assert ours.program.name == "hermes"
