"""The scene is the crash suite's."""

from tests.crash.conftest import make_house

__all__ = ["make_house"]
