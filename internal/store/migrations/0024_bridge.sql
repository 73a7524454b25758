-- Other MCP servers that operators have added with commands: see tools/bridge. Those of the settings
-- have no row here.
CREATE TABLE mcp_server (
	name TEXT PRIMARY KEY,
	config TEXT NOT NULL,
	created BIGINT NOT NULL,
	created_by TEXT NOT NULL
);

-- What servers offer, and what of it was accepted. place is a digest of where the server is.
CREATE TABLE mcp_list (
	server TEXT PRIMARY KEY,
	place TEXT NOT NULL,
	protocol TEXT NOT NULL,
	program TEXT NOT NULL,
	offered TEXT NOT NULL,
	accepted TEXT NOT NULL,
	listed BIGINT NOT NULL
);

-- Which callers may use a server. An empty agent or user stands for all.
CREATE TABLE mcp_grant (
	server TEXT NOT NULL,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	body TEXT NOT NULL,
	granted BIGINT NOT NULL,
	granted_by TEXT NOT NULL,
	PRIMARY KEY (server, agent, usr)
);

-- Requests of agents for access to a server. status is pending, approved or rejected.
CREATE TABLE mcp_request (
	id TEXT PRIMARY KEY,
	server TEXT NOT NULL,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	body TEXT NOT NULL,
	status TEXT NOT NULL,
	created BIGINT NOT NULL,
	reviewed BIGINT NOT NULL DEFAULT 0,
	reviewed_by TEXT NOT NULL DEFAULT '',
	note TEXT NOT NULL DEFAULT ''
);
CREATE INDEX mcp_request_pending ON mcp_request (server) WHERE status = 'pending';
