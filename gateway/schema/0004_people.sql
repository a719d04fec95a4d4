-- One person with several accounts, and the codes by which accounts are joined.
-- place: a session key without its agent; where a person's conversation, or an account's own, is kept.

CREATE TABLE people (
    id TEXT PRIMARY KEY,
    role TEXT,                             -- given by the owner; NULL: by the rights of the accounts
    place TEXT UNIQUE,
    created_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE accounts (
    instance TEXT NOT NULL,
    sender TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    person TEXT REFERENCES people (id),    -- NULL: it left, and is kept for `parted`
    place TEXT,
    parted INTEGER NOT NULL DEFAULT 0,     -- how often it left a conversation that was kept under its own key
    code TEXT,                             -- the digest of the code by which it was joined
    joined_at REAL NOT NULL,
    PRIMARY KEY (instance, sender)
) WITHOUT ROWID;
CREATE INDEX accounts_person ON accounts (person) WHERE person IS NOT NULL;

CREATE TABLE link_codes (
    instance TEXT NOT NULL,
    sender TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT,
    target TEXT,                           -- JSON; where its giver is told that it was used
    digest TEXT NOT NULL,                  -- SALT$SHA256
    expires_at REAL NOT NULL,
    PRIMARY KEY (instance, sender)
) WITHOUT ROWID;
