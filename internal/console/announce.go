package console

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
	// announcedFile has the address of the console, and announcedLock is locked while it is served: the system releases
	// the lock when the process dies.
	announcedFile = "console.url"
	announcedLock = "console.lock"
	maxAddress    = 1000 // bytes of an address
)

// Announce makes the address of a console known to all processes with the data directory, until end is called.
// Of several consoles the first one is announced.
func Announce(ctx context.Context, data, address string) (end func(), err error) {
	unlock, err := private.Lock(ctx, filepath.Join(data, announcedLock), time.Second)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(data, announcedFile)
	if err := private.Replace(file, []byte(address)); err != nil {
		unlock()
		return nil, err
	}
	return func() {
		_ = private.Remove(file) // without the lock it does not count
		unlock()
	}, nil
}

// Announced returns the address of the console that a process serves for the data directory, with a slash at
// its end, or "".
func Announced(data string) string {
	lock, err := os.OpenFile(filepath.Join(data, announcedLock), os.O_RDWR, 0)
	if err != nil {
		return ""
	}
	defer lock.Close()
	if free, err := private.TryLock(lock); free || err != nil { // its process has ended
		return ""
	}
	text, err := private.Read(filepath.Join(data, announcedFile), maxAddress)
	if err != nil {
		return ""
	}
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return strings.TrimSuffix(u.String(), "/") + "/"
}

// QuestionPage returns the address of the page of a question at the console that is announced in the data directory, or of
// all questions for "". Without a console it returns "".
func QuestionPage(data, id string) string {
	base := Announced(data)
	if base == "" || id == "" {
		return base
	}
	return base + "questions/" + id
}
