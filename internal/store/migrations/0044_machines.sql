-- Programs that get secrets of a token by themselves: see internal/tokens. secret is a hash, keys are a JSON Web Key Set;
-- one of the two is empty.
CREATE TABLE token_client (
	token TEXT PRIMARY KEY,
	secret TEXT NOT NULL,
	keys TEXT NOT NULL
);
