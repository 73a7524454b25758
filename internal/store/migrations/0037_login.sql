-- The people who may log in: see internal/users. profiles are JSON, password is a hash, totp is sealed. totp_step is the
-- last step of the clock whose code was used.
CREATE TABLE account (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	profiles TEXT NOT NULL,
	workspace TEXT NOT NULL,
	agent TEXT NOT NULL,
	password TEXT NOT NULL DEFAULT '',
	totp TEXT NOT NULL DEFAULT '',
	totp_step BIGINT NOT NULL DEFAULT 0,
	created BIGINT NOT NULL,
	used BIGINT NOT NULL DEFAULT 0
);
-- credential is JSON, with the public key.
CREATE TABLE account_passkey (
	id TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	credential TEXT NOT NULL,
	created BIGINT NOT NULL
);
CREATE INDEX account_passkey_of ON account_passkey (account);
-- One-time links, by the hash of each. ceremony is the passkey that is being made, totp the sealed secret that the person
-- is to confirm.
CREATE TABLE account_link (
	hash TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	expires BIGINT NOT NULL,
	ceremony TEXT NOT NULL DEFAULT '',
	totp TEXT NOT NULL DEFAULT ''
);
-- Browsers in which a person has logged in, by the hash of a cookie.
CREATE TABLE account_device (
	hash TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	expires BIGINT NOT NULL
);

-- Programs that people log in with: see internal/login. redirects are JSON. A document is the metadata that a client
-- publishes at its id.
CREATE TABLE login_client (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	redirects TEXT NOT NULL,
	document BOOLEAN NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL
);
CREATE INDEX login_client_expires ON login_client (expires);
-- Logins, from the request for authorization to the token. browser is the hash of a cookie, code that of the
-- authorization code, token the id of the token that was issued for it.
CREATE TABLE login (
	id TEXT PRIMARY KEY,
	client TEXT NOT NULL,
	redirect TEXT NOT NULL,
	state TEXT NOT NULL,
	scope TEXT NOT NULL,
	challenge TEXT NOT NULL,
	resource TEXT NOT NULL,
	browser TEXT NOT NULL,
	ceremony TEXT NOT NULL DEFAULT '',
	account TEXT NOT NULL DEFAULT '',
	profiles TEXT NOT NULL DEFAULT '[]',
	lasts BIGINT NOT NULL DEFAULT 0,
	code TEXT NOT NULL DEFAULT '',
	token TEXT NOT NULL DEFAULT '',
	expires BIGINT NOT NULL
);
CREATE UNIQUE INDEX login_code ON login (code) WHERE code <> '';
CREATE INDEX login_expires ON login (expires);

-- Tokens that a login has issued: to whom and to which client, with the scope. The secrets of such a token change while
-- it lasts: token_access has those for calls, login_refresh those for new ones.
CREATE TABLE login_grant (
	token TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	client TEXT NOT NULL,
	scope TEXT NOT NULL,
	resource TEXT NOT NULL,
	salt TEXT NOT NULL
);
CREATE INDEX login_grant_account ON login_grant (account);
CREATE INDEX login_grant_client ON login_grant (client);
CREATE TABLE token_access (
	hash TEXT PRIMARY KEY,
	token TEXT NOT NULL,
	expires BIGINT NOT NULL
);
CREATE INDEX token_access_of ON token_access (token, expires);
-- used is the time of the first use, successor the hash that replaced it then.
CREATE TABLE login_refresh (
	hash TEXT PRIMARY KEY,
	token TEXT NOT NULL,
	created BIGINT NOT NULL,
	used BIGINT NOT NULL DEFAULT 0,
	successor TEXT NOT NULL DEFAULT ''
);
CREATE INDEX login_refresh_of ON login_refresh (token);
