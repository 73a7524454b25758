-- Where the calls of a token come from, and the form of their results: see tokens.go.
ALTER TABLE token ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN chat TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN peer_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN topic TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN structured BOOLEAN NOT NULL DEFAULT FALSE;
