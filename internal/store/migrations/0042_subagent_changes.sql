-- The changes of a subagent in its working tree, in words for its report.
ALTER TABLE subagent ADD COLUMN changes TEXT NOT NULL DEFAULT '';
