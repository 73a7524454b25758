-- What agents are told about themselves are rows of memory under a category of
-- their own: see context.go.
CREATE INDEX memory_context ON memory (agent, path) WHERE category = 'context';

-- Whose a removed document was, for those who are to hear that it is gone.
CREATE INDEX memory_past_id ON memory_past (id);
