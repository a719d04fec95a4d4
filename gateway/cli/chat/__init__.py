"""`hermes chat`: a client of the control socket, whoever answers there, a daemon or this very process."""
