-- In PostgreSQL the records of the audit log are in partitions by day: see internal/audit/days.go. Those that are here
-- become the partition for all other records. In SQLite nothing changes.
DELETE FROM audit_record WHERE FALSE; -- SQLite wants a statement
{{postgres}} ALTER TABLE audit_record RENAME TO audit_record_rest;
{{postgres}} ALTER TABLE audit_record_rest DROP CONSTRAINT audit_record_pkey;
{{postgres}} ALTER TABLE audit_record_rest ADD PRIMARY KEY (chain, seq, at);
{{postgres}} ALTER INDEX audit_record_at RENAME TO audit_record_rest_at;
{{postgres}} ALTER INDEX audit_record_who RENAME TO audit_record_rest_who;
{{postgres}} CREATE TABLE audit_record (
{{postgres}} 	chain BIGINT NOT NULL,
{{postgres}} 	seq BIGINT NOT NULL,
{{postgres}} 	at BIGINT NOT NULL,
{{postgres}} 	who BIGINT NOT NULL,
{{postgres}} 	what TEXT NOT NULL,
{{postgres}} 	line TEXT NOT NULL,
{{postgres}} 	PRIMARY KEY (chain, seq, at)
{{postgres}} ) PARTITION BY RANGE (at);
{{postgres}} CREATE INDEX audit_record_at ON audit_record (at, chain, seq);
{{postgres}} CREATE INDEX audit_record_who ON audit_record (who, what) WHERE who <> 0;
{{postgres}} ALTER TABLE audit_record ATTACH PARTITION audit_record_rest DEFAULT;
