-- Sessions, their messages with a full-text index, turns and their steps.
-- Times are seconds since the epoch.

CREATE TABLE sessions(
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    instance TEXT NOT NULL,
    kind TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    title TEXT NOT NULL DEFAULT '',
    started_at REAL NOT NULL,
    last_at REAL NOT NULL,
    closed_at REAL,               -- NULL: the current run of its key
    archived_at REAL,
    prompt_snapshot TEXT,         -- the system prompt, byte-stable through the session
    model TEXT,
    message_count INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX sessions_current ON sessions(key) WHERE closed_at IS NULL;
CREATE INDEX sessions_by_key ON sessions(key, last_at);
CREATE INDEX sessions_by_time ON sessions(last_at);
CREATE UNIQUE INDEX sessions_title ON sessions(title) WHERE title <> '';

CREATE TABLE messages(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    turn_id TEXT,
    role TEXT NOT NULL,
    at REAL NOT NULL,
    hidden INTEGER NOT NULL DEFAULT 0,  -- 1: taken out of the conversation, kept on disk
    body TEXT NOT NULL,           -- the long columns last: what stands before them is read without overflow pages
    search_text TEXT,             -- NULL unless `body` has script without spaces (see fold.py)
    content TEXT                  -- JSON of what `body`, `role` and `at` do not say; NULL when there is nothing
) STRICT;

CREATE INDEX messages_by_session ON messages(session_id, id);
CREATE INDEX messages_by_turn ON messages(turn_id);
CREATE INDEX messages_hidden ON messages(id) WHERE hidden = 1;

-- The state of the index: `fold` is the version of the folding it was built with; while `broken` is 1 it has no
-- triggers and rows are written without it, until `hermes doctor --fix` rebuilds it.
CREATE TABLE search_state(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fold INTEGER NOT NULL,
    broken INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO search_state(id, fold) VALUES(1, 1);

CREATE TABLE turns(
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    session_key TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open',   -- open, or hermes.agent.TurnState
    starts INTEGER NOT NULL DEFAULT 1,    -- starts since the last stored step
    begun_at REAL NOT NULL,
    last_step_at REAL,
    ended_at REAL,
    error TEXT,
    undone INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX turns_open ON turns(begun_at) WHERE state = 'open';
CREATE INDEX turns_by_session ON turns(session_id, begun_at);
CREATE INDEX turns_by_end ON turns(ended_at);

CREATE TABLE steps(
    turn_id TEXT NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,                -- JSON
    at REAL NOT NULL,
    PRIMARY KEY (turn_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage(
    turn_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    at REAL NOT NULL,
    model TEXT,
    prompt INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    calls INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_session ON usage(session_id);

CREATE TABLE kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
