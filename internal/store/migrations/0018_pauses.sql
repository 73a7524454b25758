-- Who must not call at present: see internal/pauses.
CREATE TABLE pause (
	agent TEXT NOT NULL,
	session TEXT NOT NULL,
	reason TEXT NOT NULL,
	who TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (agent, session)
);
