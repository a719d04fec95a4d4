-- Everything that was taken, in the order of its arrival.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    ticket TEXT NOT NULL UNIQUE,
    instance TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    replay_key TEXT,
    session_key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    admission TEXT NOT NULL,
    event TEXT,
    fingerprint TEXT,
    volatile INTEGER NOT NULL DEFAULT 0,
    received_at REAL NOT NULL,
    not_before REAL NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'waiting',
    turn_id TEXT,
    answer TEXT,
    usage TEXT,
    closed_at REAL,
    UNIQUE (instance, dedupe_key)
);
CREATE INDEX inbox_open ON inbox (id) WHERE state IN ('waiting', 'running');
CREATE INDEX inbox_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_session ON inbox (session_key, id);
CREATE INDEX inbox_replay ON inbox (instance, replay_key, received_at) WHERE replay_key IS NOT NULL;
CREATE INDEX inbox_received ON inbox (received_at);

-- Everything that is to be sent, one row per call to a platform.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    instance TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    kind TEXT NOT NULL,
    turn_id TEXT,
    text TEXT NOT NULL,
    format TEXT NOT NULL DEFAULT '{}',
    state TEXT NOT NULL DEFAULT 'queued',
    again INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    due_at REAL NOT NULL DEFAULT 0,
    claimed_at REAL,
    closed_at REAL,
    message_id TEXT,
    error TEXT
);
CREATE INDEX outbox_open ON outbox (id) WHERE state IN ('queued', 'sending');
CREATE INDEX outbox_closed ON outbox (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE watermarks (
    instance TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (instance, name)
) WITHOUT ROWID;

-- What was not taken: counted by day and reason, without its text.
CREATE TABLE verdicts (
    day TEXT NOT NULL,
    instance TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (day, instance, verdict, reason)
) WITHOUT ROWID;

CREATE TABLE unparsable (
    id INTEGER PRIMARY KEY,
    instance TEXT NOT NULL,
    raw TEXT NOT NULL,
    error TEXT NOT NULL,
    at REAL NOT NULL
);

CREATE TABLE pairings (
    instance TEXT NOT NULL,
    sender TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    code TEXT,
    codes_given INTEGER NOT NULL DEFAULT 0,
    asked_at REAL NOT NULL,
    expires_at REAL,
    approved_at REAL,
    PRIMARY KEY (instance, sender)
) WITHOUT ROWID;
