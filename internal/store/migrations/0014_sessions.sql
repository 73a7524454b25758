-- Who talks through which connection, under which key: see tools/sessions. The
-- column session is the name under which the audit log has the calls.
CREATE TABLE session (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	key TEXT NOT NULL,
	session TEXT NOT NULL,
	channel TEXT NOT NULL,
	client TEXT NOT NULL,
	label TEXT NOT NULL DEFAULT '',
	provider TEXT NOT NULL DEFAULT '',
	model TEXT NOT NULL DEFAULT '',
	parent TEXT NOT NULL DEFAULT '',
	depth BIGINT NOT NULL DEFAULT 0,
	calls BIGINT NOT NULL DEFAULT 0,
	failed BIGINT NOT NULL DEFAULT 0,
	tokens_in BIGINT NOT NULL DEFAULT 0,
	tokens_out BIGINT NOT NULL DEFAULT 0,
	host TEXT NOT NULL DEFAULT '',
	created BIGINT NOT NULL,
	updated BIGINT NOT NULL,
	ended BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (key, agent, usr)
);
CREATE INDEX session_of ON session (agent, usr, updated);
CREATE INDEX session_updated ON session (updated);
CREATE INDEX session_parent ON session (parent);
CREATE INDEX session_open ON session (host) WHERE ended = 0;

-- The processes that have sessions, and until when each is known to live.
CREATE TABLE session_host (
	id TEXT PRIMARY KEY,
	until BIGINT NOT NULL
);

-- Events for sessions: see internal/inbox. An empty session stands for any
-- session of the agent and the user. Times are milliseconds, except made, which
-- has nanoseconds of the writer's clock, for the order.
CREATE TABLE inbox (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	session TEXT NOT NULL,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	sender TEXT NOT NULL,
	reply TEXT NOT NULL,
	turn BIGINT NOT NULL,
	content TEXT NOT NULL,
	data TEXT NOT NULL,
	made BIGINT NOT NULL,
	tries BIGINT NOT NULL DEFAULT 0,
	call TEXT NOT NULL DEFAULT '',
	until BIGINT NOT NULL DEFAULT 0,
	delivered BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX inbox_open ON inbox (agent, usr, session, made) WHERE delivered = 0;
CREATE INDEX inbox_past ON inbox (agent, usr, session, made) WHERE delivered > 0;
CREATE INDEX inbox_sender ON inbox (sender, made) WHERE sender <> '';
