"""Events in, replies out: the daemon and its command line. `app` is read first."""
