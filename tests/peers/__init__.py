"""Small real servers that speak a platform's wire protocol on loopback, check requests, and inject faults.

In process: `async with TelegramPeer() as peer`, `async with ModelPeer() as peer`, or the fixtures
`telegram_peer` and `model_peer`. As programs: `peer_program("telegram")`, `peer_program("model", "--checks",
"off")`, steered with `TelegramPeerControl(base)` and `ModelPeerControl(base)`. What no correct client does
lands in `violations`.
"""
