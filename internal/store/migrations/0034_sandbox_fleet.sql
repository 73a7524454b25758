-- Sandboxes on other machines, and machines that get no more: see internal/sandbox/fleet.
CREATE TABLE sandbox_place (
	id TEXT PRIMARY KEY,
	host TEXT NOT NULL,
	tier TEXT NOT NULL,
	owner TEXT NOT NULL,
	session TEXT NOT NULL,
	replica TEXT NOT NULL,
	began BIGINT NOT NULL,
	until BIGINT NOT NULL
);
CREATE TABLE sandbox_drain (
	host TEXT PRIMARY KEY,
	who TEXT NOT NULL,
	at BIGINT NOT NULL
);
