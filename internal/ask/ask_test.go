package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func put(t testing.TB, s *store.Store, q Question, l Limits) (id string, err error) {
	t.Helper()
	q.ID, q.Kind = NewID(), OfAgent
	return q.ID, s.Update(t.Context(), func(x *store.Tx) error { return Put(x, q, 0, l) })
}

// answer answers an open question.
func answer(ctx context.Context, s *store.Store, id, text string, toUse bool) error {
	return s.Update(ctx, func(x *store.Tx) error {
		q, err := Hold(x, id)
		if err == nil && q.State != Open {
			err = ErrUnknown
		}
		if err != nil {
			return err
		}
		return Answer(x, q, text, "ann", toUse)
	})
}

func look(t testing.TB, s *store.Store, id string) (q Question, err error) {
	t.Helper()
	return q, s.View(t.Context(), func(x *store.Tx) (err error) { q, err = Get(x, id); return err })
}

func TestOneAnswerCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for range 10 {
			id, err := put(t, s, Question{Agent: "a", Body: "Red or blue?", Choices: []string{"red", "blue"}}, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var counted atomic.Int64
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					if answer(t.Context(), s, id, fmt.Sprint(i), false) == nil {
						counted.Add(1)
					}
				})
			}
			all.Wait()
			if q, err := look(t, s, id); err != nil || counted.Load() != 1 || q.State != Answered || q.By != "ann" ||
				len(q.Choices) != 2 {
				t.Fatalf("%d answers count, and the question is %+v, %v", counted.Load(), q, err)
			}
		}
	})
}

func TestLimits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		l := Limits{Open: 3, Each: 2, Bytes: 100, BytesEach: 60}
		for _, test := range []struct {
			agent string
			size  int
			want  error
		}{
			{"a", 61, ErrTooMany}, {"a", 30, nil}, {"a", 31, ErrTooMany}, {"a", 1, nil}, {"a", 1, ErrTooMany},
			{"b", 60, nil}, {"c", 1, ErrTooMany},
		} {
			if _, err := put(t, s, Question{Agent: test.agent, Body: strings.Repeat("x", test.size)}, l); !errors.Is(err,
				test.want) {
				t.Errorf("%s asks %d bytes: %v, want %v", test.agent, test.size, err, test.want)
			}
		}
		list, err := List(t.Context(), s, "")
		if err != nil || len(list) != 3 {
			t.Errorf("open are %+v, %v", list, err)
		}
		if list, err = List(t.Context(), s, Approval); err != nil || len(list) != 0 {
			t.Errorf("open approvals are %+v, %v", list, err)
		}
	})
}

// TestTheEndOfAQuestion waits for each way in which a question can end.
func TestTheEndOfAQuestion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := NewDesk(s, nil)
		closed := false
		for name, test := range map[string]struct {
			expires time.Duration
			end     func(id string) error
			want    State
		}{
			"answered":  {time.Hour, func(id string) error { return answer(t.Context(), s, id, "x", true) }, Answered},
			"final":     {time.Hour, func(id string) error { return answer(t.Context(), s, id, "x", false) }, Answered},
			"expired":   {time.Millisecond, func(string) error { return nil }, Expired},
			"withdrawn": {0, func(id string) error { return d.Withdraw(t.Context(), id) }, ""},
			"removed": {0, func(id string) error {
				return s.Update(t.Context(), func(x *store.Tx) error { return WithdrawAbout(x, "task "+id) })
			}, ""},
		} {
			id := NewID()
			if err := d.Put(t.Context(), Question{ID: id, Kind: Approval, About: "task " + id}, test.expires,
				Limits{}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- d.Await(t.Context(), id) }()
			if err := errors.Join(test.end(id), <-ended); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if q, err := look(t, s, id); q.State != test.want || test.want != "" && err != nil {
				t.Errorf("%s: it is %q, %v", name, q.State, err)
			}
			if name != "answered" {
				continue
			}
			if err := s.Update(t.Context(), func(x *store.Tx) error {
				for _, want := range []bool{true, false} {
					if used, err := Use(x, id, Grace); err != nil || used != want {
						t.Errorf("its answer is used %t, %v", used, err)
					}
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		last := NewID()
		if err := d.Put(t.Context(), Question{ID: last, Kind: Approval}, time.Hour, Limits{}); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(func(*store.Tx) error { closed = true; return nil }); err != nil || !closed {
			t.Error(err, closed)
		}
		if _, err := look(t, s, last); !errors.Is(err, ErrUnknown) {
			t.Errorf("a question of a process that has ended: %v", err)
		}
	})
}

const dsnName = "ASK_TEST_DSN"

// TestOtherProcess is the other process of the next test: it asks and answers, and prints what was acknowledged.
func TestOtherProcess(t *testing.T) {
	dsn := os.Getenv(dsnName)
	if dsn == "" {
		t.Skip("runs only as a child")
	}
	s := storetest.Open(t, dsn)
	for {
		id, err := put(t, s, Question{Body: "x"}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("ASKED", id)
		if err := answer(t.Context(), s, id, "yes", false); err != nil {
			t.Fatal(err)
		}
		fmt.Println("ANSWERED", id)
	}
}

func TestDeathLosesNothing(t *testing.T) {
	for name, dsn := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return t.TempDir() },
		"postgres": func(t *testing.T) string { return storetest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			place := dsn(t)
			s := storetest.Open(t, place)
			random := rand.New(rand.NewPCG(1, 2))
			for range 4 {
				said := killed(t, place, 1+random.IntN(20))
				for _, line := range said {
					what, id, _ := strings.Cut(line, " ")
					if q, err := look(t, s, id); err != nil || what == "ANSWERED" && q.Answer != "yes" {
						t.Errorf("%s, and it is %+v, %v", line, q, err)
					}
				}
			}
		})
	}
}

// killed returns what another process says before it is killed after so many lines.
func killed(t *testing.T, dsn string, lines int) (said []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOtherProcess$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), dsnName+"="+dsn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if line := scanner.Text(); strings.HasPrefix(line, "A") {
			said = append(said, line)
		}
		if len(said) == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed, as it should be
	if len(said) < lines {
		t.Fatalf("the other process said %q", said)
	}
	return said
}
