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

// Database makes an empty database until the end of the test, and is its URL.
// It is in a server that all tests of this process share, since to start one
// takes longer than most of them.
func Database(t testing.TB) string {
	t.Helper()
	installed(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test%d", s.made.Add(1))
	if err := s.say("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.say("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.DSN(name)
}

// A sharedServer is gone with this process.
type sharedServer struct {
	Server
	made     atomic.Int64 // databases
	lifeline *os.File     // closed by the system when we end
}

// shared starts the server for whoever asks first.
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
// and removes the directory that the first one names, also while somebody who
// has not heard of the end is still filling it.
const lastWill = `trap '' HUP INT TERM; read -r _; "$@"; until rm -rf -- "$0"; do sleep 1; done`

// guard leaves a process behind that stops the server when this one has ended,
// in whichever way: who is killed cleans nothing up.
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
