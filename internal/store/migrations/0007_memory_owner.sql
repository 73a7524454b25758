-- How much each owner remembers, counted in the transactions that change it.
CREATE TABLE memory_owner (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	documents BIGINT NOT NULL,
	bytes BIGINT NOT NULL,
	PRIMARY KEY (agent, usr)
);
INSERT INTO memory_owner (agent, usr, documents, bytes)
	SELECT agent, usr, count(*), sum(octet_length(content)) FROM memory GROUP BY agent, usr;
