package cache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
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

func TestPartsAreKeptBetweenServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "downloads")
	write := func(key, tag, text string) {
		t.Helper()
		p, err := NewSpool(dir).Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Begin(tag); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("a", `"v1"`, "begin")
	write("untagged", "", "begin")
	p, err := NewSpool(dir).Open(t.Context(), "a")
	if err != nil || p.Version() != `"v1"` || p.Size() != 5 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if _, err := NewSpool(dir).Open(t.Context(), "a"); tool.AsError(err).Kind != tool.Busy {
		t.Errorf("a locked part was opened again: %v", err)
	}
	if _, err := p.Write([]byte(" and end")); err != nil {
		t.Fatal(err)
	}
	content, err := p.Content()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(content); err != nil || string(text) != "begin and end" {
		t.Errorf("%q, %v", text, err)
	}
	if err := p.Done(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	for _, key := range []string{"a", "untagged"} {
		p, err := NewSpool(dir).Open(t.Context(), key)
		if err != nil || p.Version() != "" || p.Size() != 0 {
			t.Errorf("%s: %+v, %v", key, p, err)
			continue
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLockedFileIsTheOneAtItsPath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	file, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.Remove(path); err != nil || isAt(file, path) {
		t.Errorf("a removed file is still at its path: %v", err)
	}
	again, err := lockFile(path)
	if err != nil || !isAt(again, path) || isAt(file, path) {
		t.Fatalf("a new file at the same path: %v", err)
	}
	defer again.Close()
	outside := filepath.Join(dir, "outside")
	if err := errors.Join(os.WriteFile(outside, nil, 0o600), os.Symlink(outside, path+"-link")); err != nil {
		needtest.Lacking(t, "symbolic links", err.Error())
	}
	if _, err := lockFile(path + "-link"); err == nil {
		t.Error("a link was opened as a part")
	}
}
