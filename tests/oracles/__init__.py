"""Machine-readable specifications that the peers check every request against."""
