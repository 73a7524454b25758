package storetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Database creates an empty database for the test and returns its URL. All tests
// of the process share one server, because starting one takes longer than most
// tests.
func Database(t testing.TB) string {
	t.Helper()
	return database(t, "template1")
}

// MigratedDatabase creates a database with all migrations for the test and returns its URL.
func MigratedDatabase(t testing.TB) string {
	t.Helper()
	installed(t)
	if err := migratedTemplate(); err != nil {
		t.Fatal(err)
	}
	return database(t, template)
}

// database creates a copy of another database for the test and returns its URL.
func database(t testing.TB, from string) string {
	t.Helper()
	installed(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test%d", s.made.Add(1))
	if err := s.say("CREATE DATABASE " + name + " TEMPLATE " + from); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.say("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.DSN(name)
}

// template is the name of the database with all migrations.
const template = "migrated"

// migratedTemplate makes the template at the first call. Its copies wait until the server has seen that the migrations
// have disconnected.
var migratedTemplate = sync.OnceValue(func() error {
	s, err := shared()
	if err != nil {
		return err
	}
	if err := s.say("CREATE DATABASE " + template); err != nil {
		return err
	}
	return migrate(s.DSN(template))
})

// A sharedServer ends with this process.
type sharedServer struct {
	Server
	made     atomic.Int64 // databases
	lifeline *os.File     // closed by the system when we end
}

// shared starts the server at the first call.
var shared = sync.OnceValues(func() (*sharedServer, error) {
	s := new(sharedServer)
	if err := s.settle(); err != nil {
		return nil, err
	}
	if err := s.guard(); err != nil {
		return nil, err
	}
	return s, s.create()
})

// lastWill waits for the end of its input, then runs the rest of its arguments
// and removes the directory in the first one, again and again while the server
// still writes to it.
const lastWill = `trap '' HUP INT TERM; read -r _; "$@"; until rm -rf -- "$0"; do sleep 1; done`

// guard starts a process that stops the server when this one has ended, even if
// it was killed.
func (s *sharedServer) guard() error {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	s.lifeline = ours
	stop := s.line("pg_ctl", "stop", "-w", "-s", "-D", s.data(), "-m", "immediate")
	cmd := exec.Command("sh", append([]string{"-c", lastWill, s.dir}, stop...)...)
	cmd.Stdin = theirs
	return cmd.Start()
}

// say runs a statement on the server.
func (s *sharedServer) say(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	_, err = db.Exec(ctx, statement)
	return err
}
