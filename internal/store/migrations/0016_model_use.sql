-- What was used of language models: see internal/llm. A row without a session is of a principal on a day, one without
-- a principal of all on a day, and one with a session of that session on all days, with the day 0.
CREATE TABLE model_use (
	day BIGINT NOT NULL,
	principal TEXT NOT NULL,
	session TEXT NOT NULL,
	calls BIGINT NOT NULL,
	tokens BIGINT NOT NULL,
	cost BIGINT NOT NULL,
	PRIMARY KEY (day, principal, session)
);
