-- What the text of a document says about entities and relations, as a model has read it: see tools/knowledge/reports.go.
-- The subject is the slug of an entity, or the key of a relation.
CREATE TABLE knowledge_report (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	document TEXT NOT NULL,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	report TEXT NOT NULL,
	PRIMARY KEY (agent, usr, document, kind, subject)
);
CREATE INDEX knowledge_report_subject ON knowledge_report (agent, usr, kind, subject);
