-- What subagents are beside their jobs: see tools/agents. The id is that of the job.
CREATE TABLE subagent (
	id TEXT PRIMARY KEY,
	session TEXT NOT NULL,
	parent TEXT NOT NULL,
	root TEXT NOT NULL,
	owner TEXT NOT NULL,
	agent TEXT NOT NULL,
	label TEXT NOT NULL,
	turns INTEGER NOT NULL DEFAULT 0,
	tokens BIGINT NOT NULL DEFAULT 0,
	cost BIGINT NOT NULL DEFAULT 0,
	mail TEXT NOT NULL DEFAULT '',
	ended BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX subagent_parent ON subagent (parent);
CREATE INDEX subagent_session ON subagent (session);
CREATE INDEX subagent_running ON subagent (owner) WHERE ended = 0;
CREATE INDEX subagent_ended ON subagent (ended) WHERE ended > 0;

-- The conversations of subagents with their models.
CREATE TABLE subagent_message (
	subagent TEXT NOT NULL,
	n INTEGER NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (subagent, n)
);

-- What all subagents below one session have used since a time.
CREATE TABLE subagent_tree (
	root TEXT PRIMARY KEY,
	since BIGINT NOT NULL,
	children INTEGER NOT NULL DEFAULT 0,
	tokens BIGINT NOT NULL DEFAULT 0,
	cost BIGINT NOT NULL DEFAULT 0,
	millis BIGINT NOT NULL DEFAULT 0
);
