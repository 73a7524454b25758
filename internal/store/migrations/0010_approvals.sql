-- Calls that wait for a person's word, and what was said: see approvals.go. The
-- call and the decision are JSON.
CREATE TABLE approval (
	id TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	principal TEXT NOT NULL,
	size BIGINT NOT NULL,
	call TEXT NOT NULL,
	state TEXT NOT NULL,
	decision TEXT NOT NULL DEFAULT '',
	asked BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	decided BIGINT NOT NULL DEFAULT 0
);

-- The processes that ask, and until when each is known to live.
CREATE TABLE approval_owner (
	id TEXT PRIMARY KEY,
	until BIGINT NOT NULL
);

-- When somebody who may answer looked last.
CREATE TABLE approval_look (
	one INTEGER PRIMARY KEY,
	at BIGINT NOT NULL
);

-- What was allowed for more than one call. The rule is JSON; those of scope
-- session end with the process that asked.
CREATE TABLE approval_rule (
	id TEXT PRIMARY KEY,
	scope TEXT NOT NULL,
	owner TEXT NOT NULL,
	principal TEXT NOT NULL,
	tool TEXT NOT NULL,
	rule TEXT NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL
);
CREATE INDEX approval_rule_for ON approval_rule (principal, tool);
