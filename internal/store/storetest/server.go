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
)

// patience stops a program that hangs, and measures nothing.
const patience = 3 * time.Minute

// A Server is a PostgreSQL server.
type Server struct {
	dir      string // with its data, its socket and its log
	settings []string
}

// Postgres starts a server until the end of the test. The test may stop it and start it again. Settings, such as
// fsync=on, replace the usual ones. Tests that need only a database should use [Database].
func Postgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	installed(t)
	s := &Server{settings: settings}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if err := s.settle(); err != nil {
		t.Fatal(err)
	}
	if err := s.create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t, "immediate") })
	return s
}

// programs is the directory of PostgreSQL's programs, the newest that there is.
func programs() (string, bool) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return "", false
	}
	slices.Sort(found)
	return found[len(found)-1], true
}

func installed(t testing.TB) {
	t.Helper()
	if _, ok := programs(); !ok {
		needtest.Lacking(t, "postgres", "PostgreSQL is not installed")
	}
}

// settle makes a directory for a server.
func (s *Server) settle() (err error) {
	if s.dir, err = os.MkdirTemp("/tmp", "pg"); err != nil { // a socket's path must be short
		return err
	}
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", "postgres", s.dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

// create makes the server and starts it.
func (s *Server) create() error {
	if err := s.run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C",
		s.data()); err != nil {
		return err
	}
	return s.start()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Bouncer starts a PgBouncer in transaction mode before the server of a [Database] until the end of the test, with two
// connections to the server, and returns the URL of the database there.
func Bouncer(t testing.TB, dsn string) string {
	t.Helper()
	program := needtest.Program(t, "pgbouncer")
	s := new(Server)
	if err := s.settle(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(s.dir, "pgbouncer.ini")
	if err := os.WriteFile(settings, fmt.Appendf(nil, `[databases]
* = host=%s user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
logfile = %s
`, u.Query().Get("host"), s.dir, s.log()), 0o644); err != nil {
		t.Fatal(err)
	}
	line := s.asPostgres(program, "-q", settings)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...) // the context ends before the cleanup
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it was killed
	return s.DSN(strings.TrimPrefix(u.Path, "/")) + "&port=6432"
}

// DSN is the URL of a database.
func (s *Server) DSN(database string) string {
	return "postgres://postgres@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// Start starts the stopped server.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) start() error {
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off -c max_connections=200",
		s.dir)
	for _, one := range s.settings {
		options += " -c " + one
	}
	return s.run("pg_ctl", "start", "-w", "-s", "-t", seconds(patience), "-D", s.data(), "-l", s.log(), "-o", options)
}

// Stop stops it: smart, fast or immediate.
func (s *Server) Stop(t testing.TB, how string) {
	t.Helper()
	if err := s.run("pg_ctl", "stop", "-w", "-s", "-t", seconds(patience), "-D", s.data(), "-m", how); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

func seconds(d time.Duration) string { return fmt.Sprint(int(d.Seconds())) }

// run runs a program of PostgreSQL.
func (s *Server) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Minute)
	defer cancel()
	line := s.line(program, args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = s.dir
	var out strings.Builder
	if program != "pg_ctl" { // the server keeps whatever it inherits
		cmd.Stdout, cmd.Stderr = &out, &out
	}
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(s.log())
		return fmt.Errorf("%s: %w\n%s%s", program, err, out.String(), log)
	}
	return nil
}

// line returns a command line of one of PostgreSQL's programs. They refuse to be root.
func (s *Server) line(program string, args ...string) []string {
	bin, _ := programs()
	return s.asPostgres(filepath.Join(bin, program), args...)
}

func (s *Server) asPostgres(program string, args ...string) []string {
	line := append([]string{program}, args...)
	if os.Getuid() == 0 {
		line = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"}, line...)
	}
	return line
}
