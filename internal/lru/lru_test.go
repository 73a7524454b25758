package lru

import (
	"strings"
	"sync"
	"testing"
)

func sizeOf(s string) int64 { return int64(len(s)) }

func TestLeastRecentlyUsedIsEvicted(t *testing.T) {
	c := New[string](10, sizeOf)
	for _, step := range []struct{ do, want string }{
		{"+aaaa", "a"}, {"+bbbb", "ab"}, {"?a", "ab"}, {"+cccc", "ac"}, // b was not used for the longest
		{"+aa", "ac"}, {"+dddd", "acd"}, // a is smaller now
		{"+ccccc", "cd"},                   // and c is larger
		{"?b", "cd"}, {"+eeeeeeeeee", "e"}, // which is just as much as there is room for
		{"+fffffffffff", "e"}, {"+eeeeeeeeeeeeee", ""}, // too much, and the former e is no longer true
		{"+aaaa", "a"},
	} {
		key := step.do[1:2]
		if step.do[0] == '+' {
			c.Put(key, step.do[1:])
		} else {
			c.Get(key)
		}
		var got strings.Builder
		held := int64(0)
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			if at, ok := c.byKey[key]; ok { // Get would be a use
				got.WriteString(key)
				held += at.Value.(*entry[string, string]).size
			}
		}
		if got.String() != step.want || held != c.total || c.order.Len() != got.Len() {
			t.Errorf("after %s: %s, %d of %d held", step.do, got.String(), held, c.total)
		}
	}
	if v, ok := c.Get("a"); !ok || v != "aaaa" {
		t.Errorf("%q, %t", v, ok)
	}
	if v, ok := c.Get("z"); ok || v != "" {
		t.Errorf("%q, %t", v, ok)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := New[int](100, func(int) int64 { return 1 })
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				c.Put(i, i)
				if v, ok := c.Get(i + g); ok && v != i+g {
					t.Errorf("%d under %d", v, i+g)
				}
			}
		})
	}
	all.Wait()
	if len(c.byKey) != 100 || c.total != 100 {
		t.Errorf("%d kept, %d held", len(c.byKey), c.total)
	}
}
