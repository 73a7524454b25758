package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// A corpus is a set of files for segments.
type corpus struct {
	files []File
	texts []string
}

func randomCorpus(r *rand.Rand, n int) corpus {
	words := []string{"alpha", "beta", "gamma", "delta", "Über", "世界", "rare"}
	names := map[string]bool{}
	for len(names) < n {
		name := fmt.Sprintf("f%d.txt", r.IntN(4*n))
		for range r.IntN(4) {
			name = []string{"a", "a.b", "a-b", "a0", "b", "\xff"}[r.IntN(6)] + "/" + name
		}
		names[name] = true
	}
	var c corpus
	for name := range names {
		c.files = append(c.files, File{Name: name})
	}
	slices.SortFunc(c.files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.files {
		c.files[i].Stamp = Stamp{Size: r.Int64(), Modified: r.Int64(), Changed: r.Int64(), Ino: r.Uint64()}
		c.files[i].Flags = Flags(r.IntN(16))
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(words[min(r.IntN(7), r.IntN(7))])
		}
		c.texts = append(c.texts, b.String())
	}
	return c
}

// write writes a segment. Files for which kept returns true come from the previous one.
func (c corpus) write(t testing.TB, path string, memory int, older *Previous, kept func(i int) bool) *Segment {
	t.Helper()
	b := NewBuilder(filepath.Dir(path), memory)
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	var bag trigram.Bag
	for i, text := range c.texts {
		if older != nil && kept(i) {
			continue
		}
		found, _ := bag.Add([]byte(text))
		if err := b.Add(uint32(i), found); err != nil {
			t.Fatal(err)
		}
	}
	if memory < 10000 && len(b.runs) == 0 {
		t.Error("nothing was spilled")
	}
	written, err := b.Write(t.Context(), path, Digest{1}, c.files, older)
	if err != nil {
		t.Fatal(err)
	}
	if err := written.Close(); err != nil {
		t.Error(err)
	}
	s, err := Open(path, Digest{1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (c corpus) check(t *testing.T, s *Segment) {
	t.Helper()
	if s.Len() != len(c.files) {
		t.Fatalf("%d files, want %d", s.Len(), len(c.files))
	}
	for i, f := range c.files {
		n := uint32(i)
		if got := (File{string(s.AppendName(nil, n)), s.Stamp(n), s.Flags(n)}); got != f {
			t.Fatalf("file %d: %+v, want %+v", i, got, f)
		}
		dir, base := splitName(f.Name)
		d, ok := s.Dir(dir)
		if !ok {
			t.Fatalf("no directory %q", dir)
		}
		if got, ok := s.Find(d, base); !ok || got != n {
			t.Fatalf("%q: %d %v, want %d", f.Name, got, ok, n)
		}
	}
	for _, dir := range []string{".", "a", "a.b", "a/a", "a/a.b", "b/a-b/b", "none", "\xff"} {
		lo, hi := s.Range(dir)
		for i, f := range c.files {
			if inside := dir == "." || strings.HasPrefix(f.Name, dir+"/"); inside != (uint32(i) >= lo && uint32(i) < hi) {
				t.Errorf("%q in %q: %v, and the range is %d-%d", f.Name, dir, inside, lo, hi)
			}
		}
	}
	var bag trigram.Bag
	has := make([]map[trigram.T]bool, len(c.texts))
	for i, text := range c.texts {
		has[i] = map[trigram.T]bool{}
		found, _ := bag.Add([]byte(text))
		for _, tri := range found {
			has[i][tri] = true
		}
	}
	for _, pattern := range []string{
		"alpha", "rare", "gammadelta", "alpha.*beta", "alpha|rare", "(alpha|beta)(gamma|delta)", "(?i)über", "世界",
		"nothing", "[^\\x00-\\x{10FFFF}]", "alpha.*(beta|gamma).*(delta|rare)", "(alpha.*beta|gamma.*delta)|rare",
	} {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		q := trigram.Of(re)
		for _, dir := range []string{".", "a", "none"} {
			lo, hi := s.Range(dir)
			var want []uint32
			for n := lo; n < hi; n++ {
				if satisfies(has[n], q) {
					want = append(want, n)
				}
			}
			if got, ok := s.Eval(q, lo, hi); !ok || !slices.Equal(got, want) {
				t.Errorf("%q in %q: %v %v, want %v", pattern, dir, got, ok, want)
			}
		}
	}
}

func TestSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 7, 60, 900} {
		dir := t.TempDir()
		c := randomCorpus(r, n)
		c.check(t, c.write(t, filepath.Join(dir, "one"), 1<<30, nil, nil))
		if n >= 60 {
			c.check(t, c.write(t, filepath.Join(dir, "spilled"), 300<<10, nil, nil))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 2 {
			t.Errorf("left over: %v %v", left, err)
		}
	}
}

// TestSpilling writes a temporary file after every file.
func TestSpilling(t *testing.T) {
	c := randomCorpus(rand.New(rand.NewPCG(2, 1)), 50)
	c.check(t, c.write(t, filepath.Join(t.TempDir(), "x"), 1, nil, nil))
}

func TestPrevious(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	dir := t.TempDir()
	c := randomCorpus(r, 500)
	for round := range 5 {
		old := c.write(t, filepath.Join(dir, "x"), 1<<30, nil, nil)
		next, now, from := randomCorpus(r, 30+r.IntN(200)), make([]uint32, old.Len()), map[string]int{}
		for i, f := range c.files { // some are kept, changed, removed or added
			if r.IntN(3) > 0 {
				next.files, next.texts = append(next.files, f), append(next.texts, c.texts[i])
				if r.IntN(4) > 0 {
					from[f.Name] = i
				}
			}
		}
		next = next.sorted()
		for i, f := range next.files {
			if n, ok := from[f.Name]; ok && f == c.files[n] {
				now[n] = uint32(i) + 1
			}
		}
		kept := func(i int) bool { return slices.Contains(now, uint32(i)+1) }
		s := next.write(t, filepath.Join(dir, "y"), 1<<30, &Previous{Segment: old, Renumber: now}, kept)
		next.check(t, s)
		if c = next; t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func (c corpus) sorted() corpus {
	order := make([]int, len(c.files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(c.files[a].Name, c.files[b].Name) })
	var out corpus
	for k, i := range order {
		if k > 0 && c.files[order[k-1]].Name == c.files[i].Name {
			continue
		}
		out.files, out.texts = append(out.files, c.files[i]), append(out.texts, c.texts[i])
	}
	return out
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	c := randomCorpus(rand.New(rand.NewPCG(4, 1)), 100)
	path := filepath.Join(dir, "x")
	c.write(t, path, 1<<30, nil, nil)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "bad"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(filepath.Join(dir, "bad"), Digest{1}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v %v", what, s, err)
		}
	}
	for i := 0; i < len(good); i += 1 + len(good)/300 {
		bad := slices.Clone(good)
		bad[i] ^= 4
		try(fmt.Sprint("a bit of byte ", i), bad)
		try(fmt.Sprint("cut at ", i), good[:i])
	}
	try("longer", append(slices.Clone(good), 0))
	if _, err := Open(path, Digest{2}); !errors.Is(err, ErrDamaged) {
		t.Errorf("other rules: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Digest{1}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestTruncated truncates a mapped segment.
func TestTruncated(t *testing.T) {
	c := randomCorpus(rand.New(rand.NewPCG(5, 1)), 2000)
	path := filepath.Join(t.TempDir(), "x")
	s := c.write(t, path, 1<<30, nil, nil)
	if err := os.Truncate(path, 0); err != nil {
		t.Skip(err)
	}
	err := Guard(func() {
		for n := range uint32(s.Len()) {
			_ = s.AppendName(nil, n)
		}
	})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("reading a segment that was cut short: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	b := NewBuilder(dir, 1<<20)
	if err := b.Add(0, []trigram.T{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Write(ctx, filepath.Join(dir, "x"), Digest{}, []File{{Name: "a"}}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// FuzzSegment damages a segment without changing its checksums: reading it within Guard
// must be safe.
func FuzzSegment(f *testing.F) {
	c := randomCorpus(rand.New(rand.NewPCG(6, 1)), 60)
	dir := f.TempDir()
	c.write(f, filepath.Join(dir, "good"), 1<<30, nil, nil)
	good, err := os.ReadFile(filepath.Join(dir, "good"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint64(1))
	for i := range 12 {
		f.Add(uint32(len(good)-trailerLen+40+8*(i%8)), uint64(1)<<(5*i))
	}
	re, err := syntax.Parse("alpha.*(beta|gamma)|rare", syntax.Perl)
	if err != nil {
		f.Fatal(err)
	}
	q := trigram.Of(re)
	f.Fuzz(func(t *testing.T, at uint32, change uint64) {
		data := slices.Clone(good)
		for i := range 8 {
			data[(int(at)+i)%len(data)] ^= byte(change >> (8 * i))
		}
		sums := data[len(data)-8:]
		binary.LittleEndian.PutUint32(sums, sum(data[:len(data)-trailerLen]))
		binary.LittleEndian.PutUint32(sums[4:], sum(data[len(data)-trailerLen:len(data)-4]))
		path := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Digest{1})
		if err != nil {
			return
		}
		defer s.Close()
		for _, use := range []func(){
			func() { s.Eval(q, 0, uint32(s.Len())) },
			func() { s.Eval(q, 5, 1<<31) },
			func() { s.Range("a/b") },
			func() {
				for n := range uint32(s.Len()) {
					_, _, _ = s.AppendName(nil, n), s.Stamp(n), s.Flags(n)
				}
			},
			func() {
				if d, ok := s.Dir("a"); ok {
					s.Find(d, "f1.txt")
				}
			},
			func() {
				older := &Previous{Segment: s, Renumber: make([]uint32, s.Len())}
				for {
					if _, err := older.next(); err != nil {
						return
					}
					older.numbers(nil)
				}
			},
		} {
			_ = Guard(use)
		}
	})
}

// satisfies evaluates a query for a text with these trigrams.
func satisfies(has map[trigram.T]bool, q trigram.Query) bool {
	for _, clause := range q {
		one := slices.ContainsFunc(clause, func(all []trigram.T) bool {
			return !slices.ContainsFunc(all, func(t trigram.T) bool { return !has[t] })
		})
		if !one {
			return false
		}
	}
	return true
}
