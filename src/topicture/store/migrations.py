"""The schema of the catalog, as ordered steps that are never edited once released; the last number is the version.

images        one row per picture, known by the hash of its picture data (see `identity`), wherever its file lies
places        the files: path relative to the root, size and time stamp at the last scan, and when it was gone
file_words    the keywords that a picture's file, or a sidecar of it, carried when that was last read whole
decisions     the log of everything that people decided; rows are added, never changed
batches       the steps in which the log grew, each undone as one; `undoes` names the step that a step took back
word_changes  words deleted from the collection, or in use again: when, before and after a step
tags          the outcome of that log: the last verdict on each image and word
conflicts     a file says otherwise than a person decided here; `resolved` is the step that settled it
models        what was learned, and when; the files lie in the folder of the same name
suggestions   what a model suggests; never mixed with decisions
written       the words that Topicture put, or was about to put, into the sidecar of a file
troubles      why a sidecar could not be written at the last attempt
questions     pairs of image and word that were drawn at random to be asked about, with the chance of being drawn
regions       where in an image its likely words are; `settled` once a sidecar was written that could have them
words         also: what to do with suggestions of a word (`policy`, and the `precision` to accept from), the word above
              it (`parent`), and the word that it was renamed to or merged into (`merged`); such a word is deleted, too
word_edits    what a step changed about these columns, as text: before and after
lent          suggestions that a word has only because they were made for a word that was merged into it
unlike_words  pairs of words that somebody said not to propose as one again
file_places   what stands directly above what in the trees of tags of a picture's file or its sidecar
written       also: `misplaced` where the word got another place in the tree since it was written
batches       also: `redoes` names the step that was undone and that this one did again
reopened      conflicts that a step had settled and that its undoing opened again: for doing it again
"""

import sqlite3

__all__ = ["APPLICATION_ID", "STEPS", "VERSION"]

APPLICATION_ID = 0x746F7069  # "topi", so that a file manager, or we, can tell a catalog from other databases

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE images (id INTEGER PRIMARY KEY, content BLOB NOT NULL UNIQUE, first_seen REAL NOT NULL,
                                reason TEXT)""",
        """CREATE TABLE places (path BLOB PRIMARY KEY, image INTEGER NOT NULL REFERENCES images, size INTEGER NOT NULL,
                                modified INTEGER NOT NULL, sidecars TEXT NOT NULL DEFAULT '', gone REAL)""",
        "CREATE INDEX places_by_image ON places (image)",
        "CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, deleted REAL)",
        """CREATE TABLE file_words (path BLOB NOT NULL REFERENCES places, word INTEGER NOT NULL REFERENCES words,
                                    PRIMARY KEY (path, word)) WITHOUT ROWID""",
        """CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, image INTEGER NOT NULL REFERENCES images,
                                   word INTEGER NOT NULL REFERENCES words,
                                   verdict TEXT NOT NULL CHECK (verdict IN ('present', 'rejected', 'cleared')),
                                   source TEXT NOT NULL, at REAL NOT NULL, batch INTEGER NOT NULL, undoes INTEGER,
                                   model INTEGER, probability REAL)""",
        "CREATE INDEX decisions_by_pair ON decisions (image, word, id)",
        "CREATE INDEX decisions_by_batch ON decisions (batch)",
        "CREATE INDEX decisions_by_undone ON decisions (undoes) WHERE undoes IS NOT NULL",
        """CREATE TABLE tags (image INTEGER NOT NULL REFERENCES images, word INTEGER NOT NULL REFERENCES words,
                              verdict TEXT NOT NULL, source TEXT NOT NULL, decision INTEGER NOT NULL,
                              PRIMARY KEY (image, word)) WITHOUT ROWID""",
        "CREATE INDEX tags_by_word ON tags (word, verdict, image)",
        "CREATE INDEX tags_by_source ON tags (source, verdict)",
        """CREATE TABLE models (id INTEGER PRIMARY KEY AUTOINCREMENT, folder TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
                                version INTEGER NOT NULL, learned REAL NOT NULL, facts TEXT NOT NULL,
                                annotated REAL)""",
        """CREATE TABLE suggestions (model INTEGER NOT NULL REFERENCES models, image INTEGER NOT NULL REFERENCES images,
                                     word INTEGER NOT NULL REFERENCES words, probability REAL NOT NULL,
                                     PRIMARY KEY (model, image, word)) WITHOUT ROWID""",
        """CREATE TABLE written (path BLOB NOT NULL, word INTEGER NOT NULL REFERENCES words,
                                 state TEXT NOT NULL CHECK (state IN ('planned', 'done')),
                                 by_machine INTEGER NOT NULL, at REAL NOT NULL,
                                 PRIMARY KEY (path, word)) WITHOUT ROWID""",
        "CREATE TABLE troubles (path BLOB PRIMARY KEY, reason TEXT NOT NULL, at REAL NOT NULL)",
    ),
    (
        "CREATE TABLE batches (id INTEGER PRIMARY KEY, source TEXT NOT NULL, at REAL NOT NULL, undoes INTEGER)",
        "CREATE INDEX batches_by_undone ON batches (undoes) WHERE undoes IS NOT NULL",
        """INSERT INTO batches SELECT batch, CASE WHEN max(undoes) > 0 THEN 'undo' WHEN max(undoes) = 0 THEN 'carry'
                                           ELSE min(source) END, min(at), nullif(max(undoes), 0)
           FROM decisions GROUP BY batch""",
        """CREATE TABLE word_changes (batch INTEGER NOT NULL REFERENCES batches,
                                      word INTEGER NOT NULL REFERENCES words, before REAL, after REAL,
                                      PRIMARY KEY (batch, word)) WITHOUT ROWID""",
        """INSERT INTO word_changes SELECT DISTINCT batch, decisions.word, NULL, deleted
           FROM decisions JOIN words ON words.id = decisions.word WHERE source = 'delete' AND undoes IS NULL""",
        """CREATE TABLE conflicts (image INTEGER NOT NULL REFERENCES images, word INTEGER NOT NULL REFERENCES words,
                                   kind TEXT NOT NULL CHECK (kind IN ('removed', 'added')), path BLOB NOT NULL,
                                   at REAL NOT NULL, resolved INTEGER REFERENCES batches,
                                   PRIMARY KEY (image, word)) WITHOUT ROWID""",
        "ALTER TABLE file_words RENAME TO former_file_words",
        """CREATE TABLE file_words (path BLOB NOT NULL REFERENCES places, image INTEGER NOT NULL REFERENCES images,
                                    word INTEGER NOT NULL REFERENCES words, origin TEXT NOT NULL,
                                    PRIMARY KEY (path, image, word, origin)) WITHOUT ROWID""",
        "CREATE INDEX file_words_by_image ON file_words (image, word)",
        # Whether a word stood in the photo or in its sidecar was not noted: both may have said it.
        """INSERT INTO file_words SELECT path, image, word, 'photo' FROM former_file_words JOIN places USING (path)""",
        """INSERT INTO file_words SELECT path, image, word, substr(rest, instr(rest, ' ') + 1)
           FROM former_file_words JOIN (SELECT path, image, substr(sidecars, instr(sidecars, ' ') + 1) AS rest
                                        FROM places WHERE sidecars != '') USING (path)""",
        "DROP TABLE former_file_words",
    ),
    (
        """CREATE TABLE regions (image INTEGER NOT NULL REFERENCES images, word INTEGER NOT NULL REFERENCES words,
                                 x REAL NOT NULL, y REAL NOT NULL, w REAL NOT NULL, h REAL NOT NULL,
                                 probability REAL NOT NULL, model INTEGER NOT NULL REFERENCES models,
                                 settled INTEGER NOT NULL)""",
        "CREATE INDEX regions_by_image ON regions (image, word)",
    ),
    (
        """ALTER TABLE words ADD COLUMN policy TEXT NOT NULL DEFAULT 'suggest'
           CHECK (policy IN ('suggest', 'accept', 'never'))""",
        "ALTER TABLE words ADD COLUMN precision REAL",
        "ALTER TABLE words ADD COLUMN parent INTEGER REFERENCES words",
        "ALTER TABLE words ADD COLUMN merged INTEGER REFERENCES words",
        "CREATE INDEX words_by_parent ON words (parent) WHERE parent IS NOT NULL",
        "CREATE INDEX words_by_merged ON words (merged) WHERE merged IS NOT NULL",
        """CREATE TABLE word_edits (batch INTEGER NOT NULL REFERENCES batches, word INTEGER NOT NULL REFERENCES words,
                                    field TEXT NOT NULL CHECK (field IN ('policy', 'precision', 'parent', 'merged')),
                                    before TEXT, after TEXT, PRIMARY KEY (batch, word, field)) WITHOUT ROWID""",
        """CREATE TABLE lent (word INTEGER NOT NULL REFERENCES words, model INTEGER NOT NULL REFERENCES models,
                              image INTEGER NOT NULL REFERENCES images,
                              PRIMARY KEY (word, model, image)) WITHOUT ROWID""",
        """CREATE TABLE unlike_words (first INTEGER NOT NULL REFERENCES words, second INTEGER NOT NULL REFERENCES words,
                                      at REAL NOT NULL, PRIMARY KEY (first, second)) WITHOUT ROWID""",
        "CREATE INDEX suggestions_by_word ON suggestions (model, word, probability)",
        "CREATE INDEX places_living ON places (image, path) WHERE gone IS NULL",
    ),
    (
        """CREATE TABLE questions (image INTEGER NOT NULL REFERENCES images, word INTEGER NOT NULL REFERENCES words,
                                   model INTEGER, presence REAL NOT NULL, chance REAL NOT NULL, at REAL NOT NULL,
                                   PRIMARY KEY (image, word)) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE file_places (path BLOB NOT NULL REFERENCES places, image INTEGER NOT NULL REFERENCES images,
                                     word INTEGER NOT NULL REFERENCES words,
                                     parent INTEGER NOT NULL REFERENCES words,
                                     PRIMARY KEY (path, image, word, parent)) WITHOUT ROWID""",
        "ALTER TABLE written ADD COLUMN misplaced INTEGER NOT NULL DEFAULT 0",
    ),
    (
        "ALTER TABLE batches ADD COLUMN redoes INTEGER",
        """CREATE TABLE reopened (batch INTEGER NOT NULL REFERENCES batches, image INTEGER NOT NULL REFERENCES images,
                                  word INTEGER NOT NULL REFERENCES words,
                                  PRIMARY KEY (batch, image, word)) WITHOUT ROWID""",
    ),
    (
        "ALTER TABLE places ADD COLUMN taken TEXT",  # by the camera's clock, 2024-05-01T12:30:00
        "ALTER TABLE images ADD COLUMN edit_of INTEGER REFERENCES images",
        "CREATE INDEX images_edited ON images (edit_of) WHERE edit_of IS NOT NULL",
    ),
    (
        "CREATE INDEX word_edits_by_word ON word_edits (word, field)",
        # A policy and its precision are noted together, even where only one of them is news.
        """INSERT INTO word_edits SELECT batch, word, field, said, said FROM (
               SELECT e.batch, e.word, other.field,
                      coalesce((SELECT after FROM word_edits AS f WHERE f.word = e.word AND f.field = other.field
                                AND f.batch < e.batch AND NOT EXISTS (SELECT 1 FROM batches AS u
                                WHERE u.undoes = f.batch AND u.id < e.batch) ORDER BY f.batch DESC LIMIT 1),
                               CASE other.field WHEN 'policy' THEN 'suggest' END) AS said
               FROM word_edits AS e JOIN (SELECT 'policy' AS field UNION SELECT 'precision') AS other
               WHERE e.field IN ('policy', 'precision') AND NOT EXISTS (SELECT 1 FROM word_edits AS own
               WHERE own.batch = e.batch AND own.word = e.word AND own.field = other.field))""",
        "CREATE INDEX word_edits_by_outcome ON word_edits (after, field)",
        "CREATE INDEX word_changes_by_word ON word_changes (word)",
        "CREATE INDEX decisions_by_word ON decisions (word, batch)",
        "CREATE INDEX written_by_word ON written (word)",
    ),
)

VERSION = len(STEPS)


def migrate(database: sqlite3.Connection) -> None:
    """Bring a database to `VERSION`, one transaction per step; a crash leaves it at a whole step."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    for number, step in enumerate(STEPS[version:], start=version + 1):
        database.execute("BEGIN IMMEDIATE")
        try:
            for statement in step:
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {number}")
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:  # SQLite has rolled back by itself where the disk was full
                database.execute("ROLLBACK")
            raise
