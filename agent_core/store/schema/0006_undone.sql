-- Which turns of a conversation were taken back: asked after each turn, and all that went before must not be looked through.
CREATE INDEX turns_undone ON turns(session_id, begun_at) WHERE undone = 1;
