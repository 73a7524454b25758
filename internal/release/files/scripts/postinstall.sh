#!/bin/sh
set -e
if ! id mcp-tools >/dev/null 2>&1; then
	useradd --system --user-group --home-dir /var/lib/mcp-tools --no-create-home \
		--shell /usr/sbin/nologin mcp-tools
fi
for dir in /var/lib/mcp-tools /var/lib/mcp-tools-workspaces; do
	mkdir -p "$dir"
	chown mcp-tools:mcp-tools "$dir"
	chmod 0700 "$dir"
done
chgrp mcp-tools /etc/default/mcp-tools
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart mcp-tools.service
fi
