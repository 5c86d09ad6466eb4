-- A study: one SQLite file. Texts of a question stand in versions, so that every rating says which words were rated.
-- SQLite stores any type in any column, so each says what it takes; a study is checked against this when it is opened.
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL CHECK (typeof(value) = 'text'));
CREATE TABLE documents (
    id TEXT PRIMARY KEY CHECK (typeof(id) = 'text'),
    text TEXT NOT NULL CHECK (typeof(text) = 'text')
);
CREATE TABLE questions (
    id TEXT PRIMARY KEY CHECK (typeof(id) = 'text'),
    document TEXT REFERENCES documents (id),
    domain TEXT NOT NULL DEFAULT '' CHECK (typeof(domain) = 'text'),
    category TEXT NOT NULL DEFAULT '' CHECK (typeof(category) = 'text'),
    source TEXT NOT NULL DEFAULT '' CHECK (typeof(source) = 'text'),
    place INTEGER NOT NULL UNIQUE CHECK (typeof(place) = 'integer')
);
CREATE TABLE versions (
    question_id TEXT NOT NULL REFERENCES questions (id),
    version INTEGER NOT NULL CHECK (typeof(version) = 'integer' AND version >= 1),
    question TEXT NOT NULL CHECK (typeof(question) = 'text'),
    reference TEXT NOT NULL CHECK (typeof(reference) = 'text'),
    rationale TEXT CHECK (typeof(rationale) IN ('text', 'null')),
    transcription TEXT CHECK (typeof(transcription) IN ('text', 'null')),
    PRIMARY KEY (question_id, version)
);
CREATE TABLE candidates (
    id TEXT PRIMARY KEY CHECK (typeof(id) = 'text'),
    question_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    model TEXT NOT NULL CHECK (typeof(model) = 'text'),
    text TEXT NOT NULL CHECK (typeof(text) = 'text'),
    place INTEGER NOT NULL UNIQUE CHECK (typeof(place) = 'integer'),
    UNIQUE (question_id, version, model),
    FOREIGN KEY (question_id, version) REFERENCES versions (question_id, version)
);
CREATE TABLE annotations (
    candidate TEXT NOT NULL REFERENCES candidates (id),
    annotator TEXT NOT NULL CHECK (typeof(annotator) = 'text'),
    rating INTEGER CHECK (typeof(rating) IN ('integer', 'null')),
    codes TEXT NOT NULL DEFAULT '' CHECK (typeof(codes) = 'text'),
    comment TEXT NOT NULL DEFAULT '' CHECK (typeof(comment) = 'text'),
    at TEXT NOT NULL CHECK (typeof(at) = 'text'),
    PRIMARY KEY (candidate, annotator),
    CHECK (rating IS NOT NULL OR codes <> '' OR comment <> '')
);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    question_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('keep', 'correct', 'remove')),
    editor TEXT NOT NULL CHECK (typeof(editor) = 'text'),
    note TEXT NOT NULL DEFAULT '' CHECK (typeof(note) = 'text'),
    at TEXT NOT NULL CHECK (typeof(at) = 'text'),
    FOREIGN KEY (question_id, version) REFERENCES versions (question_id, version)
);
CREATE TABLE corrections (
    review INTEGER NOT NULL REFERENCES reviews (id),
    field TEXT NOT NULL CHECK (field IN ('question', 'reference', 'rationale', 'transcription')),
    old TEXT CHECK (typeof(old) IN ('text', 'null')),
    new TEXT CHECK (typeof(new) IN ('text', 'null')),
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
-- The columns of a question, as records.Question has them, then its place.
CREATE VIEW question_versions AS
SELECT q.id, v.question, v.reference, v.rationale, v.transcription, q.document, q.domain, q.category, q.source, v.version, q.place
FROM versions v JOIN questions q ON q.id = v.question_id;
-- Questions that count, with their newest version: all but those whose last review removed them.
CREATE VIEW current_versions AS
SELECT question_id, MAX(version) AS version FROM versions v
WHERE COALESCE((SELECT decision FROM reviews r WHERE r.question_id = v.question_id ORDER BY r.id DESC LIMIT 1), '') <> 'remove'
GROUP BY question_id;
