-- What each model call has cost, in tokens; of a home from before, what each turn has cost.
CREATE TABLE calls(
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    task TEXT NOT NULL,           -- "turn", or what was done beside it: "title" ...
    turn_id TEXT,
    session_id TEXT NOT NULL,     -- figures are kept when the conversation is deleted
    session_key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    person TEXT NOT NULL,         -- INSTANCE:SENDER
    model TEXT NOT NULL,          -- PROVIDER/MODEL
    calls INTEGER NOT NULL DEFAULT 1,
    prompt INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    estimated INTEGER NOT NULL
) STRICT;

CREATE INDEX calls_by_time ON calls(at);
CREATE INDEX calls_by_session ON calls(session_id);

INSERT INTO calls(at, task, turn_id, session_id, session_key, agent_id, person, model, calls, prompt, completion,
                  cached, reasoning, estimated)
SELECT u.at, 'turn', u.turn_id, u.session_id, s.key, s.agent_id, s.instance || ':', coalesce(u.model, ''), u.calls,
       u.prompt, u.completion, u.cached, u.reasoning, u.estimated
FROM usage u JOIN sessions s ON s.id = u.session_id;

DROP TABLE usage;
