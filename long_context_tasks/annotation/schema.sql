-- A study: one SQLite file. Texts of a question stand in versions, so that every rating says which words were rated.
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    document TEXT REFERENCES documents (id),
    domain TEXT NOT NULL DEFAULT '',
    category TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL DEFAULT '',
    place INTEGER NOT NULL UNIQUE
);
CREATE TABLE versions (
    question_id TEXT NOT NULL REFERENCES questions (id),
    version INTEGER NOT NULL CHECK (version >= 1),
    question TEXT NOT NULL,
    reference TEXT NOT NULL,
    rationale TEXT,
    transcription TEXT,
    PRIMARY KEY (question_id, version)
);
CREATE TABLE candidates (
    id TEXT PRIMARY KEY,
    question_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    place INTEGER NOT NULL UNIQUE,
    UNIQUE (question_id, version, model),
    FOREIGN KEY (question_id, version) REFERENCES versions (question_id, version)
);
CREATE TABLE annotations (
    candidate TEXT NOT NULL REFERENCES candidates (id),
    annotator TEXT NOT NULL,
    rating INTEGER,
    codes TEXT NOT NULL DEFAULT '',
    comment TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL,
    PRIMARY KEY (candidate, annotator),
    CHECK (rating IS NOT NULL OR codes <> '' OR comment <> '')
);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    question_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('keep', 'correct', 'remove')),
    editor TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL,
    FOREIGN KEY (question_id, version) REFERENCES versions (question_id, version)
);
CREATE TABLE corrections (
    review INTEGER NOT NULL REFERENCES reviews (id),
    field TEXT NOT NULL CHECK (field IN ('question', 'reference', 'rationale', 'transcription')),
    old TEXT,
    new TEXT,
    PRIMARY KEY (review, field)
);
-- What the expert had before them when they decided to keep a question: only other flags ask for a new review.
CREATE TABLE seen (
    review INTEGER NOT NULL REFERENCES reviews (id),
    candidate TEXT NOT NULL,
    annotator TEXT NOT NULL,
    codes TEXT NOT NULL,
    comment TEXT NOT NULL
);
CREATE INDEX reviews_of_questions ON reviews (question_id, id);
CREATE INDEX candidates_of_questions ON candidates (question_id, version);
