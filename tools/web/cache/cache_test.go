package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func open(t *testing.T, dir string, bytes int64) *Cache {
	t.Helper()
	return New(Options{Dir: filepath.Join(dir, "pages"), Bytes: bytes, Log: slog.New(slog.DiscardHandler)})
}

func entry(text string) Entry {
	return Entry{
		URL: "https://example.com/", Via: []string{"http://example.com/"}, Status: 200,
		Header: map[string]string{"Etag": `"1"`}, Body: []byte(text), Asked: time.Now(),
	}
}

func TestEntriesAreSharedThroughTheDisk(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, 1<<20).Put("ann\nhttps://example.com/", entry("line\n\x00\xff"))
	got, ok := open(t, dir, 1<<20).Get("ann\nhttps://example.com/")
	if !ok || string(got.Body) != "line\n\x00\xff" || got.Header["Etag"] != `"1"` ||
		got.Via[0] != "http://example.com/" || got.Status != 200 {
		t.Errorf("got %+v, %v", got, ok)
	}
	if _, ok := open(t, dir, 1<<20).Get("bob\nhttps://example.com/"); ok {
		t.Error("another caller gets it")
	}
	files, err := os.ReadDir(filepath.Join(dir, "pages"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 ||
		strings.Contains(files[0].Name(), "ann") {
		t.Errorf("the file is %s %v, %v", files[0].Name(), info.Mode(), err)
	}
}

func TestEntriesThatAreNotStored(t *testing.T) {
	dir := t.TempDir()
	noStore := entry("secret")
	noStore.NoStore = true
	old := entry("old")
	old.Asked = time.Now().Add(-25 * time.Hour)
	c := open(t, dir, 1<<20)
	c.Put("no-store", noStore)
	c.Put("old", old)
	c.Put("large", entry(strings.Repeat("x", maxEntry+1)))
	if _, ok := c.Get("no-store"); !ok {
		t.Error("a no-store entry is not in memory")
	}
	for _, key := range []string{"old", "large"} {
		if _, ok := c.Get(key); ok {
			t.Errorf("the entry %s is stored", key)
		}
	}
	if _, ok := open(t, dir, 1<<20).Get("no-store"); ok {
		t.Error("a no-store entry is on the disk")
	}
	open(t, dir, 0).Put("none", entry("x"))
	if _, ok := open(t, dir, 0).Get("none"); ok {
		t.Error("stored on the disk although the limit is 0")
	}
}

func TestDamagedFilesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, 1<<20).Put("k", entry("all of it"))
	names, err := filepath.Glob(filepath.Join(dir, "pages", "*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{
		nil, []byte("{"), []byte("{}\nx"), whole[:len(whole)-1], append(bytes.Clone(whole), 'x'), []byte("\n"),
	} {
		if err := os.WriteFile(names[0], text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := open(t, dir, 1<<20).Get("k"); ok {
			t.Errorf("%q is read as an entry: %+v", text, got)
		}
	}
}

func TestOldestFilesAreEvicted(t *testing.T) {
	dir := t.TempDir()
	const each, limit = 10_000, 200_000
	for i := range 100 {
		c := open(t, dir, limit) // each server writes one entry and sweeps
		c.Put(fmt.Sprint(i), entry(strings.Repeat("x", each)))
	}
	var total int64
	names, err := os.ReadDir(filepath.Join(dir, "pages"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		info, err := n.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > limit || total < limit/2 {
		t.Errorf("%d bytes are stored, the limit is %d", total, limit)
	}
	if _, ok := open(t, dir, limit).Get("99"); !ok {
		t.Error("the newest entry was evicted")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := New(Options{})
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
	c := New(Options{})
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

func TestSmallFilesCountAsABlock(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1<<20)
	for i := range 2000 {
		c.Put(fmt.Sprint(i), entry(""))
	}
	if files, err := os.ReadDir(filepath.Join(dir, "pages")); err != nil || len(files) > 1<<20/4096+100 {
		t.Errorf("%d files, %v", len(files), err)
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
