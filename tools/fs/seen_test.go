package fs

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestSeen(t *testing.T) {
	var s Seen
	ann := tool.Caller{Agent: "a", User: "ann", Session: "1"}
	child := ann
	child.Depth = 1
	bob := tool.Caller{Agent: "a", User: "bob", Session: "1"}

	if v, ok := s.Version(ann, "x"); ok {
		t.Errorf("nothing was read, and there is version %q", v)
	}
	s.noteShown(ann, "x", "v1", "all")
	if v, ok := s.Version(ann, "x"); v != "v1" || !ok {
		t.Errorf("version %q, %t", v, ok)
	}
	for _, other := range []tool.Caller{child, bob, {Agent: "a", User: "ann", Session: "2"}} {
		if _, ok := s.Version(other, "x"); ok {
			t.Errorf("%+v knows what another session read", other)
		}
	}
	if s.wasShown(ann, "x", "v1", "some") || s.wasShown(ann, "x", "v2", "all") || s.wasShown(bob, "x", "v1", "all") {
		t.Error("something else counts as shown")
	}
	if !s.wasShown(ann, "x", "v1", "all") {
		t.Error("it does not count as shown")
	}
	if s.wasShown(ann, "x", "v1", "all") {
		t.Error("asking a second time does not help")
	}
	s.noteShown(ann, "x", "v1", "all")
	s.Note(ann, "x", "v2")
	if v, _ := s.Version(ann, "x"); v != "v2" || s.wasShown(ann, "x", "v2", "all") {
		t.Errorf("after a write: version %q", v)
	}
	s.Note(ann, "x", "")
	if _, ok := s.Version(ann, "x"); ok {
		t.Error("a file that is gone is remembered")
	}
	s.Note(ann, "never seen", "")
	s.Note(tool.Caller{Agent: "a"}, "x", "v1")
	s.noteShown(tool.Caller{Agent: "a"}, "x", "v1", "all")
	if _, ok := s.Version(tool.Caller{}, "x"); ok {
		t.Error("the files of callers without a session are kept")
	}
}

func TestSeenForgetsTheOldest(t *testing.T) {
	var s Seen
	one := tool.Caller{Session: "one"}
	for i := range maxSeen + 10 {
		s.Note(one, fmt.Sprint(i), "v")
	}
	if _, ok := s.Version(one, "9"); ok {
		t.Error("nothing was evicted")
	}
	if _, ok := s.Version(one, "10"); !ok {
		t.Error("too much was evicted")
	}
}

func TestSeenByMany(t *testing.T) {
	var s Seen
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			c := tool.Caller{Session: fmt.Sprint(g % 3)}
			for i := range 2000 {
				name := fmt.Sprint(i % 300)
				s.noteShown(c, name, fmt.Sprint(i%2), "all")
				s.wasShown(c, name, "0", "all")
				s.Note(c, name, []string{"", "0", "1"}[i%3])
				s.Version(c, name)
			}
		})
	}
	all.Wait()
	c := tool.Caller{Session: "0"}
	s.Note(c, "0", "last")
	if v, ok := s.Version(c, "0"); v != "last" || !ok {
		t.Errorf("version %q, %v", v, ok)
	}
}
