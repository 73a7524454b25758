#!/bin/sh
set -e
# $1 is remove for dpkg and 0 for rpm, unless the package is upgraded.
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now mcp-tools.service
	fi
	;;
esac
