-- Which files the messages of a conversation have: who keeps files, and who forgets, looks here.
CREATE TABLE message_files(
    digest TEXT NOT NULL,         -- SHA-256
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (digest, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_files_by_message ON message_files(message_id);
CREATE INDEX message_files_by_session ON message_files(session_id);
CREATE INDEX message_files_by_time ON message_files(at);
