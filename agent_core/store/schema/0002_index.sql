-- Full text over the messages: external content, so that it can be rebuilt and checked.
-- index.py makes these again after damage.

CREATE VIEW messages_text(id, body) AS SELECT id, coalesce(search_text, body) FROM messages;

CREATE VIRTUAL TABLE messages_fts USING fts5(
    body, content='messages_text', content_rowid='id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

CREATE TRIGGER messages_indexed AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, body) VALUES (new.id, coalesce(new.search_text, new.body));
END;

CREATE TRIGGER messages_removed AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, body)
    VALUES ('delete', old.id, coalesce(old.search_text, old.body));
END;

CREATE TRIGGER messages_reworded AFTER UPDATE OF id, body, search_text ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, body)
    VALUES ('delete', old.id, coalesce(old.search_text, old.body));
    INSERT INTO messages_fts(rowid, body) VALUES (new.id, coalesce(new.search_text, new.body));
END;
