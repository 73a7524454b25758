-- The bytes of blobs, in chunks of 512 KB, if their place is the database: see internal/blob.
CREATE TABLE blob (
	name TEXT NOT NULL,
	n BIGINT NOT NULL,
	data {{blob}} NOT NULL,
	PRIMARY KEY (name, n)
);
{{uncompressed}}

-- What refers to blobs, in whatever place they are. noun is the part of the program that the name belongs to, owner a
-- digest, and about is text of the noun. at is when the content was stored or last used.
CREATE TABLE kept (
	noun TEXT NOT NULL,
	owner TEXT NOT NULL,
	name TEXT NOT NULL,
	blob TEXT NOT NULL,
	digest TEXT NOT NULL,
	size BIGINT NOT NULL,
	about TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (noun, owner, name)
);
CREATE INDEX kept_blob ON kept (blob);
CREATE INDEX kept_at ON kept (noun, at);
