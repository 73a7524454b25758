-- What arrives from people in chats: see tools/messaging/inbound.

-- The channels that are received from: the process that pulls one, and how far it is.
CREATE TABLE chat_receiver (
	channel TEXT PRIMARY KEY,
	owner TEXT NOT NULL DEFAULT '',
	until BIGINT NOT NULL DEFAULT 0,
	position TEXT NOT NULL DEFAULT '',
	at BIGINT NOT NULL DEFAULT 0,
	problem TEXT NOT NULL DEFAULT '',
	dropped BIGINT NOT NULL DEFAULT 0
);

-- Digests of events that have arrived, so that a repeated one does nothing.
CREATE TABLE chat_event (
	id TEXT PRIMARY KEY,
	at BIGINT NOT NULL
);
CREATE INDEX chat_event_at ON chat_event (at);

-- Chats that an operator has bound by a command, and codes of those that want to be.
CREATE TABLE chat_binding (
	chat TEXT PRIMARY KEY,
	body TEXT NOT NULL,
	at BIGINT NOT NULL
);
CREATE TABLE chat_pairing (
	chat TEXT PRIMARY KEY,
	code TEXT NOT NULL,
	person TEXT NOT NULL,
	name TEXT NOT NULL,
	title TEXT NOT NULL,
	sent BIGINT NOT NULL,
	since BIGINT NOT NULL,
	until BIGINT NOT NULL
);

-- The conversations that agents answer in. A message waits for an answer while run is
-- empty; then run is the subagent, and - when it was answered.
CREATE TABLE chat_message (
	id TEXT PRIMARY KEY,
	chat TEXT NOT NULL,
	run TEXT NOT NULL,
	body TEXT NOT NULL,
	tries BIGINT NOT NULL DEFAULT 0,
	due BIGINT NOT NULL,
	at BIGINT NOT NULL
);
CREATE INDEX chat_message_chat ON chat_message (chat, id);
CREATE INDEX chat_message_open ON chat_message (due) WHERE run = '';
CREATE INDEX chat_message_run ON chat_message (run) WHERE run NOT IN ('', '-');

-- Files that have arrived and can be fetched.
CREATE TABLE chat_file (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	channel TEXT NOT NULL,
	body TEXT NOT NULL,
	at BIGINT NOT NULL
);

-- Approvals and questions that were sent to people. about is the id of the approval or
-- question; a row without an approver notes that rules were applied to it.
CREATE TABLE chat_question (
	id TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	about TEXT NOT NULL,
	approver TEXT NOT NULL,
	code TEXT NOT NULL,
	secret TEXT NOT NULL,
	body TEXT NOT NULL,
	state TEXT NOT NULL,
	expires BIGINT NOT NULL,
	at BIGINT NOT NULL,
	UNIQUE (about, approver)
);
CREATE INDEX chat_question_open ON chat_question (expires) WHERE state = 'open';

-- Notices that wait, and since when equal ones are held back.
CREATE TABLE chat_notice (
	id TEXT PRIMARY KEY,
	dest TEXT NOT NULL,
	content TEXT NOT NULL,
	n BIGINT NOT NULL,
	due BIGINT NOT NULL,
	until BIGINT NOT NULL,
	debounce BIGINT NOT NULL
);
CREATE INDEX chat_notice_due ON chat_notice (due) WHERE n > 0;
