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
	dsnName  = "APPROVALS_TEST_DSN"
)

func TestOtherProcess(t *testing.T) {
	dsn := os.Getenv(dsnName)
	if dsn == "" {
		t.Skip("runs only as a child")
	}
	s := placeIn(t, dsn).server(t)
	switch os.Getenv(roleName) {
	case "server":
		for {
			id, err := s.Ask(t.Context(), someCall(), in(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println("ASKED", id)
			if err := s.Await(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if d, err := s.Take(t.Context(), id, someCall()); err == nil && d.Allow {
				fmt.Println("RAN", id)
			}
		}
	case "approver":
		for {
			open, err := s.List(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range open {
				fmt.Println("SAYING", q.ID)
				if _, err := s.Answer(t.Context(), q.ID, Answer{Allow: true, Scope: Always}, ann); err != nil &&
					!errors.Is(err, ErrUnknown) {
					t.Fatal(err)
				}
			}
		}
	}
}

// child is another process, and what it says.
type child struct {
	cmd   *exec.Cmd
	lines chan string
	said  map[string][]string // ids by the word before them, as far as it was heard
}

// record records one line of output.
func (c *child) record(line string) {
	if what, id, is := strings.Cut(line, " "); is {
		c.said[what] = append(c.said[what], id)
	}
}

func start(t *testing.T, role, dsn string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOtherProcess$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), roleName+"="+role, dsnName+"="+dsn)
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
	limit := time.After(hang)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				t.Fatalf("it ended without %s", what)
			}
			c.record(line)
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
		c.record(line)
	}
	_ = c.cmd.Wait() // killed, as it should be
	return c.said
}

// testTheDeathOfAServer kills a server with a question. It cannot be approved
// then, and its rows are removed.
func testTheDeathOfAServer(t *testing.T, p place) {
	server := start(t, "server", p.dsn)
	id := server.word(t, "ASKED")
	person := p.person()
	server.kill(t)
	// it has been silent for nearly its lease
	p.exec(t, "UPDATE ask SET lease = {{now}} + 1000 WHERE id = $1", id)
	until(t, "the dead one's question to be over", func() bool {
		open, err := person.List(t.Context(), ann)
		return err == nil && len(open) == 0
	})
	if _, err := person.Answer(t.Context(), id, yes, ann); !errors.Is(err, ErrUnknown) {
		t.Errorf("the dead one's question is answered: %v", err)
	}
	if err := person.Sweep(t.Context()); err != nil || state(t, p, id) != "" {
		t.Errorf("it left a question that is %q, %v", state(t, p, id), err)
	}
}

// testDeathAtAnyMoment kills approvers and servers in the middle of their work,
// again and again. What ran was approved, once; what is left works.
func testDeathAtAnyMoment(t *testing.T, p place) {
	random := rand.New(rand.NewPCG(1, 2))
	ran, said := map[string]int{}, map[string]bool{}
	for range 12 {
		server, approver := start(t, "server", p.dsn), start(t, "approver", p.dsn)
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
	s := p.server(t)
	id := mustAsk(t, s, someCall())
	if _, err := p.person().Answer(t.Context(), id, yes, ann); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Take(t.Context(), id, someCall()); err != nil || !d.Allow {
		t.Errorf("after all this: %+v, %v", d, err)
	}
	if _, err := s.Rules(t.Context()); err != nil {
		t.Errorf("the rules: %v", err)
	}
}

// testApprovalForAnEndedServer approves calls of a server that lives, of one that has missed its renewals, and of one
// that died a moment ago.
func testApprovalForAnEndedServer(t *testing.T, p place) {
	s, person := p.server(t), p.person()
	for _, ended := range []bool{false, true} {
		id := mustAsk(t, s, someCall())
		if ended {
			p.exec(t, "UPDATE ask SET lease = lease - 10000 WHERE id = $1", id)
		}
		d, err := person.Answer(t.Context(), id, Answer{Allow: true}, ann)
		if err != nil || d.Ended != ended {
			t.Errorf("ended: %v, the decision is %+v, %v", ended, d, err)
		}
		if says := strings.Contains(d.Text(), "the server that asked has ended, so nothing will run"); says != ended {
			t.Errorf("ended: %v, and it says %q", ended, d.Text())
		}
	}
	for change, silent := range map[string]bool{"owner = 'died a moment ago'": true, "lease = lease + 60000": false} {
		id := mustAsk(t, s, someCall())
		p.exec(t, "UPDATE ask SET "+change+" WHERE id = $1", id)
		d, err := person.Answer(t.Context(), id, Answer{Allow: true}, ann)
		if err != nil || d.Ended || d.Silent != silent || silent != strings.Contains(d.Text(), "has not answered since") {
			t.Errorf("%s: %+v, %q, %v", change, d, d.Text(), err)
		}
	}
}
