-- Jobs of a lane are done one after the other, in the order of their ids.
ALTER TABLE job ADD COLUMN lane TEXT NOT NULL DEFAULT '';
CREATE INDEX job_lane ON job (lane, id) WHERE lane <> '' AND ended = 0;

-- What is sent is a job now, with the id of the row of outbox. attempt counts the attempts of which the end is known.
INSERT INTO job (id, kind, owner, agent, payload, state, run_at, attempt, attempts, lane, created)
	SELECT id, 'outbox ' || channel, '', '', '', CASE state WHEN 'sending' THEN 'running' ELSE 'queued' END, due,
		attempt, 1000000000, 'outbox ' || channel || ' ' || chat, created
	FROM outbox WHERE ended = 0;
UPDATE outbox SET state = 'queued', attempt = attempt - 1 WHERE ended = 0 AND state = 'sending';
DROP INDEX outbox_due;
ALTER TABLE outbox DROP COLUMN due;
