-- Servers that wanted a login when they were last connected to. Logins themselves are in the vault.
CREATE TABLE mcp_login_wanted (server TEXT PRIMARY KEY);
