-- Tools that operators define: see tools/custom.
CREATE TABLE custom_tool (
	name TEXT PRIMARY KEY,
	definition TEXT NOT NULL,
	changed BIGINT NOT NULL
);
