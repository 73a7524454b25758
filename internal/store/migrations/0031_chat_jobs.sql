-- Messages that wait for an answer have a job for their chat now, and notices one each.
INSERT INTO job (id, kind, owner, agent, payload, state, run_at, attempt, attempts, lane, created)
	SELECT min(id), 'chat answer', '', '', chat, 'queued', max(due), max(tries), max(tries) + 5, 'chat answer ' || chat,
		min(at)
	FROM chat_message WHERE run = '' GROUP BY chat;
DROP INDEX chat_message_open;
ALTER TABLE chat_message DROP COLUMN due;
ALTER TABLE chat_message DROP COLUMN tries;
INSERT INTO job (id, kind, owner, agent, payload, state, run_at, attempt, attempts, lane, created)
	SELECT id, 'chat notice', '', '', '', 'queued', due, 0, 1000000000, '', {{now}} FROM chat_notice WHERE n > 0;
