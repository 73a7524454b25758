-- Jobs that are due at times: see tools/automation. Their next run is a row of job.
CREATE TABLE cron (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	name TEXT NOT NULL,
	body TEXT NOT NULL,
	enabled INTEGER NOT NULL,
	next_at BIGINT NOT NULL,
	queued TEXT NOT NULL,
	failures INTEGER NOT NULL DEFAULT 0,
	created BIGINT NOT NULL
);
CREATE UNIQUE INDEX cron_name ON cron (agent, usr, name);

-- What became of them. The id is that of the row in job.
CREATE TABLE cron_run (
	id TEXT PRIMARY KEY,
	cron TEXT NOT NULL,
	due BIGINT NOT NULL,
	began BIGINT NOT NULL,
	ended BIGINT NOT NULL DEFAULT 0,
	state TEXT NOT NULL,
	output TEXT NOT NULL DEFAULT ''
);
CREATE INDEX cron_run_cron ON cron_run (cron, began);
