// Package storetest is for tests that need a store: a PostgreSQL server of
// their own, and stores of both engines to run the same test on. The server is
// a real one that listens on a socket in a temporary directory and is gone with
// the test. Begin with [Each].
package storetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Each runs a test on an empty store of each engine.
func Each(t *testing.T, f func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, Open(t, t.TempDir())) })
	t.Run("postgres", func(t *testing.T) { f(t, Open(t, Postgres(t).DSN("postgres"))) })
}

// Open opens a store until the end of the test.
func Open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A Server is a PostgreSQL server.
type Server struct {
	dir    string
	bin    string
	user   string
	socket string
	made   int // databases
}

// Postgres starts a server until the end of the test.
func Postgres(t testing.TB) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		needtest.Lacking(t, "postgres", "PostgreSQL is not installed")
	}
	slices.Sort(found)
	dir, err := os.MkdirTemp("/tmp", "pg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{dir: filepath.Join(dir, "data"), bin: found[len(found)-1], user: "postgres", socket: dir}
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", s.user, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	} else {
		s.user = ""
	}
	s.run(t, "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", s.dir)
	s.Start(t)
	t.Cleanup(func() { s.Stop(t, "immediate") })
	return s
}

// Start starts the server, which may have been stopped.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off -c max_connections=200", s.socket)
	s.run(t, "pg_ctl", "start", "-w", "-s", "-D", s.dir, "-l", filepath.Join(s.socket, "log"), "-o", options)
}

// Stop stops it: smart, fast or immediate.
func (s *Server) Stop(t testing.TB, how string) {
	t.Helper()
	s.run(t, "pg_ctl", "stop", "-w", "-s", "-D", s.dir, "-m", how)
}

// DSN is the URL of a database.
func (s *Server) DSN(database string) string {
	return "postgres://postgres@/" + database + "?host=" + url.QueryEscape(s.socket)
}

// Fresh makes an empty database, and is its URL.
func (s *Server) Fresh(t testing.TB) string {
	t.Helper()
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	s.run(t, "createdb", "--host="+s.socket, "--username=postgres", name)
	return s.DSN(name)
}

// run runs a program of PostgreSQL, which refuses to be root.
func (s *Server) run(t testing.TB, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	line := append([]string{filepath.Join(s.bin, program)}, args...)
	if s.user != "" {
		line = append([]string{"setpriv", "--reuid=" + s.user, "--regid=" + s.user, "--init-groups", "--"}, line...)
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = s.socket
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if program == "pg_ctl" { // the server keeps whatever it inherits
		cmd.Stdout, cmd.Stderr = nil, nil
	}
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.socket, "log"))
		t.Fatalf("%s: %v\n%s%s", program, err, out.String(), log)
	}
}
