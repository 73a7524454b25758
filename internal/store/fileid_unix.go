//go:build !windows

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// FileID names the database file of a DSN in a way that changes when another file takes its place. It is "" for PostgreSQL
// and if there is no file.
func FileID(dsn string) string {
	if isPostgres(dsn) {
		return ""
	}
	path := filepath.Join(dsn, sqliteFile)
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, stat.Dev, stat.Ino)
}
