-- The chats that are known by a name, and each platform's home: where goes what names no chat.
CREATE TABLE chats (
    instance TEXT NOT NULL,
    chat TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (instance, chat)
) WITHOUT ROWID;
CREATE INDEX chats_at ON chats (at);

CREATE TABLE homes (
    instance TEXT PRIMARY KEY,
    chat TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
