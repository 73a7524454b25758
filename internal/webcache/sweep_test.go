package webcache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// by is a context of a call of somebody.
func by(t *testing.T, user string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user}})
}

// cut leaves so many bytes of a download behind, the last touched a while ago.
func cut(t *testing.T, s Spool, user, key string, size int, age time.Duration) {
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
	if err := os.Chtimes(filepath.Join(s.dir, partName(by(t, user), key)+partEnd), at, at); err != nil {
		t.Fatal(err)
	}
	if err := s.sweep(); err != nil {
		t.Fatal(err)
	}
}

// has reports whether something is left of a download.
func has(t *testing.T, s Spool, user, key string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(s.dir, partName(by(t, user), key)+partEnd))
	return err == nil
}

// left is how many parts somebody has.
func left(t *testing.T, s Spool, user string) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(s.dir, partName(by(t, user), "")[:ownerLength]+"*"+partEnd))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func newSpool(t *testing.T, each, all quota) Spool {
	return Spool{filepath.Join(t.TempDir(), "downloads"), each, all}
}

func TestForgottenPartsGo(t *testing.T) {
	s := newSpool(t, quota{3, 1 << 20}, quota{100, 1 << 20})
	cut(t, s, "ann", "forgotten", 1, 2*partAge)
	for i := range 5 {
		cut(t, s, "ann", fmt.Sprint(i), 1, time.Hour-time.Duration(i)*time.Minute)
	}
	if n := left(t, s, "ann"); n != 3 || has(t, s, "ann", "forgotten") || has(t, s, "ann", "1") || !has(t, s, "ann", "4") {
		t.Errorf("%d parts are left", n)
	}
}

func TestPartsAreNotTooMuch(t *testing.T) {
	s := newSpool(t, quota{100, 250}, quota{100, 1 << 20})
	for i, c := range []struct {
		key        string
		size, want int
	}{{"a", 100, 1}, {"b", 100, 2}, {"c", 100, 2}, {"large", 1000, 1}} {
		cut(t, s, "ann", c.key, c.size, time.Hour-time.Duration(i)*time.Minute)
		if n := left(t, s, "ann"); n != c.want || !has(t, s, "ann", c.key) {
			t.Errorf("after %s there are %d parts, not %d", c.key, n, c.want)
		}
	}
}

// TestNobodyPushesOutOthers has one caller begin downloads without end, of many
// bytes and of few.
func TestNobodyPushesOutOthers(t *testing.T) {
	for _, size := range []int{1, 300} {
		s := newSpool(t, quota{5, 1000}, quota{8, 1200})
		for i := range 3 { // the oldest of all
			cut(t, s, "ann", fmt.Sprint(i), 100, 20*time.Hour)
		}
		for i := range 50 {
			cut(t, s, "eve", fmt.Sprint(i), size, 50*time.Minute-time.Duration(i)*time.Minute)
			if n := left(t, s, "ann"); n != 3 {
				t.Fatalf("after %d of eve's, %d of ann's parts are left", i+1, n)
			}
		}
		if n := left(t, s, "eve"); n > 5 || !has(t, s, "eve", "49") {
			t.Errorf("%d of eve's parts are left", n)
		}
	}
}

// TestWhoHasTheMostGivesWay is about many callers who are each within what one
// may have.
func TestWhoHasTheMostGivesWay(t *testing.T) {
	s := newSpool(t, quota{10, 1000}, quota{6, 2000})
	cut(t, s, "ann", "a", 100, 20*time.Hour)
	for i := range 4 {
		cut(t, s, "eve", fmt.Sprint(i), 100, time.Hour-time.Duration(i)*time.Minute)
	}
	for i := range 3 {
		cut(t, s, fmt.Sprintf("user%d", i), "x", 10, time.Minute)
	}
	if !has(t, s, "ann", "a") || has(t, s, "eve", "0") || left(t, s, "eve") != 2 {
		t.Errorf("ann has %d, eve has %d", left(t, s, "ann"), left(t, s, "eve"))
	}
	cut(t, s, "large", "x", 1900, time.Minute)
	if has(t, s, "large", "x") || !has(t, s, "ann", "a") {
		t.Error("one large part was kept in the place of all others")
	}
	s = newSpool(t, eachQuota(), quota{6, 2000})
	if cut(t, s, "large", "x", 3000, time.Minute); !has(t, s, "large", "x") {
		t.Error("a part that is alone was not kept")
	}
}

func TestTheSameKeyOfAnotherIsAnother(t *testing.T) {
	s := newSpool(t, eachQuota(), wholeQuota())
	cut(t, s, "ann", "a", 10, 0)
	p, err := s.Open(by(t, "eve"), "a")
	if err != nil || p.Size() != 0 || p.Tag() != "" {
		t.Fatalf("eve goes on with %+v, %v", p, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
