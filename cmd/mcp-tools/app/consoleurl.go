package app

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// This file lets servers find the console that another process serves for the same data directory, so that they can
// send people to it.

const (
	// consoleFile has the address of the console, and consoleLock is locked while it is served: the system releases
	// the lock when the process dies.
	consoleFile = "console.url"
	consoleLock = "console.lock"
	maxConsole  = 1000 // bytes of an address
)

// announceConsole makes the address of a console known to all processes with the data directory, until end is called.
// Of several consoles the first one is announced.
func announceConsole(ctx context.Context, data, address string) (end func(), err error) {
	unlock, err := private.Lock(ctx, filepath.Join(data, consoleLock), time.Second)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(data, consoleFile)
	if err := private.Replace(file, []byte(address)); err != nil {
		unlock()
		return nil, err
	}
	return func() {
		_ = private.Remove(file) // without the lock it does not count
		unlock()
	}, nil
}

// announcedConsole returns the address of the console that a process serves for the data directory, with a slash at
// its end, or "".
func announcedConsole(data string) string {
	lock, err := os.OpenFile(filepath.Join(data, consoleLock), os.O_RDWR, 0)
	if err != nil {
		return ""
	}
	defer lock.Close()
	if free, err := private.TryLock(lock); free || err != nil { // its process has ended
		return ""
	}
	text, err := private.Read(filepath.Join(data, consoleFile), maxConsole)
	if err != nil {
		return ""
	}
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return strings.TrimSuffix(u.String(), "/") + "/"
}

// questionPage returns the address of the page of a question, or of all questions for "". Without a console it
// returns "".
func (a *App) questionPage(id string) string {
	base := announcedConsole(a.data)
	if base == "" || id == "" {
		return base
	}
	return base + "questions/" + id
}
