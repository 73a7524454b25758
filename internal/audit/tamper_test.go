package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample has two chains of eight records, and the heads that belong to them.
func (w *world) sample(t testing.TB) []chainRow {
	t.Helper()
	w.clear(t)
	for range 2 {
		w.chain(t, "a", "b", "c", "d", "e", "f", "g", "h")
	}
	w.green(t, 16)
	return w.chains(t)
}

// put replaces the records of a chain by others.
func (w *world) put(t testing.TB, chain int64, list []recordRow) {
	t.Helper()
	w.exec(t, "DELETE FROM audit_record WHERE chain = $1", chain)
	for _, r := range list {
		w.exec(t, "INSERT INTO audit_record (chain, seq, at, who, what, line) VALUES ($1, $2, $3, $4, $5, $6)", chain,
			r.Seq, r.At, r.Who, r.What, r.Line)
	}
}

// spread gives records numbers by their order.
func spread(list []recordRow) []recordRow {
	for i := range list {
		list[i].Seq = int64(i) + 1
	}
	return list
}

func TestVerifyFindsDamagedRecords(t *testing.T) {
	foreign, _ := newSealer(key{9}).seal(appendRow(nil, 3, fixedTime(), nil), origin())
	harms := map[string]func(l []recordRow, i int) []recordRow{
		"drop":      func(l []recordRow, i int) []recordRow { return slices.Delete(l, i, i+1) },
		"close up":  func(l []recordRow, i int) []recordRow { return spread(slices.Delete(l, i, i+1)) },
		"duplicate": func(l []recordRow, i int) []recordRow { return spread(slices.Insert(l, i, l[i])) },
		"insert": func(l []recordRow, i int) []recordRow {
			return spread(slices.Insert(l, i, recordRow{Line: string(foreign)}))
		},
		"garbage": func(l []recordRow, i int) []recordRow { l[i].Line = "hello"; return l },
		"empty":   func(l []recordRow, i int) []recordRow { l[i].Line = ""; return l },
		"swap": func(l []recordRow, i int) []recordRow {
			j := (i + 1) % len(l)
			l[i].Line, l[j].Line = l[j].Line, l[i].Line
			return l
		},
		"at the end":  func(l []recordRow, i int) []recordRow { l = append(l, l[i]); l[len(l)-1].Seq = 9; return l },
		"before all":  func(l []recordRow, i int) []recordRow { l = append(l, l[i]); l[len(l)-1].Seq = -5; return l },
		"far away":    func(l []recordRow, i int) []recordRow { l[i].Seq += 1000; return l },
		"another day": func(l []recordRow, i int) []recordRow { l[i].At -= 86_400_000_000; return l },
		"another one": func(l []recordRow, i int) []recordRow { l[i].Who++; return l },
		"other words": func(l []recordRow, i int) []recordRow { l[i].What += "x"; return l },
		"rewritten": func(l []recordRow, i int) []recordRow {
			l[i].Line = strings.Replace(l[i].Line, "ok", "no", 1)
			return l
		},
		"cut off": func(l []recordRow, i int) []recordRow { return l[:i] },
	}
	each(t, func(t *testing.T, w *world) {
		chain := w.sample(t)[0]
		whole := w.records(t, chain.ID)
		for harm, apply := range harms {
			for i := range whole {
				w.put(t, chain.ID, apply(slices.Clone(whole), i))
				r := w.verify(t)
				if r.OK() || r.Problems[0].Chain != chainName(chain.ID) {
					t.Errorf("%s record %d: problems %v", harm, i+1, r.Problems)
				}
				if kinds := []Kind{Foreign, Changed, Missing, Misplaced}; !r.OK() &&
					!slices.Contains(kinds, r.Problems[0].Kind) {
					t.Errorf("%s record %d: %v", harm, i+1, r.Problems)
				}
			}
		}
		w.put(t, chain.ID, whole)
		w.green(t, 16)
	})
}

func TestVerifyFindsFlippedBytes(t *testing.T) {
	w := newWorld(t, "")
	chain := w.sample(t)[1]
	change := func(text, table, column, where string, args ...any) {
		for i := range text {
			other := []byte(text)
			other[i] ^= 1
			set := fmt.Sprintf("UPDATE %s SET %s = $1 WHERE %s", table, column, where)
			w.exec(t, set, append([]any{string(other)}, args...)...)
			if r := w.verify(t); r.OK() {
				t.Fatalf("byte %d of %s", i, text)
			}
			w.exec(t, set, append([]any{text}, args...)...)
		}
	}
	change(chain.Line, "audit_chain", "line", "id = $2", chain.ID)
	change(chain.Hash, "audit_chain", "hash", "id = $2", chain.ID)
	change(w.records(t, chain.ID)[3].Line, "audit_record", "line", "chain = $2 AND seq = 4", chain.ID)
	change(w.heads(t)[1].Line, "audit_head", "line", "number = 2")
	w.green(t, 16)
}

func TestKindsOfDamage(t *testing.T) {
	w := newWorld(t, "")
	list := w.sample(t)
	chain := list[1]
	whole, other := w.records(t, chain.ID), w.records(t, list[0].ID)
	tests := []struct {
		name string
		edit func(l []recordRow) []recordRow
		want []Kind
		at   uint64
	}{
		{"changed", func(l []recordRow) []recordRow {
			l[4].Line = strings.Replace(l[4].Line, "datetime", "evil_one", 1)
			return l
		}, []Kind{Changed}, 5},
		{"dropped", func(l []recordRow) []recordRow { return slices.Delete(l, 4, 6) }, []Kind{Missing}, 7},
		{"swapped", func(l []recordRow) []recordRow { l[4].Line, l[5].Line = l[5].Line, l[4].Line; return l },
			[]Kind{Missing, Misplaced}, 5},
		{"duplicated", func(l []recordRow) []recordRow { return spread(slices.Insert(l, 5, l[4])) },
			[]Kind{Misplaced}, 6},
		{"foreign", func(l []recordRow) []recordRow { l[4].Line = "{}"; return l }, []Kind{Foreign}, 5},
		{"of another chain", func(l []recordRow) []recordRow { l[0].Line = other[0].Line; return l }, []Kind{Foreign},
			1},
		{"cut off", func(l []recordRow) []recordRow { return l[:6] }, []Kind{Missing}, 0},
		{"emptied", func([]recordRow) []recordRow { return nil }, []Kind{Missing}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.put(t, chain.ID, tt.edit(slices.Clone(whole)))
			var got []Kind
			r := w.verify(t)
			for _, p := range r.Problems {
				got = append(got, p.Kind)
			}
			if len(got) == 0 || !slices.Equal(got[:min(len(got), len(tt.want))], tt.want) ||
				r.Problems[0].Record != tt.at {
				t.Errorf("problems %v, want %v at record %d", r.Problems, tt.want, tt.at)
			}
		})
	}
}

func TestVerifyFindsRemovedAndMovedRows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			name, text string
			want       Kind
		}{
			{"a whole chain", "DELETE FROM audit_chain WHERE id = $1; DELETE FROM audit_record WHERE chain = $1",
				Missing},
			{"a chain without its records", "DELETE FROM audit_chain WHERE id = $1", Foreign},
			{"the end of a chain", "DELETE FROM audit_record WHERE chain = $1 AND seq > 5", Missing},
			{"the end of a chain, with its number",
				"DELETE FROM audit_record WHERE chain = $1 AND seq > 5; UPDATE audit_chain SET seq = 5 WHERE id = $1",
				Changed},
			{"the beginning of a chain", "DELETE FROM audit_record WHERE chain = $1 AND seq < 5", Missing},
			{"a chain under another key", "UPDATE audit_chain SET key = 'other' WHERE id = $1", Changed},
			{"heads, all", "DELETE FROM audit_head WHERE CAST($1 AS BIGINT) <> 0", Missing},
			{"heads, the first", "DELETE FROM audit_head WHERE number = 1 AND CAST($1 AS BIGINT) <> 0", Missing},
			{"heads, one between", "DELETE FROM audit_head WHERE number = 3 AND CAST($1 AS BIGINT) <> 0", Missing},
			{"heads under another key", "UPDATE audit_head SET key = 'other' WHERE CAST($1 AS BIGINT) <> 0", Missing},
			{"heads under another number",
				"UPDATE audit_head SET number = 9 WHERE number = 5 AND CAST($1 AS BIGINT) <> 0", Changed},
		} {
			t.Run(tt.name, func(t *testing.T) {
				id := w.sample(t)[0].ID
				for text := range strings.SplitSeq(tt.text, "; ") {
					w.exec(t, text, id)
				}
				w.red(t, tt.want)
			})
		}
		t.Run("heads that are begun anew", func(t *testing.T) {
			list := w.sample(t)
			w.exec(t, "DELETE FROM audit_head")
			w.exec(t, "DELETE FROM audit_record WHERE chain = $1", list[0].ID)
			w.chain(t, "a later process")
			w.red(t, Missing)
		})
		t.Run("records of two chains", func(t *testing.T) {
			list := w.sample(t)
			w.exec(t, "UPDATE audit_record SET chain = 1 WHERE chain = $1", list[0].ID)
			w.exec(t, "UPDATE audit_record SET chain = $1 WHERE chain = $2", list[0].ID, list[1].ID)
			w.exec(t, "UPDATE audit_record SET chain = $1 WHERE chain = 1", list[1].ID)
			w.red(t, Foreign)
		})
		t.Run("a chain that was never begun", func(t *testing.T) {
			id := w.sample(t)[0].ID
			w.exec(t, "UPDATE audit_record SET chain = -7 WHERE chain = $1", id)
			w.red(t, Foreign)
		})
		t.Run("more than are shown", func(t *testing.T) {
			w.clear(t)
			l := w.open(t, Options{})
			for range 10 {
				add(t, l, slices.Repeat([]string{"x"}, 150)...)
			}
			end(t, l)
			w.exec(t, "UPDATE audit_record SET at = at + 1")
			if r := w.verify(t); len(r.Problems) != maxProblems || r.More != 500 {
				t.Errorf("%d problems and %d more", len(r.Problems), r.More)
			}
		})
	})
}

// TestVerifyLatest: it reads the latest records, and the last one of each chain.
func TestVerifyLatest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			name, text string // $1 is the older chain
			most       int
			want       Kind
		}{
			{"unchanged", "", 11, ""},
			{"all are read", "UPDATE audit_record SET at = at + 1 WHERE chain = $1 AND seq = 1", 16, Changed},
			{"an old record", "UPDATE audit_record SET at = at + 1 WHERE chain = $1 AND seq = 5", 11, ""},
			{"a late record of the older chain", "UPDATE audit_record SET at = at + 1 WHERE chain = $1 AND seq = 6", 11,
				Changed},
			{"a record of the latest chain", "UPDATE audit_record SET at = at + 1 WHERE chain <> $1 AND seq = 1", 11,
				Changed},
			{"the end of the older chain", "DELETE FROM audit_record WHERE chain = $1 AND seq > 7", 8, Missing},
			{"the number of a chain that is not read", "UPDATE audit_chain SET seq = 7 WHERE id = $1", 8, Changed},
			{"a whole chain", "DELETE FROM audit_chain WHERE id = $1", 4, Missing},
		} {
			t.Run(tt.name, func(t *testing.T) {
				id := w.sample(t)[0].ID
				if tt.text != "" {
					w.exec(t, tt.text, id)
				}
				r, err := w.db().VerifyLatest(t.Context(), w.dir, nil, tt.most)
				if err != nil {
					t.Fatal(err)
				}
				if tt.want == "" && (!r.OK() || r.Records != tt.most || r.Unread != 16-tt.most) {
					t.Errorf("%+v", r)
				}
				if tt.want != "" && !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == tt.want }) {
					t.Errorf("no problem is %q: %+v", tt.want, r)
				}
			})
		}
	})
}

// TestVerifyFindsRenamedChain gives a log the name of another machine whose key is missing, which would skip
// checks.
func TestVerifyFindsRenamedChain(t *testing.T) {
	w := newWorld(t, "")
	list := w.sample(t)
	other, s := key{7}, newSealer(key{7})
	line, link, err := s.sealJSON(beginning{Format: format, Time: fixedTime(), Chain: chainName(list[0].ID),
		Key: other.id()}, origin())
	if err != nil {
		t.Fatal(err)
	}
	rows := w.records(t, list[0].ID)
	for i := range rows {
		fields, _, _ := strings.Cut(strings.Replace(rows[i].Line, "ok", "no", 1), prevName)
		text, next := s.seal([]byte(fields), link)
		rows[i].Line, link = string(text), next
	}
	w.put(t, list[0].ID, rows)
	w.exec(t, "UPDATE audit_chain SET key = $1, line = $2, hash = $3 WHERE id = $4", other.id(), line, link.String(),
		list[0].ID)
	r := w.red(t, Changed)
	if !strings.Contains(r.Problems[0].Detail, "in heads") {
		t.Errorf("problems %v", r.Problems)
	}
}

// TestVerifyWithOtherKey checks how far a machine can verify the chains of
// another machine without the key of that machine.
func TestVerifyWithOtherKey(t *testing.T) {
	each(t, func(t *testing.T, here *world) {
		there := here.elsewhere(t)
		for _, tt := range []struct {
			name, text string
			want       Kind // "" for none
		}{
			{"nothing", "", ""},
			{"a record that was changed",
				"UPDATE audit_record SET line = replace(line, 'ok', 'no') WHERE chain = $1 AND seq = 3", Changed},
			{"a record that was removed", "DELETE FROM audit_record WHERE chain = $1 AND seq = 3", Missing},
			{"the end", "DELETE FROM audit_record WHERE chain = $1 AND seq > 3; UPDATE audit_chain SET seq = 3 " +
				"WHERE id = $1", Changed},
			{"the last that we know of",
				"UPDATE audit_record SET line = replace(line, 'ok', 'no') WHERE chain = $1 AND seq = 8", Changed},
		} {
			t.Run(tt.name, func(t *testing.T) {
				here.clear(t)
				mine := here.open(t, Options{})
				add(t, mine, "mine")
				there.chain(t, "a", "b", "c", "d", "e", "f", "g", "h")
				id := here.chains(t)[1].ID
				end(t, mine)
				for text := range strings.SplitSeq(tt.text, "; ") {
					if text != "" {
						here.exec(t, text, id)
					}
				}
				if tt.want != "" {
					here.red(t, tt.want)
					return
				}
				for _, w := range []*world{here, there} {
					if r := w.green(t, 9); len(r.Notes) != 1 || r.Notes[0].Kind != OtherKey {
						t.Errorf("notes %v", r.Notes)
					}
				}
			})
		}
	})
}

// TestVerifyFindsEmptiedStore expects that a store that was emptied, or set back to
// an earlier head together with its records, does not verify, also after it was used
// again.
func TestVerifyFindsEmptiedStore(t *testing.T) {
	back := []string{
		"DELETE FROM audit_head WHERE number > 3", "DELETE FROM audit_record WHERE seq > 0",
		"DELETE FROM audit_chain WHERE id > (SELECT min(id) FROM audit_chain)",
	}
	each(t, func(t *testing.T, w *world) {
		for name, change := range map[string][]string{
			"emptied":  {"DELETE FROM audit_record", "DELETE FROM audit_chain", "DELETE FROM audit_head"},
			"set back": back,
		} {
			t.Run(name, func(t *testing.T) {
				w.clear(t)
				w.chain(t)
				for range 3 {
					w.chain(t, "a", "b")
				}
				w.green(t, 6)
				for _, text := range change {
					w.exec(t, text)
				}
				w.red(t, Missing)
				w.chain(t, "c")
				w.red(t, Missing)
				for range 4 { // until the number is reached again
					w.chain(t, "d")
				}
				if r := w.verify(t); r.OK() {
					t.Error("the store was set back, used, and verifies")
				}
				if err := ForgetLastHead(w.dir); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
	w := newWorld(t, "")
	w.chain(t, "a")
	if r, err := (*DB)(nil).Verify(t.Context(), w.dir, nil); err != nil || r.OK() {
		t.Errorf("without a store: %+v, %v", r, err)
	}
}

func TestVerifyWithSharedKey(t *testing.T) {
	here := newWorld(t, "")
	here.chain(t, "a")
	there := here.elsewhere(t)
	text := mustRead(t, filepath.Join(here.dir, keyName))
	if err := os.WriteFile(filepath.Join(there.dir, keyName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	there.chain(t, "b")
	for _, w := range []*world{here, there} {
		if r := w.green(t, 2); len(r.Notes) > 0 {
			t.Errorf("notes %v", r.Notes)
		}
	}
}

func TestProblemString(t *testing.T) {
	p := Problem{Chain: "c", Record: 3, Kind: Changed, Detail: "d"}
	if got := p.String(); got != "c:3: changed: d" {
		t.Error(got)
	}
	p.Record = 0
	if got := p.String(); !strings.HasPrefix(got, "c: changed") {
		t.Error(got)
	}
}
