-- What changed, in the order in which it came about: see feed.go.
CREATE TABLE change (
	{{feed}},
	topic TEXT NOT NULL,
	key TEXT NOT NULL,
	at BIGINT NOT NULL
);
CREATE INDEX change_at ON change (at);

-- Work that somebody does some time: see job.go.
CREATE TABLE job (
	id TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	dedupe TEXT UNIQUE,
	payload TEXT NOT NULL,
	state TEXT NOT NULL,
	run_at BIGINT NOT NULL,
	attempt INTEGER NOT NULL DEFAULT 0,
	attempts INTEGER NOT NULL,
	holder TEXT NOT NULL DEFAULT '',
	cancel BOOLEAN NOT NULL DEFAULT FALSE,
	result TEXT NOT NULL DEFAULT '',
	error TEXT NOT NULL DEFAULT '',
	created BIGINT NOT NULL,
	ended BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX job_due ON job (kind, run_at) WHERE state IN ('queued', 'running');
CREATE INDEX job_ended ON job (ended) WHERE ended > 0;

-- How much of their limits callers have used: see limit.go. It may be lost.
CREATE {{unlogged}} TABLE rate (
	key TEXT PRIMARY KEY,
	tat BIGINT NOT NULL
);
