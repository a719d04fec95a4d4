"""Small real servers that speak a platform's wire protocol on loopback, check requests, and inject faults."""
