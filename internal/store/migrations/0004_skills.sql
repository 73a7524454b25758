-- Whose skills there are: see skills.go. The stamp grows with every change.
CREATE TABLE skill_owner (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	stamp BIGINT NOT NULL,
	bytes BIGINT NOT NULL,
	PRIMARY KEY (agent, usr)
);

-- Skills that were published. What was removed keeps its versions.
CREATE TABLE skill (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	slug TEXT NOT NULL,
	latest BIGINT NOT NULL,
	removed BIGINT NOT NULL DEFAULT 0,
	UNIQUE (agent, usr, slug)
);

-- Their versions, which never change. Meta, files and findings are JSON.
CREATE TABLE skill_version (
	skill TEXT NOT NULL REFERENCES skill (id) ON DELETE CASCADE,
	number BIGINT NOT NULL,
	digest TEXT NOT NULL,
	meta TEXT NOT NULL,
	files TEXT NOT NULL,
	findings TEXT NOT NULL,
	size BIGINT NOT NULL,
	author TEXT NOT NULL,
	session TEXT NOT NULL,
	created BIGINT NOT NULL,
	PRIMARY KEY (skill, number)
);

-- What is in their files. Equal files of one owner are kept once; those of
-- different owners are not, so that nobody can tell what others have.
CREATE TABLE skill_blob (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	digest TEXT NOT NULL,
	content {{blob}} NOT NULL,
	PRIMARY KEY (agent, usr, digest)
);

-- Who has used which skill, wherever it was found.
CREATE TABLE skill_use (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	slug TEXT NOT NULL,
	source TEXT NOT NULL,
	number BIGINT NOT NULL,
	uses BIGINT NOT NULL,
	first BIGINT NOT NULL,
	latest BIGINT NOT NULL,
	session TEXT NOT NULL,
	PRIMARY KEY (agent, usr, slug, source, number)
);
