-- Tokens, by the hash of each: see tokens.go. Profiles are JSON.
CREATE TABLE token (
	hash TEXT PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	profiles TEXT NOT NULL,
	approve BOOLEAN NOT NULL,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	workspace TEXT NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL DEFAULT 0,
	used BIGINT NOT NULL DEFAULT 0,
	revoked BIGINT NOT NULL DEFAULT 0
);

-- What only one may do at a time: see latch.go.
CREATE TABLE latch (
	name TEXT PRIMARY KEY
);
