-- A row may change a message that stands there already, in place of sending a new one.
ALTER TABLE outbox ADD COLUMN edits TEXT;
CREATE INDEX outbox_live ON outbox (turn_id) WHERE kind = 'live';
