-- Groups that have a new id on their platform, by the one that they had before.
CREATE TABLE moved_chats (
    instance TEXT NOT NULL,
    chat TEXT NOT NULL,
    now TEXT NOT NULL,
    PRIMARY KEY (instance, chat)
);
