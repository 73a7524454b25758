package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// by returns the context of a call by a user.
func by(t *testing.T, user string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user}})
}

// interrupt leaves a part of size bytes, modified age ago.
func interrupt(t *testing.T, s Spool, user, key string, size int, age time.Duration) {
	t.Helper()
	p, err := s.Open(by(t, user), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Begin("v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(filepath.Join(s.dir, partName(by(t, user), key)+partExtension), at, at); err != nil {
		t.Fatal(err)
	}
	if err := s.sweep(); err != nil {
		t.Fatal(err)
	}
}

// has reports whether a part exists.
func has(t *testing.T, s Spool, user, key string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(s.dir, partName(by(t, user), key)+partExtension))
	return err == nil
}

// countParts returns the number of parts of a user.
func countParts(t *testing.T, s Spool, user string) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(s.dir, partName(by(t, user), "")[:ownerLength]+"*"+partExtension))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func newSpool(t *testing.T, maxParts int, maxBytes int64) Spool {
	return Spool{filepath.Join(t.TempDir(), "downloads"), maxParts, maxBytes}
}

func TestExpiredPartsAreRemoved(t *testing.T) {
	s := newSpool(t, 3, 1<<20)
	interrupt(t, s, "ann", "expired", 1, 2*maxPartAge)
	for i := range 5 {
		interrupt(t, s, "ann", fmt.Sprint(i), 1, time.Hour-time.Duration(i)*time.Minute)
	}
	n := countParts(t, s, "ann")
	if n != 3 || has(t, s, "ann", "expired") || has(t, s, "ann", "1") || !has(t, s, "ann", "4") {
		t.Errorf("%d parts are left", n)
	}
}

func TestPartsOfACallerAreLimited(t *testing.T) {
	s := newSpool(t, 100, 250)
	for i, c := range []struct {
		key        string
		size, want int
	}{{"a", 100, 1}, {"b", 100, 2}, {"c", 100, 2}, {"large", 1000, 1}} {
		interrupt(t, s, "ann", c.key, c.size, time.Hour-time.Duration(i)*time.Minute)
		if n := countParts(t, s, "ann"); n != c.want || !has(t, s, "ann", c.key) {
			t.Errorf("after %s there are %d parts, not %d", c.key, n, c.want)
		}
	}
}

// TestCallersDoNotDisplaceOthers has one caller begin many downloads, large and small.
func TestCallersDoNotDisplaceOthers(t *testing.T) {
	for _, size := range []int{1, 300} {
		s := newSpool(t, 5, 1000)
		for i := range 3 { // the oldest of all
			interrupt(t, s, "ann", fmt.Sprint(i), 100, 20*time.Hour)
		}
		for i := range 50 {
			interrupt(t, s, "eve", fmt.Sprint(i), size, 50*time.Minute-time.Duration(i)*time.Minute)
			if n := countParts(t, s, "ann"); n != 3 {
				t.Fatalf("after %d parts of eve, ann has %d", i+1, n)
			}
		}
		if n := countParts(t, s, "eve"); n > 5 || !has(t, s, "eve", "49") {
			t.Errorf("eve has %d parts", n)
		}
	}
}

func TestCallersDoNotShareParts(t *testing.T) {
	s := newSpool(t, 16, 2<<30)
	interrupt(t, s, "ann", "a", 10, 0)
	p, err := s.Open(by(t, "eve"), "a")
	if err != nil || p.Size() != 0 || p.Version() != "" {
		t.Fatalf("eve gets %+v, %v", p, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
