package cache

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func entry(text string) Entry {
	return Entry{
		URL: "https://example.com/", Via: []string{"http://example.com/"}, Status: 200,
		Header: map[string]string{"Etag": `"1"`}, Body: []byte(text), Asked: time.Now(),
	}
}

func TestOldAndLargeEntriesAreNotReturned(t *testing.T) {
	old := entry("old")
	old.Asked = time.Now().Add(-25 * time.Hour)
	c := New()
	c.Put("new", entry("new"))
	c.Put("old", old)
	c.Put("large", entry(strings.Repeat("x", maxEntry+1)))
	for key, want := range map[string]bool{"new": true, "old": false, "large": false} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s: %v", key, ok)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := New()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 10 {
				c.Put(fmt.Sprint(i, j), entry(strings.Repeat("x", 1<<20)))
				c.Get(fmt.Sprint(i, j-1))
			}
		})
	}
	all.Wait()
	n := 0
	for i := range 16 {
		for j := range 10 {
			if _, ok := c.Get(fmt.Sprint(i, j)); ok {
				n++
			}
		}
	}
	if n == 0 || n*(1<<20) > maxMemory {
		t.Errorf("%d pages of a megabyte", n)
	}
}

func TestHeadersCountAsMemory(t *testing.T) {
	k := entry("")
	k.Header = map[string]string{"Etag": strings.Repeat("x", 1<<16)}
	k.Via = []string{strings.Repeat("y", 1<<16)}
	c := New()
	for i := range maxMemory >> 16 {
		c.Put(fmt.Sprint(i), k)
	}
	n := 0
	for i := range maxMemory >> 16 {
		if _, ok := c.Get(fmt.Sprint(i)); ok {
			n++
		}
	}
	if n == 0 || n > maxMemory>>17 {
		t.Errorf("%d pages with 128 KiB of headers each", n)
	}
}
