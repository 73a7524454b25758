package history

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func ids(all []LoggedChange) (out []string) {
	for _, p := range all {
		out = append(out, p.ID)
	}
	return out
}

// fill writes a catalogue like that of many changes.
func (b *bench) fill(recs ...Record) {
	b.t.Helper()
	if err := b.s.prepare(); err != nil {
		b.t.Fatal(err)
	}
	for _, r := range recs {
		book, err := b.s.appendRecord(r)
		if err != nil {
			b.t.Fatal(err)
		}
		_ = book.Close()
	}
}

func TestEachReadsBackwards(t *testing.T) {
	b := newBench(t, Limits{})
	var recs []Record
	var want []string
	for i := range 2000 {
		name := fmt.Sprintf("dir/file%d", i%7)
		if i == 1000 {
			name = strings.Repeat("long/", 100_000) + "file3"
		}
		r := Record{ID: fmt.Sprint(i), Files: []FileRecord{{Name: Text(name)}}}
		recs = append(recs, r)
		if strings.HasSuffix(name, "file3") {
			want = append(want, r.ID)
		}
	}
	b.fill(recs...)
	slices.Reverse(want)
	if got := ids(b.past("file3")); !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", len(got), len(want))
	}
	if got := ids(b.past("")); len(got) != 2000 || got[0] != "1999" || got[1999] != "0" {
		t.Errorf("%d records", len(got))
	}
}

func TestUndoneChangesAreMarked(t *testing.T) {
	b := newBench(t, Limits{})
	file := []FileRecord{{Name: "a"}}
	b.fill(Record{ID: "one", Files: file}, Record{ID: "two", Files: file}, Record{ID: "u2", Undoes: "two", Files: file},
		Record{ID: "u1", Undoes: "one", Files: file}, Record{ID: "uu1", Undoes: "u1", Files: file})
	want := map[string]string{"one": "", "two": "u2", "u1": "uu1", "u2": "", "uu1": ""}
	for _, p := range b.past("a") {
		if p.Undone != want[p.ID] {
			t.Errorf("%s is undone by %q, want %q", p.ID, p.Undone, want[p.ID])
		}
	}
}

// TestIncompleteLineIsSkipped has a line that was not written completely, because the
// process was killed or the disk was full.
func TestIncompleteLineIsSkipped(t *testing.T) {
	b := newBench(t, Limits{})
	b.fill(Record{ID: "one"})
	book, err := os.OpenFile(b.s.path(catalogueName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.WriteString(`{"id":"torn","files":[{"na`); err != nil {
		t.Fatal(err)
	}
	_ = book.Close()
	b.fill(Record{ID: "two"})
	if got := ids(b.past("")); !slices.Equal(got, []string{"two", "one"}) {
		t.Errorf("got %v", got)
	}
	if err := b.s.prune(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
}

// FuzzCatalogue reads an arbitrary catalogue.
func FuzzCatalogue(f *testing.F) {
	f.Add([]byte("{\"id\":\"a\",\"files\":[{\"name\":\"x\",\"before\":{\"sha256\":\"..\",\"kept\":true}}]}\n{\"id\":\"b\",\"undoes\":\"a\"}\n"))
	f.Add([]byte("\n\n{}\n[]\nnull\n{\"id\":1}"))
	f.Add([]byte("{\"id\":\"a\",\"files\":[{\"name\":{\"base64\":\"/w==\"}}]}"))
	b := newBench(f, Limits{Bytes: 10, Records: 3})
	if err := b.s.prepare(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(b.s.path(catalogueName), content, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := b.s.Each(t.Context(), "", func(p LoggedChange) bool {
			n++
			for _, f := range p.Files {
				if b.s.Kept(f.Before) {
					t.Errorf("%+v is kept", f.Before)
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if most := bytes.Count(content, []byte{'\n'}) + 1; n > most {
			t.Errorf("%d records in %d lines", n, most)
		}
		if err := b.s.prune(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPlan reads an arbitrary journal.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"shards":[1]}` + "\n" + `{"step":{"root":"/","dir":"..","base":"a/b","temp":"../x"}}` + "\n"))
	f.Add([]byte(`{"mark":{"steps":[{"root":"/","temp":".mcp-tools-aaaaaaaaaa.tmp","dir":".","base":"x","old":null,"new":0}],"record":{"id":"x"}}}` + "\n"))
	f.Add([]byte(`{"mark":{"steps":[null]}}` + "\n" + `{"back":true}`))
	b := newBench(f, Limits{})
	if err := b.s.prepare(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.Contains(content, []byte(`root`)) && !bytes.Contains(content, []byte(b.dir)) {
			content = bytes.ReplaceAll(content, []byte(`"/"`), []byte(`"`+b.dir+`"`))
		}
		if err := os.WriteFile(b.s.path(pendingDir, "fuzzed"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = b.s.Recover(t.Context()) // it may fail, and must not panic
		_ = os.Remove(b.s.path(pendingDir, "fuzzed"))
	})
}
