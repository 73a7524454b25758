package approvals

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The test program is also the other process: a server that asks and writes
// down what it runs, or an approver that says yes.
const (
	roleName = "APPROVALS_TEST_ROLE"
	dataName = "APPROVALS_TEST_DATA"
)

func TestOtherProcess(t *testing.T) {
	s := New(os.Getenv(dataName))
	switch os.Getenv(roleName) {
	case "server":
		for {
			id, err := s.Ask(someCall(), in(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println("ASKED", id)
			if err := s.Await(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if d, err := s.Take(id, someCall()); err == nil && d.Allow {
				fmt.Println("RAN", id)
			}
		}
	case "approver":
		for {
			open, err := s.List(ann)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range open {
				fmt.Println("SAYING", q.ID)
				if _, err := s.Answer(q.ID, Answer{Allow: true, Scope: Always}, ann); err != nil && !errors.Is(err, ErrUnknown) {
					t.Fatal(err)
				}
			}
		}
	default:
		t.Skip("runs only as a child")
	}
}

// child is another process, and what it says.
type child struct {
	cmd   *exec.Cmd
	lines chan string
	said  map[string][]string // ids by the word before them, as far as it was heard
}

// hear takes one line down.
func (c *child) hear(line string) {
	if what, id, is := strings.Cut(line, " "); is {
		c.said[what] = append(c.said[what], id)
	}
}

func start(t *testing.T, role, data string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOtherProcess$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), roleName+"="+role, dataName+"="+data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, make(chan string, 100_000), map[string][]string{}}
	go func() {
		defer close(c.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	return c
}

// word is the id in the next line that begins with what.
func (c *child) word(t *testing.T, what string) string {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				t.Fatalf("it ended without %s", what)
			}
			c.hear(line)
			if id, is := strings.CutPrefix(line, what+" "); is {
				return id
			}
		case <-limit:
			t.Fatalf("it never said %s", what)
		}
	}
}

// kill ends it with SIGKILL and returns all that it said.
func (c *child) kill(t *testing.T) map[string][]string {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for line := range c.lines {
		c.hear(line)
	}
	_ = c.cmd.Wait() // killed, as it should be
	return c.said
}

// TestTheDeathOfAServer kills one that waits. Nobody can approve for it any
// more, and what it left goes.
func TestTheDeathOfAServer(t *testing.T) {
	data := t.TempDir()
	server := start(t, "server", data)
	id := server.word(t, "ASKED")
	person := New(data)
	if _, err := person.Get(id, ann); err != nil {
		t.Fatal(err)
	}
	server.kill(t)
	if _, err := person.Answer(id, yes, ann); !errors.Is(err, ErrUnknown) {
		t.Errorf("the dead one's question is answered: %v", err)
	}
	if open, err := person.List(ann); err != nil || len(open) != 0 {
		t.Errorf("%+v, %v", open, err)
	}
	if left := append(files(t, person, "*.json"), files(t, person, "owner-*")...); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

// TestDeathAtAnyMoment kills approvers and servers in the middle of their work,
// again and again. What ran was approved, once; what is left works.
func TestDeathAtAnyMoment(t *testing.T) {
	data := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	ran, said := map[string]int{}, map[string]bool{}
	for range 12 {
		server, approver := start(t, "server", data), start(t, "approver", data)
		// The moment is that of a random number of questions, not of a clock.
		for range 1 + random.IntN(4) {
			server.word(t, "ASKED")
		}
		first, second := approver, server
		if random.IntN(2) == 0 {
			first, second = server, approver
		}
		for _, one := range []*child{first, second} {
			heard := one.kill(t)
			for _, id := range heard["RAN"] {
				ran[id]++
			}
			for _, id := range heard["SAYING"] { // before the answer, which may have been its last act
				said[id] = true
			}
		}
	}
	if len(ran) == 0 {
		t.Error("nothing ran at all")
	}
	for id, times := range ran {
		if times != 1 || !said[id] {
			t.Errorf("%s ran %d times, approved: %t", id, times, said[id])
		}
	}
	s := newStore(t, data)
	id := mustAsk(t, s, someCall())
	if _, err := New(data).Answer(id, yes, ann); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Take(id, someCall()); err != nil || !d.Allow {
		t.Errorf("after all this: %+v, %v", d, err)
	}
	if _, err := s.Rules(); err != nil {
		t.Errorf("the rules: %v", err)
	}
	if left := files(t, s, "owner-*"); len(left) > 1 {
		t.Errorf("%d dead ones are not cleared away", len(left))
	}
}
