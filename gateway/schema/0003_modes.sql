-- What becomes of messages while a conversation is busy, where somebody chose it for that conversation.
CREATE TABLE modes (
    session_key TEXT PRIMARY KEY,
    mode TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX modes_at ON modes (at);
