package server

import (
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// BenchmarkConsult reads and lists, beside a call of a tool that does nothing.
func BenchmarkConsult(b *testing.B) {
	lib := testShelf()
	lib.items["a/u"] = nil
	for i := range 200 {
		lib.put("a/u", fmt.Sprintf("memory:///%d.md", i), "some text that was remembered")
	}
	s := withLibrary(b, lib)
	next := s.settings().Settings
	next.Limits = shippedLimits()
	next.Limits.PerMinute, next.Limits.Burst = 1<<30, 1<<30
	if err := s.Apply(next); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]LibraryRequest{
		"read":        inquiry(mcp.MethodResourcesRead, Ref{URI: "memory:///0.md"}),
		"list of 200": inquiry(mcp.MethodResourcesList, Ref{}),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.QueryLibrary(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				s.audit.entries, lib.heard = s.audit.entries[:0], lib.heard[:0]
			}
		})
	}
	b.Run("call", func(b *testing.B) {
		for b.Loop() {
			s.Call(b.Context(), Request{Access: testAccess(), Tool: "echo", Args: []byte(`{}`)})
			s.audit.entries = s.audit.entries[:0]
		}
	})
	b.Run("change heard by 1 of 1000", func(b *testing.B) {
		for i := range 1000 {
			a := testAccess()
			a.Caller.User = fmt.Sprint(i)
			one := s.newSession(a)
			s.addSession(one)
			defer s.removeSession(one)
		}
		for b.Loop() {
			s.Changed(Change{Agent: "a", User: "7", Ref: Ref{URI: "memory:///0.md"}, Listed: true})
		}
	})
}
