-- Teams of agents: see tools/teams. An agent is an active member of one team at most.
CREATE TABLE team (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	description TEXT NOT NULL,
	status TEXT NOT NULL,
	settings TEXT NOT NULL,
	created_by TEXT NOT NULL,
	created BIGINT NOT NULL,
	tasks BIGINT NOT NULL
);

CREATE TABLE team_member (
	team TEXT NOT NULL,
	agent TEXT NOT NULL,
	role TEXT NOT NULL,
	active BOOLEAN NOT NULL,
	joined BIGINT NOT NULL,
	seen BIGINT NOT NULL,
	PRIMARY KEY (team, agent)
);
CREATE UNIQUE INDEX team_member_agent ON team_member (agent) WHERE active;
CREATE UNIQUE INDEX team_member_lead ON team_member (team) WHERE active AND role = 'lead';

-- The board is the user whose tasks these are, or empty if all users of the team share one.
CREATE TABLE team_task (
	id TEXT PRIMARY KEY,
	team TEXT NOT NULL,
	number BIGINT NOT NULL,
	board TEXT NOT NULL,
	subject TEXT NOT NULL,
	description TEXT NOT NULL,
	status TEXT NOT NULL,
	priority BIGINT NOT NULL,
	assignee TEXT NOT NULL,
	owner TEXT NOT NULL,
	result TEXT NOT NULL,
	usr TEXT NOT NULL,
	created_by TEXT NOT NULL,
	unstarted BOOLEAN NOT NULL,
	session TEXT NOT NULL,
	lock_until BIGINT NOT NULL,
	dispatches BIGINT NOT NULL,
	start_at BIGINT NOT NULL,
	percent BIGINT NOT NULL,
	step TEXT NOT NULL,
	digest TEXT NOT NULL,
	created BIGINT NOT NULL,
	updated BIGINT NOT NULL,
	UNIQUE (team, number)
);
CREATE INDEX team_task_pending ON team_task (team, board, priority DESC, number) WHERE status = 'pending';
CREATE INDEX team_task_lock ON team_task (lock_until) WHERE status = 'in_progress';
CREATE INDEX team_task_session ON team_task (session) WHERE status = 'in_progress';
CREATE INDEX team_task_start ON team_task (start_at) WHERE start_at > 0;
CREATE INDEX team_task_digest ON team_task (digest);
CREATE INDEX team_task_open ON team_task (team, board) WHERE status NOT IN ('completed', 'cancelled', 'failed');

CREATE TABLE team_block (
	task TEXT NOT NULL,
	blocker TEXT NOT NULL,
	PRIMARY KEY (task, blocker)
);
CREATE INDEX team_block_blocker ON team_block (blocker);

CREATE TABLE team_comment (
	id TEXT PRIMARY KEY,
	task TEXT NOT NULL,
	agent TEXT NOT NULL,
	content TEXT NOT NULL,
	at BIGINT NOT NULL
);
CREATE INDEX team_comment_task ON team_comment (task, at);

CREATE TABLE team_event (
	id TEXT PRIMARY KEY,
	task TEXT NOT NULL,
	agent TEXT NOT NULL,
	action TEXT NOT NULL,
	detail TEXT NOT NULL,
	at BIGINT NOT NULL
);
CREATE INDEX team_event_task ON team_event (task, at);

CREATE TABLE team_attachment (
	task TEXT NOT NULL,
	file TEXT NOT NULL,
	agent TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (task, file)
);

-- Messages, and who is to read them: 0 in the column read stands for unread.
CREATE TABLE team_message (
	id TEXT PRIMARY KEY,
	team TEXT NOT NULL,
	board TEXT NOT NULL,
	sender TEXT NOT NULL,
	content TEXT NOT NULL,
	files TEXT NOT NULL,
	broadcast BOOLEAN NOT NULL,
	at BIGINT NOT NULL
);

CREATE TABLE team_receipt (
	message TEXT NOT NULL,
	team TEXT NOT NULL,
	board TEXT NOT NULL,
	agent TEXT NOT NULL,
	read BIGINT NOT NULL,
	PRIMARY KEY (message, agent)
);
CREATE INDEX team_receipt_unread ON team_receipt (team, board, agent, message) WHERE read = 0;

-- Files of teams, which all members read whatever machine their server runs on.
CREATE TABLE team_file (
	team TEXT NOT NULL,
	board TEXT NOT NULL,
	name TEXT NOT NULL,
	content {{blob}} NOT NULL,
	size BIGINT NOT NULL,
	author TEXT NOT NULL,
	updated BIGINT NOT NULL,
	PRIMARY KEY (team, board, name)
);
