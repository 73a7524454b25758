-- The changes of tools that an operator has refused: a JSON object of digests by tool.
ALTER TABLE mcp_list ADD COLUMN refused TEXT NOT NULL DEFAULT '{}';
