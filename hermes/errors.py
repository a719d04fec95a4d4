"""Every error that crosses a layer. A class's docstring is its default message.

HermesError
├── ConfigError            the configuration is wrong (exit 78)
├── HomeError              the home is not usable (exit 78)
│   └── HomeHeld           another daemon holds the home (exit 73)
├── PortTaken              the HTTP port is taken (exit 69)
├── StoreError
│   ├── StoreUnavailable   nothing can be committed or read now; it may pass (disk full, I/O error)
│   ├── StoreCorrupt       rows or index cannot be read
│   └── StoreTooNew        the file was written by a newer version (exit 78)
├── AdapterError
│   ├── Unauthorized       the platform refused the credentials; retrying is useless
│   ├── Unreachable        the platform could not be reached; retrying may help
│   ├── Conflict           somebody else uses the same account
│   ├── NotTaken           a send was certainly not taken; it may be tried again (after `retry_after`)
│   ├── Rejected           a send was refused for good
│   ├── Gone               the message to edit is no longer there
│   └── OutcomeUnknown     a send was written, but its answer was lost
├── ModelError             the model could not be used; `kind` says why
└── ToolError              a tool could not do what was asked; the text goes to the model
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "EXIT_CONFIG",
    "EXIT_HELD",
    "EXIT_NOT_RUNNING",
    "EXIT_OK",
    "EXIT_PORT",
    "EXIT_RESTART",
    "EXIT_UNEXPECTED",
    "AdapterError",
    "ConfigError",
    "Conflict",
    "Gone",
    "HermesError",
    "HomeError",
    "HomeHeld",
    "ModelError",
    "ModelErrorKind",
    "NotTaken",
    "OutcomeUnknown",
    "PortTaken",
    "Rejected",
    "StoreCorrupt",
    "StoreError",
    "StoreTooNew",
    "StoreUnavailable",
    "ToolError",
    "Unauthorized",
    "Unreachable",
]

EXIT_OK = 0
EXIT_UNEXPECTED = 1
EXIT_NOT_RUNNING = 3
EXIT_PORT = 69
EXIT_HELD = 73
EXIT_RESTART = 75
EXIT_CONFIG = 78


class HermesError(Exception):
    """Something in Hermes went wrong."""

    exit_code: int = EXIT_UNEXPECTED

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").splitlines()[0])


class ConfigError(HermesError):
    """The configuration is wrong."""

    exit_code = EXIT_CONFIG


class HomeError(HermesError):
    """The home directory cannot be used."""

    exit_code = EXIT_CONFIG


class HomeHeld(HomeError):
    """Another daemon holds this home."""

    exit_code = EXIT_HELD

    def __init__(self, message: str | None = None, *, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class PortTaken(HermesError):
    """The HTTP port is taken by another process."""

    exit_code = EXIT_PORT


class StoreError(HermesError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """Nothing can be stored at the moment."""


class StoreCorrupt(StoreError):
    """The store's file is damaged; `hermes doctor` says what can be mended."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Hermes."""

    exit_code = EXIT_CONFIG


class AdapterError(HermesError):
    """A platform could not be used."""


class Unauthorized(AdapterError):
    """The platform refused the credentials."""

    def __init__(self, message: str | None = None, *, setting: str | None = None) -> None:
        """setting: the key of the instance, such as "token", whose value was refused, where it is one."""
        super().__init__(message)
        self.setting = setting


class Unreachable(AdapterError):
    """The platform could not be reached."""


class Conflict(AdapterError):
    """Another program uses the same account."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)


class NotTaken(AdapterError):
    """The platform did not take the message; it may be sent again.

    `retry_after`: seconds the platform asked to wait, `None` where it did not say.
    """

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Rejected(AdapterError):
    """The platform refused the message for good."""


class Gone(AdapterError):
    """The message to edit is no longer there."""


class OutcomeUnknown(AdapterError):
    """The message was written to the platform, but its answer was lost."""


ModelErrorKind = Literal[
    "auth", "rate_limit", "overload", "overflow", "bad_request", "network", "timeout", "malformed", "config"
]


class ModelError(HermesError):
    """The model could not be used.

    `kind` is the class of the failure; `status` the HTTP status where there was one; `retry_after` seconds.
    `unknown_model`: the provider does not have the model, or not with tools; another model may do.
    `no_pictures`: the model takes none, whatever they are.
    The message holds no secret and no request text.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        kind: ModelErrorKind,
        status: int | None = None,
        retry_after: float | None = None,
        unknown_model: bool = False,
        no_pictures: bool = False,
    ) -> None:
        super().__init__(message)
        self.unknown_model = unknown_model
        self.no_pictures = no_pictures
        self.kind: ModelErrorKind = kind
        self.status = status
        self.retry_after = retry_after


class ToolError(HermesError):
    """The tool could not do what was asked."""
