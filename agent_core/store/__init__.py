"""The durable store: one SQLite file, one writing thread, sessions, and what is written behind them."""
