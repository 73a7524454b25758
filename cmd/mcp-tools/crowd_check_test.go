//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// tell logs how the writing went.
func (c *crowd) tell(began time.Time, killed int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	starts := 0
	for _, m := range c.members {
		starts += m.starts
	}
	took := c.last.Sub(began)
	c.t.Logf("%d servers, %d documents in %s, %.0f writes/s; %d servers were killed, %d started",
		len(c.members), len(c.docs), took.Round(time.Millisecond), float64(len(c.took))/took.Seconds(), killed, starts)
	slices.Sort(c.took)
	if n := len(c.took); n > 0 {
		c.t.Logf("a write took %s in the middle, %s for 99 of 100, %s at most", c.took[n/2], c.took[n*99/100], c.took[n-1])
	}
	used := c.used()
	c.t.Logf("processor time of all servers: %s, %s for each document", used.Round(time.Millisecond), (used / time.Duration(max(len(c.docs), 1))).Round(10*time.Microsecond))
	for _, text := range slices.Sorted(maps.Keys(c.heard)) {
		c.t.Logf("%6d times: %s", c.heard[text], text)
	}
}

// buried returns the processor time of all processes that this one has started and
// that have ended.
func buried(t *testing.T) time.Duration {
	t.Helper()
	var dead syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &dead); err != nil {
		t.Fatal(err)
	}
	return time.Duration(dead.Utime.Nano() + dead.Stime.Nano())
}

// used is the processor time of all servers, dead and alive.
func (c *crowd) used() time.Duration {
	sum := buried(c.t) - c.buried
	for _, m := range c.members {
		l := m.live
		if l == nil || l.self().dead() {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.self().cmd.Process.Pid))
		if err != nil {
			c.t.Error(err)
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, ticks := range fields[11:13] { // of 10 ms
			n, err := strconv.Atoi(ticks)
			if err != nil {
				c.t.Error(err)
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// all runs f for every member at once, and returns how long each of them took.
func (c *crowd) all(f func(m *member) error) []time.Duration {
	c.t.Helper()
	took := make([]time.Duration, len(c.members))
	var wait sync.WaitGroup
	for _, m := range c.members {
		wait.Go(func() {
			began := time.Now()
			if err := f(m); err != nil {
				c.t.Errorf("member %d: %v", m.n, err)
			}
			took[m.n] = time.Since(began)
		})
	}
	wait.Wait()
	return took
}

// check looks for everything that was acknowledged.
func (c *crowd) check() {
	c.t.Helper()
	lasts := map[int]doc{}
	for _, d := range c.docs {
		lasts[d.member] = d
	}
	var when []time.Duration // after the last acknowledgement
	var mu sync.Mutex
	c.all(func(m *member) error {
		for _, d := range lasts {
			if err := m.await(d.word(), []string{d.key()}); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		when = append(when, time.Since(c.last))
		return nil
	})
	slices.Sort(when)
	if n := len(when); n > 0 {
		c.t.Logf("every server finds the last documents of all %s after the last write, half of them after %s (goal 2s)",
			when[n-1].Round(time.Millisecond), when[n/2].Round(time.Millisecond))
	}
	began := time.Now()
	c.all(c.checkSearch)
	c.t.Logf("every server found all documents: %s for all searches", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	c.all(c.checkTexts)
	c.t.Logf("all texts and entities are there: %s", time.Since(began).Round(time.Millisecond))
	for _, m := range c.members {
		l, err := m.link()
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Logf("server %d was started %d times and has %d MB of memory", m.n, m.starts, l.self().rss(c.t)>>20)
	}
}

// checkSearch searches for every document, by a word that some share.
func (c *crowd) checkSearch(m *member) error {
	groups := map[string][]string{}
	for _, d := range c.docs {
		groups[d.group()] = append(groups[d.group()], d.key())
	}
	for word, keys := range groups {
		if err := m.await(word, keys); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts reads one member's share of the documents, and searches for each
// by the word that is its own.
func (c *crowd) checkTexts(m *member) error {
	for i, d := range c.docs {
		if i%len(c.members) != m.n {
			continue
		}
		if err := m.checkText(d); err != nil {
			return err
		}
	}
	return c.checkShared(m)
}

func (m *member) checkText(d doc) error {
	text, _, err := m.ask("memory_get", map[string]any{"path": d.key()})
	if err != nil {
		return fmt.Errorf("%s is lost: %w", d.key(), err)
	}
	if _, body, _ := strings.Cut(text, "\n"); strings.TrimSpace(body) != strings.TrimSpace(d.text()) {
		return fmt.Errorf("%s is torn or old: %q", d.key(), text)
	}
	if err := m.await(d.word(), []string{d.key()}); err != nil {
		return err
	}
	if d.version > 1 {
		first := doc{d.member, d.n, 1}
		if found, err := m.finds(first.word()); err != nil || slices.Contains(found, d.key()) {
			return fmt.Errorf("%s is found by what it said before, %v", d.key(), err)
		}
	}
	if d.n%linked == 0 {
		text, _, err := m.ask("knowledge_graph_search", map[string]any{"query": d.word()})
		if err != nil || !strings.HasPrefix(text, d.word()+" [thing]") {
			return fmt.Errorf("entity %s is lost: %q, %v", d.word(), text, err)
		}
	}
	return nil
}

// checkShared reads what all members have written under the same keys: each has
// one of their texts, and a version for each of them.
func (c *crowd) checkShared(m *member) error {
	writers := map[string]map[string]bool{} // by key and text
	for _, d := range c.docs {
		if d = d.shared(); d.n%contended == 0 {
			if writers[d.key()] == nil {
				writers[d.key()] = map[string]bool{}
			}
			writers[d.key()][strings.TrimSpace(d.text())] = true
		}
	}
	for key, texts := range writers {
		text, _, err := m.ask("memory_get", map[string]any{"path": key})
		if err != nil {
			return fmt.Errorf("%s is lost: %w", key, err)
		}
		head, body, _ := strings.Cut(text, "\n")
		if !texts[strings.TrimSpace(body)] {
			return fmt.Errorf("%s is torn: %q", key, text)
		}
		version := 0
		if found := regexp.MustCompile(`, version (\d+),`).FindStringSubmatch(head); found != nil {
			_, _ = fmt.Sscan(found[1], &version)
		}
		if version < len(texts) {
			return fmt.Errorf("%s has version %d after %d writes", key, version, len(texts))
		}
	}
	return nil
}

// checkStatus holds what store status prints against what was stored.
func (c *crowd) checkStatus(engine, text string) {
	c.t.Helper()
	var s store.Status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		c.t.Fatal(err)
	}
	want := map[string]int64{"memory": int64(len(c.docs))}
	shared := map[string]bool{}
	for _, d := range c.docs {
		if key := d.shared().key(); d.n%contended == 0 && !shared[key] {
			shared[key] = true
			want["memory"]++
		}
		if d.n%linked == 0 {
			want["entity"]++
		}
	}
	got := map[string]int64{}
	for _, table := range s.Tables {
		if _, asked := want[table.Name]; asked {
			got[table.Name] = table.Rows
		}
	}
	if s.Engine != engine || s.Feed.Oldest == 0 || !maps.Equal(got, want) {
		c.t.Errorf("the store's status is %s, with %v and not %v", text, got, want)
	}
	c.t.Logf("the store has %d MB", s.Bytes>>20)
}

// logSizes logs what the largest things in a data directory have on the disk.
func logSizes(t *testing.T, data string) {
	t.Helper()
	sizes := map[string]int64{}
	err := fs.WalkDir(os.DirFS(data), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			first, _, _ := strings.Cut(path, "/")
			sizes[first] += info.Size()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if sizes[name] > 100_000 {
			t.Logf("on the disk: %s %.1f MB", name, float64(sizes[name])/1e6)
		}
	}
}
