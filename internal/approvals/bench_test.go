package approvals

import (
	"fmt"
	"testing"
)

// BenchmarkQuestion is the life of a question: asked, answered, taken.
func BenchmarkQuestion(b *testing.B) {
	s := New(b.TempDir())
	defer s.Close()
	for b.Loop() {
		id, err := s.Ask(someCall(), in(1e9))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Answer(id, yes, ann); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Take(id, someCall()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.locked(func() error { return removeQuestion(s, id) }); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkRules looks for the last of a hundred rules: what each call costs
// that a rule allows.
func BenchmarkRules(b *testing.B) {
	s := New(b.TempDir())
	defer s.Close()
	for i := range 100 {
		id, err := s.Ask(someCall(func(c *Call) { c.Digest = fmt.Sprint(i) }), in(1e11))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Answer(id, always(Like{}), ann); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, ok, err := s.Allowed(someCall(func(c *Call) { c.Digest = "99" })); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
