"""Real SDKs and servers on loopback."""
