-- What agents ask their users: see tools/questions.
CREATE TABLE question (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	session TEXT NOT NULL,
	task TEXT NOT NULL,
	content TEXT NOT NULL,
	options TEXT NOT NULL,
	state TEXT NOT NULL,
	answer TEXT NOT NULL,
	answered_by TEXT NOT NULL,
	asked BIGINT NOT NULL,
	answered BIGINT NOT NULL,
	remind TEXT NOT NULL,
	every BIGINT NOT NULL,
	most BIGINT NOT NULL,
	sent BIGINT NOT NULL,
	next_at BIGINT NOT NULL
);
CREATE INDEX question_open ON question (agent, usr) WHERE state = 'open';
CREATE INDEX question_due ON question (next_at) WHERE next_at > 0;
CREATE INDEX question_task ON question (task) WHERE task <> '' AND state = 'open';
