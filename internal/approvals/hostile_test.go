package approvals

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRulesOfOthersAllowNothing puts a rule that was made well where somebody
// else could have written it.
func TestRulesOfOthersAllowNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may write")
	}
	for name, plant := range map[string]func(s *Store, elsewhere string) error{
		"a link to rules": func(s *Store, elsewhere string) error {
			return errors.Join(os.Rename(s.path(rulesName), elsewhere), os.Symlink(elsewhere, s.path(rulesName)))
		},
		"a link to all": func(s *Store, elsewhere string) error {
			return errors.Join(os.Rename(s.dir, elsewhere), os.Symlink(elsewhere, s.dir))
		},
		"rules for all to write": func(s *Store, _ string) error { return os.Chmod(s.path(rulesName), 0o666) },
		"all for all to write":   func(s *Store, _ string) error { return os.Chmod(s.dir, 0o777) },
		"a directory": func(s *Store, elsewhere string) error {
			return errors.Join(os.Rename(s.path(rulesName), elsewhere), os.Mkdir(s.path(rulesName), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			s := New(data)
			if _, err := s.Answer(mustAsk(t, s, someCall()), always(Like{}), ann); err != nil {
				t.Fatal(err)
			}
			if _, ok, err := s.Allowed(someCall()); !ok || err != nil {
				t.Fatalf("the rule does not count at all: %v", err)
			}
			if err := plant(s, data+"/elsewhere"); err != nil {
				t.Fatal(err)
			}
			if rule, ok, err := s.Allowed(someCall()); ok || err == nil {
				t.Errorf("allowed by %+v, %v", rule, err)
			}
		})
	}
}

// TestTheClockIsSetBack looks when it is later than it will be.
func TestTheClockIsSetBack(t *testing.T) {
	s := newStore(t, t.TempDir())
	if err := s.Look(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(s.path(seenName), time.Time{}, in(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if s.Attended() {
		t.Error("somebody is there who will have looked in an hour")
	}
	if err := s.Look(); err != nil || !s.Attended() {
		t.Errorf("who looks now is not there: %v", err)
	}
}

// TestWhatIsGivenUpLeavesNothing is about a caller that asks and cancels, on
// and on: everybody else reads what it leaves behind.
func TestWhatIsGivenUpLeavesNothing(t *testing.T) {
	s := newStore(t, t.TempDir())
	if err := s.Withdraw(mustAsk(t, s, someCall())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(mustAsk(t, s, someCall()), someCall()); !errors.Is(err, ErrExpired) {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("aaaaaaaaaaaa"+fileEnding+newEnding), nil, 0o600); err != nil { // as one who is killed does
		t.Fatal(err)
	}
	if _, err := s.List(ann); err != nil {
		t.Fatal(err)
	}
	if left := files(t, s, "*.json*"); len(left) != 0 {
		t.Errorf("there are %v", left)
	}
	for range mostClosed + 3 {
		if _, err := s.Answer(mustAsk(t, s, someCall()), no, ann); err != nil {
			t.Fatal(err)
		}
	}
	waits := mustAsk(t, s, someCall())
	if _, err := s.Answer(waits, yes, ann); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(ann); err != nil {
		t.Fatal(err)
	}
	if left := files(t, s, "*.json"); len(left) != mostClosed+1 {
		t.Errorf("there are %d files", len(left))
	}
	if d, err := s.Take(waits, someCall()); err != nil || !d.Allow {
		t.Errorf("the word that was not taken yet is %+v, %v", d, err)
	}
}

// TestQuestionsAreBoundedInSize lets callers ask at length.
func TestQuestionsAreBoundedInSize(t *testing.T) {
	s := newStore(t, t.TempDir())
	long := func(who int) func(*Call) {
		return func(c *Call) {
			c.Principal, c.Shown = fmt.Sprint("a/", who), strings.Repeat("x", mostTextOfOne/2)
		}
	}
	for who := range mostText / mostTextOfOne {
		for range 2 {
			mustAsk(t, s, someCall(long(who)))
		}
		if _, err := s.Ask(someCall(long(who)), in(time.Minute)); !errors.Is(err, ErrTooMany) {
			t.Errorf("caller %d asks more: %v", who, err)
		}
	}
	if _, err := s.Ask(someCall(long(-1)), in(time.Minute)); !errors.Is(err, ErrTooMany) {
		t.Errorf("all together ask more: %v", err)
	}
}

// TestANoCountsWhateverBecameOfTheRules denies what was allowed always while
// nobody can read the rules.
func TestANoCountsWhateverBecameOfTheRules(t *testing.T) {
	s := newStore(t, t.TempDir())
	id := mustAsk(t, s, someCall())
	if _, err := s.Answer(id, always(Like{}), ann); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(rulesName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Answer(id, no, ann); err == nil {
		t.Error("that the rule is still there is not said")
	}
	if d, err := s.Take(id, someCall()); err != nil || d.Allow {
		t.Errorf("the server takes %+v, %v", d, err)
	}
}
