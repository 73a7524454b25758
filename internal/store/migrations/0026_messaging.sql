-- What is sent to people: see tools/messaging/outbox.go. A message in several parts has a
-- row for each of them, in the order of their ids, and all have the id of the first as post. due is the time of the next attempt of a
-- queued row, and the end of the lease of a row that is being sent.
CREATE TABLE outbox (
	id TEXT PRIMARY KEY,
	post TEXT NOT NULL,
	once TEXT UNIQUE,
	channel TEXT NOT NULL,
	chat TEXT NOT NULL,
	body TEXT NOT NULL,
	state TEXT NOT NULL,
	due BIGINT NOT NULL,
	attempt BIGINT NOT NULL DEFAULT 0,
	doubt BIGINT NOT NULL DEFAULT 0,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	session TEXT NOT NULL,
	message TEXT NOT NULL DEFAULT '',
	ref TEXT NOT NULL DEFAULT '',
	problem TEXT NOT NULL DEFAULT '',
	created BIGINT NOT NULL,
	ended BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON outbox (due) WHERE ended = 0;
CREATE INDEX outbox_chat ON outbox (channel, chat, id) WHERE ended = 0;
CREATE INDEX outbox_post ON outbox (post);
CREATE INDEX outbox_message ON outbox (channel, message) WHERE message <> '';
CREATE INDEX outbox_ended ON outbox (ended) WHERE ended > 0;

-- The files of rows of outbox that were not sent yet, in pieces.
CREATE TABLE outbox_file (
	id TEXT NOT NULL,
	n BIGINT NOT NULL,
	data {{blob}} NOT NULL,
	PRIMARY KEY (id, n)
);

-- The chats that an owner may write to, because a person has approved the first message.
CREATE TABLE outbox_target (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	channel TEXT NOT NULL,
	chat TEXT NOT NULL,
	approved BIGINT NOT NULL,
	PRIMARY KEY (agent, usr, channel, chat)
);

-- People that agents write to: see tools/messaging/contacts.go.
CREATE TABLE contact (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	id TEXT NOT NULL,
	active INTEGER NOT NULL,
	body TEXT NOT NULL,
	cooldown BIGINT NOT NULL DEFAULT 0,
	talked BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (agent, usr, id)
);
