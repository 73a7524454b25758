//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A crowd is servers that work on one store at once.
type crowd struct {
	t       *testing.T
	each    int // documents that every member stores, at least
	members []*member
	buried  time.Duration  // processor time of earlier processes of the members
	calm    chan struct{}  // closed when no more faults are injected
	acks    chan struct{}  // one for each acknowledgement, dropped when full
	writing sync.WaitGroup // the members that store

	mu    sync.Mutex
	docs  []doc           // that were acknowledged
	took  []time.Duration // from a call to its acknowledgement, without those that were tried again
	heard map[string]int  // how often each trouble was met
	last  time.Time       // when the last acknowledgement came
}

// A doc is the latest version of what a member has stored under a key of its
// own, or version 0 of what it has stored under a key that others write too.
type doc struct{ member, n, version int }

const (
	lanes     = 3  // calls at once of each member
	amended   = 10 // each so manieth document is written twice,
	contended = 16 // is written by all members under one key,
	linked    = 20 // is in the knowledge graph,
	sought    = 25 // is searched for at once
	together  = 25 // documents share a word
	patience  = 5 * time.Minute
)

// spell makes a word of numbers that no stemmer and no splitter changes.
func spell(kind string, numbers ...int) string {
	const letters = "bcdfghjkmnpqrtvz"
	word := kind
	for _, n := range numbers {
		for ; n >= 16; n /= 16 {
			word += letters[n%16 : n%16+1]
		}
		word += letters[n:n+1] + "w"
	}
	return word
}

func (d doc) key() string {
	if d.version == 0 {
		return fmt.Sprintf("shared-%d", d.n)
	}
	return fmt.Sprintf("m%d-%d", d.member, d.n)
}

func (d doc) word() string { return spell("x", d.member, d.n, d.version) }

// group is a word that documents of a key of their own share with some others.
func (d doc) group() string { return spell("y", d.member, d.n/together, min(d.version, 1)) }

// shared is a document that several members write.
func (d doc) shared() doc { return doc{d.member, d.n, 0} }

// text returns the text of a document, which differs from all others in each
// line.
func (d doc) text() string {
	random := rand.New(rand.NewPCG(uint64(d.member), uint64(d.n*4+d.version)))
	var b strings.Builder
	fmt.Fprintf(&b, "# Note %s\n\nOne of %s.\n", d.word(), d.group())
	for range 4 {
		for range 8 {
			b.WriteString(spell("k", random.IntN(2000)) + " ")
		}
		b.WriteString("ends.\n")
	}
	return b.String()
}

// A member is one place in the crowd: whenever its server has died, the next
// call starts another.
type member struct {
	crowd  *crowd
	n      int
	start  func() (link, error)
	mu     sync.Mutex
	live   link
	starts int
}

func (m *member) link() (link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live != nil && !m.live.self().dead() {
		return m.live, nil
	}
	l, err := m.start()
	if err != nil {
		return nil, err
	}
	m.live = l
	m.starts++
	return l, nil
}

// die kills the server, if there is one.
func (m *member) die() bool {
	m.mu.Lock()
	l := m.live
	m.mu.Unlock()
	if l == nil || l.self().dead() {
		return false
	}
	l.self().kill()
	return true
}

// ask calls until there is an answer that counts. Whether it was the first try
// is said as well.
func (m *member) ask(tool string, args map[string]any) (text string, first bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for tries := 0; ; tries++ {
		failed := false
		l, err := m.link()
		if err == nil {
			text, failed, err = l.call(ctx, tool, args)
		}
		switch {
		case err == nil && !failed:
			return text, tries == 0, nil
		case err == nil && !passing(text):
			return "", false, errors.New(text)
		case err != nil && !errors.Is(err, errGone) && !errors.Is(err, errNotNow):
			return "", false, err
		case ctx.Err() != nil:
			return "", false, fmt.Errorf("no answer in %s: %s %w", patience, text, err)
		case err != nil:
			text = err.Error()
		}
		m.crowd.meet(text)
		rest(ctx, tries)
	}
}

// rest waits before something is tried again.
func rest(ctx context.Context, tries int) {
	again := time.NewTimer(time.Duration(min(tries+1, 10)) * 10 * time.Millisecond)
	defer again.Stop()
	select {
	case <-again.C:
	case <-ctx.Done():
	}
}

// passing reports whether a failure says that it may pass, and what to do.
func passing(text string) bool {
	return regexp.MustCompile(`^(unavailable|busy): .+; .+`).MatchString(text)
}

// meet counts a trouble.
func (c *crowd) meet(text string) {
	if what, _, ok := strings.Cut(text, ": Post"); ok {
		text = what // the rest has an address
	}
	first, _, _ := strings.Cut(text, "\n")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard[first]++
}

// write begins to store documents in all members, until each has its number and
// all is calm.
func (c *crowd) write() {
	for _, m := range c.members {
		for lane := range lanes {
			c.writing.Go(func() {
				for n := lane; n < c.each || !c.isCalm(); n += lanes {
					if err := m.work(n); err != nil {
						c.t.Errorf("member %d, document %d: %v", m.n, n, err)
						return
					}
				}
			})
		}
	}
}

func (c *crowd) isCalm() bool {
	select {
	case <-c.calm:
		return true
	default:
		return false
	}
}

// work stores a document, and does what goes with it.
func (m *member) work(n int) error {
	d := doc{m.n, n, 1}
	if err := m.store(d); err != nil {
		return err
	}
	if n%amended == 0 {
		d.version++
		if err := m.store(d); err != nil {
			return err
		}
	}
	m.crowd.acknowledged(d)
	if n%contended == 0 {
		if err := m.store(d.shared()); err != nil {
			return err
		}
	}
	if n%linked == 0 {
		e := map[string]any{"name": d.word(), "type": "thing", "description": "seen by member " + strconv.Itoa(m.n)}
		if _, _, err := m.ask("knowledge_graph_add", map[string]any{"entities": []any{e}}); err != nil {
			return err
		}
	}
	if n%sought == 0 {
		return m.findOwn(d)
	}
	return nil
}

func (m *member) store(d doc) error {
	began := time.Now()
	_, first, err := m.ask("memory_store", map[string]any{"key": d.key(), "content": d.text()})
	if err != nil {
		return err
	}
	c := m.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last = time.Now(); first {
		c.took = append(c.took, c.last.Sub(began))
	}
	return nil
}

func (c *crowd) acknowledged(d doc) {
	c.mu.Lock()
	c.docs = append(c.docs, d)
	c.mu.Unlock()
	select {
	case c.acks <- struct{}{}:
	default:
	}
}

// findOwn searches for what was just acknowledged. The answer has it, or says
// that it may be missing.
func (m *member) findOwn(d doc) error {
	text, _, err := m.ask("memory_search", map[string]any{"query": d.word()})
	if err == nil && !strings.Contains(text, "memory/"+d.key()+".md#") && !strings.Contains(text, "not indexed yet") {
		err = fmt.Errorf("a search for %s after it was stored says %q", d.word(), text)
	}
	return err
}

// finds reports which documents a search lists.
func (m *member) finds(word string) (keys []string, err error) {
	text, _, err := m.ask("memory_search", map[string]any{"query": word, "limit": 2 * together})
	for _, found := range regexp.MustCompile(`(?m)^memory/(\S+)\.md#`).FindAllStringSubmatch(text, -1) {
		keys = append(keys, found[1])
	}
	return keys, err
}

// await searches until all keys are found.
func (m *member) await(word string, keys []string) error {
	late := time.Now().Add(patience)
	for tries := 0; ; tries++ {
		found, err := m.finds(word)
		missing := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(found, key) })
		switch {
		case err != nil:
			return err
		case len(missing) == 0:
			return nil
		case time.Now().After(late):
			return fmt.Errorf("a search for %s does not find %q", word, missing)
		}
		rest(m.crowd.t.Context(), tries)
	}
}
