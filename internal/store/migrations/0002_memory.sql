-- Which store this is, for whoever keeps a place in its feed: see follow.go.
CREATE TABLE store_identity (
	one INTEGER PRIMARY KEY,
	id TEXT NOT NULL
);

-- The feed is read by (xid, seq), of which SQLite has only the second.
CREATE INDEX change_place ON change (xid, seq);

-- What agents remember: see memory.go.
CREATE TABLE memory (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	path TEXT NOT NULL,
	content TEXT NOT NULL,
	category TEXT NOT NULL,
	tags TEXT NOT NULL,
	version BIGINT NOT NULL,
	created BIGINT NOT NULL,
	updated BIGINT NOT NULL,
	expires BIGINT NOT NULL DEFAULT 0,
	author TEXT NOT NULL,
	session TEXT NOT NULL,
	digest TEXT NOT NULL,
	UNIQUE (agent, usr, path)
);
CREATE INDEX memory_digest ON memory (agent, digest);
CREATE INDEX memory_expires ON memory (expires) WHERE expires > 0;

-- Versions that are over, and how each came to its end.
CREATE TABLE memory_past (
	id TEXT NOT NULL,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	path TEXT NOT NULL,
	content TEXT NOT NULL,
	category TEXT NOT NULL,
	tags TEXT NOT NULL,
	version BIGINT NOT NULL,
	created BIGINT NOT NULL,
	updated BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	author TEXT NOT NULL,
	session TEXT NOT NULL,
	digest TEXT NOT NULL,
	action TEXT NOT NULL,
	ended_by TEXT NOT NULL,
	ended_during TEXT NOT NULL,
	ended BIGINT NOT NULL,
	PRIMARY KEY (agent, usr, path, version)
);
CREATE INDEX memory_past_ended ON memory_past (ended);
