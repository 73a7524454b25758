-- The record of calls: see audit.go. A chain is what one process has recorded
-- since one start. What is true of it is sealed in lines; columns help to find
-- them.
CREATE TABLE audit_chain (
	id BIGINT PRIMARY KEY,
	key TEXT NOT NULL,
	line TEXT NOT NULL,
	seq BIGINT NOT NULL,
	hash TEXT NOT NULL,
	seen BIGINT NOT NULL,
	ended BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX audit_chain_seen ON audit_chain (seen, id);
CREATE INDEX audit_chain_key ON audit_chain (key);

CREATE TABLE audit_record (
	chain BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	at BIGINT NOT NULL,
	who BIGINT NOT NULL,
	what TEXT NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (chain, seq)
);
CREATE INDEX audit_record_at ON audit_record (at, chain, seq);
CREATE INDEX audit_record_who ON audit_record (who, what) WHERE who <> 0;

-- How far chains have come, and what was removed of them, sealed with a key.
CREATE TABLE audit_head (
	key TEXT NOT NULL,
	number BIGINT NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (key, number)
);
