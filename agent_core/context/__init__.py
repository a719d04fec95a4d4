"""What of a conversation goes into a request."""
