"""What the daemon says of itself to Prometheus, as text. Pure but for the library, which is imported when it is first asked.

Source: Prometheus, "Text format" 0.0.4, and "Metric and label naming".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.disk import Disk
from hermes.messages import JSONObject

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

__all__ = ["Seen", "render"]

_LABELS = ("provider", "model", "task")
_KINDS = ("prompt", "cached", "completion")


@dataclass(frozen=True, slots=True)
class Seen:
    """What is shown. figures: by name, without `hermes_`. connected: by platform instance.

    models: rows of `Figures.counted`.
    """

    figures: Mapping[str, float]
    connected: Mapping[str, bool]
    disk: Disk
    models: Sequence[JSONObject] = field(default=())


def render(seen: Seen) -> bytes:
    """All of it in Prometheus' text format. Blocks for the import, so it belongs in a thread."""
    from prometheus_client import CollectorRegistry, Gauge, generate_latest  # noqa: PLC0415  paid for when asked

    registry = CollectorRegistry()
    for name, value in seen.figures.items():
        Gauge(f"hermes_{name}", name.replace("_", " "), registry=registry).set(value)
    up = Gauge("hermes_platform_connected", "1 when connected", ["instance"], registry=registry)
    for instance, is_connected in seen.connected.items():
        up.labels(instance).set(is_connected)
    _disk_gauges(registry, seen.disk)
    registry.register(_Models(seen.models))
    return generate_latest(registry)


def _disk_gauges(registry: CollectorRegistry, disk: Disk) -> None:
    from prometheus_client import Gauge  # noqa: PLC0415  paid for when asked

    taken = Gauge("hermes_disk_bytes", "bytes in the home", ["kind"], registry=registry)
    for kind, size in disk["kinds"].items():
        taken.labels(kind).set(size)
    Gauge("hermes_disk_free_bytes", "free on the home's disk", registry=registry).set(disk["free"])


class _Models:
    """Counters of what the models have used."""

    def __init__(self, rows: Sequence[JSONObject]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415  paid for when asked

        calls = CounterMetricFamily("hermes_model_calls", "answered calls of models", labels=_LABELS)
        tokens = CounterMetricFamily(
            "hermes_model_tokens",
            "tokens; cached ones are among those of the prompt",
            labels=(*_LABELS, "kind"),
        )
        cost = CounterMetricFamily("hermes_model_cost_dollars", "where a price is known", labels=_LABELS)
        for row in self._rows:
            labels = _labels(row)
            calls.add_metric(labels, row["calls"])
            for kind in _KINDS:
                tokens.add_metric([*labels, kind], row[kind])
            if row["cost"] is not None:
                cost.add_metric(labels, row["cost"])
        yield from (calls, tokens, cost)


def _labels(row: Mapping[str, Any]) -> list[str]:
    provider, _, model = str(row["model"]).partition("/")
    return [provider, model or provider, str(row["task"])]
