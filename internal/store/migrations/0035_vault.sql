-- The vault: see internal/vault. A data key seals secrets, keys of audit logs and blobs, and is itself wrapped by the
-- key-encryption key kek, which is never in the store. One data key is current; the others only open.
CREATE TABLE vault_key (
	id TEXT PRIMARY KEY,
	kek TEXT NOT NULL,
	place TEXT NOT NULL,
	wrapped {{blob}} NOT NULL,
	current INTEGER NOT NULL,
	created BIGINT NOT NULL
);
CREATE TABLE secret (
	name TEXT PRIMARY KEY,
	data_key TEXT NOT NULL,
	created BIGINT NOT NULL,
	changed BIGINT NOT NULL,
	sealed {{blob}} NOT NULL
);
-- Key-encryption keys that wrap nothing and are still to be removed from their place.
CREATE TABLE vault_old_key (
	id TEXT PRIMARY KEY,
	place TEXT NOT NULL
);
-- Digests of the secrets that were taken over from files of versions before.
CREATE TABLE vault_taken (
	digest TEXT PRIMARY KEY
);
-- Keys of audit logs, sealed by a data key.
CREATE TABLE audit_key (
	id TEXT PRIMARY KEY,
	sealed {{blob}} NOT NULL,
	created BIGINT NOT NULL
);
