package approvals

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func someCall(change ...func(*Call)) Call {
	c := Call{
		Call: "c1", Tool: "write_file", Title: "Write file", Risk: "destroys", Principal: "a/u", Agent: "a", User: "u",
		Session: "s", Profile: "coding", Workspace: "/w", Digest: "d1", Basis: "b1",
		Shown: `{"path":"src/a.go","content":"x"}`, Args: json.RawMessage(`{"path":"src/a.go","content":"x"}`),
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func mustAsk(t *testing.T, s *Store, c Call) string {
	t.Helper()
	id, err := s.Ask(c, in(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// newStore is a server's store in a directory; it ends with the test.
func newStore(t *testing.T, data string) *Store {
	t.Helper()
	s := New(data)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var (
	ann = Approver{Name: "ann", Channel: "cli"}
	yes = Answer{Allow: true}
	no  = Answer{Reason: "not today"}
)

// age makes a question older than it is.
func age(t *testing.T, s *Store, id string, by time.Duration) {
	t.Helper()
	err := s.locked(func() error {
		q, err := s.read(id)
		if err != nil {
			return err
		}
		q.Asked, q.Expires = q.Asked.Add(-by), q.Expires.Add(-by)
		return s.write(&q)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, s *Store, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mustMkdir(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

func removeQuestion(s *Store, id string) error { return os.Remove(s.path(id + fileEnding)) }
