-- The changes of files of all servers on the store: see internal/workspace/history. body is the record as the server
-- that made the change has it. Ids are random; two of one time would be one change.
CREATE TABLE file_change (
	id TEXT NOT NULL,
	at BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (at, id)
);
