-- Things that are known, of a user of an agent or, with usr '', of all of them:
-- see knowledge.go.
CREATE TABLE entity (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	slug TEXT NOT NULL,
	name TEXT NOT NULL,
	aliases TEXT NOT NULL,
	type TEXT NOT NULL,
	description TEXT NOT NULL,
	properties TEXT NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	valid_from BIGINT NOT NULL,
	valid_to BIGINT NOT NULL,
	origin TEXT NOT NULL,
	author TEXT NOT NULL,
	session TEXT NOT NULL,
	created BIGINT NOT NULL,
	updated BIGINT NOT NULL,
	version BIGINT NOT NULL,
	UNIQUE (agent, usr, slug)
);

-- Every name of an entity in the form in which names are compared, and how it
-- begins, to find those that are spelled a little differently.
CREATE TABLE entity_name (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	slug TEXT NOT NULL,
	entity TEXT NOT NULL REFERENCES entity (id) ON DELETE CASCADE,
	head TEXT NOT NULL,
	PRIMARY KEY (agent, usr, slug, entity)
);
CREATE INDEX entity_name_head ON entity_name (head, agent, usr);
CREATE INDEX entity_name_entity ON entity_name (entity);

-- What an entity is to another. Both ends are slugs, so that a user's relation
-- can end at what all users share.
CREATE TABLE relation (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	source TEXT NOT NULL,
	type TEXT NOT NULL,
	target TEXT NOT NULL,
	properties TEXT NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	valid_from BIGINT NOT NULL,
	valid_to BIGINT NOT NULL,
	origin TEXT NOT NULL,
	author TEXT NOT NULL,
	session TEXT NOT NULL,
	created BIGINT NOT NULL,
	updated BIGINT NOT NULL,
	version BIGINT NOT NULL,
	UNIQUE (agent, usr, source, type, target)
);
CREATE INDEX relation_out ON relation (agent, usr, source, confidence, id);
CREATE INDEX relation_in ON relation (agent, usr, target, confidence, id);

-- How much an owner has, and the number of the latest change. Whoever changes
-- something of an owner's holds its row.
CREATE TABLE knowledge_owner (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	latest BIGINT NOT NULL,
	entities BIGINT NOT NULL,
	relations BIGINT NOT NULL,
	PRIMARY KEY (agent, usr)
);

-- What was done, what every row was before, '' for one that was not there, and
-- the version it had afterwards, 0 for one that was gone.
CREATE TABLE knowledge_change (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	number BIGINT NOT NULL,
	summary TEXT NOT NULL,
	author TEXT NOT NULL,
	session TEXT NOT NULL,
	at BIGINT NOT NULL,
	undone BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (agent, usr, number)
);
CREATE INDEX knowledge_change_at ON knowledge_change (at);
CREATE TABLE knowledge_past (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	number BIGINT NOT NULL,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	former TEXT NOT NULL,
	after BIGINT NOT NULL,
	PRIMARY KEY (agent, usr, number, subject),
	FOREIGN KEY (agent, usr, number) REFERENCES knowledge_change (agent, usr, number) ON DELETE CASCADE
);
