package policy

import (
	"fmt"
	"sync"
	"testing"
)

func TestVerdictAllocatesNothing(t *testing.T) {
	rules, busy := explained()
	p, exec := compile(t, rules), spec(t, "exec")
	stranger := Subject{Profile: "coding", Agent: "stranger", Provider: "unheard-of", Group: "chat-77"}
	var got Verdict
	for _, s := range []Subject{{}, busy, stranger,
		{Narrow: Narrow{Toolsets: []string{"fs"}, Exclude: []string{"read_*"}, ReadOnly: true}}} {
		p.Verdict(s, exec.Name)
		if n := testing.AllocsPerRun(100, func() { got = p.Verdict(s, exec.Name) }); n != 0 {
			t.Errorf("%+v: %v allocations for %s", s, n, got)
		}
	}
}

// TestUnknownNamesAreNotCached checks that names from untrusted requests do not make caches grow.
func TestUnknownNamesAreNotCached(t *testing.T) {
	rules, _ := explained()
	p := compile(t, rules)
	first := p.Class(Subject{Agent: "stranger-0", Provider: "p-0", Group: "g-0", Depth: 1})
	for i := range 1000 {
		s := Subject{Agent: fmt.Sprint("stranger-", i), Provider: fmt.Sprint("p-", i), Group: fmt.Sprint("g-", i),
			Depth: 1 + i}
		if p.Class(s) != first {
			t.Fatalf("%+v is cached separately", s)
		}
	}
}

// TestManyClasses decides for many agents at the same time.
func TestManyClasses(t *testing.T) {
	rules := Rules{Agents: make(map[string]AgentRules)}
	for i := range 300 {
		own := List{"read_file"}
		if i%2 == 0 {
			own = List{"edit"}
		}
		rules.Agents[fmt.Sprint("agent-", i)] = AgentRules{Allow: own}
	}
	p, read := compile(t, rules), spec(t, "read_file")
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 300 {
				i = (i + w*100) % (300)
				if got := p.Verdict(Subject{Agent: fmt.Sprint("agent-", i)}, read.Name); (got == Allow) != (i%2 == 1) {
					t.Errorf("agent-%d: %s", i, got)
				}
			}
		})
	}
	workers.Wait()
}

func BenchmarkVerdict(b *testing.B) {
	rules, busy := explained()
	busy.Narrow = Narrow{}
	p, read := compile(b, rules), spec(b, "read_file")
	narrowed := busy
	narrowed.Narrow = Narrow{Tools: []string{"edit", "exec", "read_file"}, Exclude: []string{"create_*"}}
	run := func(name string, s Subject) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Verdict(s, read.Name)
			}
		})
	}
	run("plain", Subject{})
	run("all-lists", busy)
	run("narrowed", narrowed)
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				p.Verdict(busy, read.Name)
			}
		})
	})
}
