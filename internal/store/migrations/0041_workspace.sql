-- Managed workspaces: see internal/workspace/managed. The names in one are rows of kept, with the noun workspace. tree is
-- another random text after each change, "" before the first. fence counts the holders; who has another one than the
-- row changes nothing. until is when the lease of the holder ends.
CREATE TABLE workspace (
	name TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	tree TEXT NOT NULL,
	files BIGINT NOT NULL,
	bytes BIGINT NOT NULL,
	changed BIGINT NOT NULL,
	holder TEXT NOT NULL,
	host TEXT NOT NULL,
	fence BIGINT NOT NULL,
	until BIGINT NOT NULL
);
CREATE INDEX workspace_owner ON workspace (owner);
