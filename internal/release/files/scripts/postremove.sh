#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/mcp-tools /var/lib/mcp-tools-workspaces
	if id mcp-tools >/dev/null 2>&1; then
		userdel mcp-tools
	fi
fi
