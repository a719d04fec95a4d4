-- The files that go out with a message: a JSON list of `hermes.files.StoredFile`; NULL: none.
ALTER TABLE outbox ADD COLUMN file TEXT;
CREATE INDEX outbox_file ON outbox (id) WHERE file IS NOT NULL;
