-- Work that some process does at some time: see internal/jobs.
CREATE TABLE job (
	id TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	once TEXT UNIQUE,
	owner TEXT NOT NULL,
	agent TEXT NOT NULL,
	payload TEXT NOT NULL,
	state TEXT NOT NULL,
	run_at BIGINT NOT NULL,
	attempt INTEGER NOT NULL DEFAULT 0,
	attempts INTEGER NOT NULL,
	holder TEXT NOT NULL DEFAULT '',
	saved TEXT NOT NULL DEFAULT '',
	stop TEXT NOT NULL DEFAULT '',
	result TEXT NOT NULL DEFAULT '',
	reason TEXT NOT NULL DEFAULT '',
	created BIGINT NOT NULL,
	ended BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX job_queued ON job (kind, run_at) WHERE state = 'queued';
CREATE INDEX job_running ON job (kind, run_at) WHERE state = 'running';
CREATE INDEX job_ended ON job (ended) WHERE ended > 0;
CREATE INDEX job_owner ON job (owner, kind);
