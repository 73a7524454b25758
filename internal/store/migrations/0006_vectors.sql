-- Who turns memories into vectors, and how far they are: one row for each model
-- that is in use. See vectors.go.
CREATE TABLE vector_space (
	space TEXT PRIMARY KEY,
	place TEXT NOT NULL,
	holder TEXT NOT NULL,
	until BIGINT NOT NULL,
	seen BIGINT NOT NULL
);

-- What texts mean. The digest is of the owner, the space and the text, so that
-- nobody can tell what others have from what was known already.
CREATE TABLE vector (
	digest TEXT PRIMARY KEY,
	made BIGINT NOT NULL,
	data {{blob}} NOT NULL
);
CREATE INDEX vector_made ON vector (made, digest);

-- The pieces of versions of memories; a digest of '' has no vector. A version
-- is done when it has its first piece.
CREATE TABLE memory_vector (
	space TEXT NOT NULL,
	memory TEXT NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
	n BIGINT NOT NULL,
	version BIGINT NOT NULL,
	digest TEXT NOT NULL,
	PRIMARY KEY (memory, space, n)
);
CREATE INDEX memory_vector_digest ON memory_vector (digest);
