"""Reading, watching and changing the configuration. It knows no section: the schema is handed in."""

from gateway.config.live import LiveSettings
from gateway.config.loading import load
from gateway.config.problems import Problem, Problems

__all__ = ["LiveSettings", "Problem", "Problems", "load"]
