-- Which version of a file a session knows, by hash of both: see tools/fs/shared.go.
CREATE {{unlogged}} TABLE file_seen (
	id TEXT PRIMARY KEY,
	version TEXT NOT NULL,
	at BIGINT NOT NULL
);
-- The servers that share the store and answer each other: see internal/peers. secret is a key of one run of a server.
CREATE TABLE replica (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	address TEXT NOT NULL,
	secret {{blob}} NOT NULL,
	lease BIGINT NOT NULL
);
-- The replica that has something of a session, such as a command in the background.
CREATE TABLE held (
	kind TEXT NOT NULL,
	owner TEXT NOT NULL,
	name TEXT NOT NULL,
	replica TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (kind, owner, name)
);
CREATE INDEX held_replica ON held (replica);
-- Sessions of the revisions of MCP that have them, by hash of their id. body is JSON: whose it is, and the client.
CREATE TABLE client_session (
	id TEXT PRIMARY KEY,
	body TEXT NOT NULL,
	used BIGINT NOT NULL
);
