-- The questions that wait for a person: see internal/ask. body is text of the kind of question, choices are JSON.
-- owner is the process whose call waits and lease the time until which it is known to live; '' and 0 are those of a
-- question that outlives processes. expires is 0 for a question that waits until it is answered.
CREATE TABLE ask (
	id TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	owner TEXT NOT NULL,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	session TEXT NOT NULL,
	about TEXT NOT NULL,
	body TEXT NOT NULL,
	choices TEXT NOT NULL,
	size BIGINT NOT NULL,
	state TEXT NOT NULL,
	answer TEXT NOT NULL DEFAULT '',
	answered_by TEXT NOT NULL DEFAULT '',
	asked BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	lease BIGINT NOT NULL,
	ended BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX ask_open ON ask (asked, id) WHERE state = 'open';
CREATE INDEX ask_owner ON ask (owner) WHERE lease > 0;
CREATE INDEX ask_about ON ask (about) WHERE about <> '';

-- An approval that was used or denied is history, of ten minutes, and stays behind.
INSERT INTO ask (id, kind, owner, agent, usr, session, about, body, choices, size, state, answer, asked, expires, lease,
		ended)
	SELECT a.id, 'approval', a.owner, coalesce(a.call{{json}} ->> 'agent', ''), coalesce(a.call{{json}} ->> 'user', ''),
		coalesce(a.call{{json}} ->> 'session', ''), '', a.call, '', a.size,
		CASE a.state WHEN 'open' THEN 'open' ELSE 'answered' END, a.decision, a.asked, a.expires, o.until, a.decided
	FROM approval a JOIN approval_owner o ON o.id = a.owner WHERE a.state IN ('open', 'allowed') AND o.until > {{now}};
INSERT INTO ask (id, kind, owner, agent, usr, session, about, body, choices, size, state, answer, answered_by, asked,
		expires, lease, ended)
	SELECT id, 'question', '', agent, usr, session, task, content, options, 0, state, answer, answered_by, asked, 0, 0,
		answered
	FROM question WHERE state IN ('open', 'answered');
-- A question with reminders has a job with its id.
INSERT INTO job (id, kind, owner, agent, payload, state, run_at, attempts, saved, created)
	SELECT id, 'question reminder', '', remind, every || ' ' || most, 'queued', next_at, 1000000000, sent || '', asked
	FROM question WHERE state = 'open' AND next_at > 0;
DROP TABLE approval;
DROP TABLE approval_owner;
DROP TABLE question;
