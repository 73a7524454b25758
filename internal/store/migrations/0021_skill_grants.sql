-- Skills of others that users of an agent see: see grants.go of the skills. The user '' is
-- all users of the agent; the version 0 is the latest.
CREATE TABLE skill_grant (
	agent TEXT NOT NULL,
	usr TEXT NOT NULL,
	skill TEXT NOT NULL REFERENCES skill (id) ON DELETE CASCADE,
	version BIGINT NOT NULL,
	PRIMARY KEY (agent, usr, skill)
);
