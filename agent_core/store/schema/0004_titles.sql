-- Who gave a conversation its title, so that a model's takes the place of nobody's but its first words'.
ALTER TABLE sessions ADD COLUMN titled TEXT NOT NULL DEFAULT '';  -- words, model, person; '': not known
