package skills

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

func draft(t *testing.T, o tool.Owner, name, body string) skill.Draft {
	t.Helper()
	files := []skill.Content{
		{File: skill.File{Path: skill.Main}, Data: fmt.Appendf(nil, "---\nname: %s\ndescription: about %s\ntags: [x]\n---\n# H\n%s\nsudo x\n", name, name, body)},
		{File: skill.File{Path: "assets/empty"}},
		{File: skill.File{Path: "assets/a.png"}, Data: []byte("\x89PNG\r\n\x1a\n\x00\xff")},
	}
	d, err := skill.Pack(t.Context(), files, skill.NewGuard())
	if err != nil {
		t.Fatal(err)
	}
	d.Owner, d.Author, d.Session = o, o.Agent+"/"+o.User, "s"
	return d
}

func publish(t *testing.T, r rows, d skill.Draft) Version {
	t.Helper()
	row, isNew, err := r.publish(t.Context(), d)
	if err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	return row
}

func TestVersionsRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := New(Options{Store: s}).rows
		own := tool.Owner{Agent: "a", User: "u"}
		d := draft(t, own, "forms", "one")
		row := publish(t, r, d)
		want := Version{
			ID: row.ID, Owner: own, Slug: "forms", Number: 1, Latest: true, Digest: d.Digest(), Meta: d.Meta,
			Files:    []skill.File{d.Files[0].File, d.Files[1].File, d.Files[2].File},
			Findings: d.Findings, Size: d.Size(), Author: "a/u", Session: "s", Created: row.Created,
		}
		if diff := cmp.Diff(want, row); diff != "" || row.Created == 0 || len(row.Findings) != 1 {
			t.Errorf("-want +got:\n%s", diff)
		}
		for _, f := range d.Files {
			if data, err := r.blob(t.Context(), own, f.Digest); string(data) != string(f.Data) || err != nil {
				t.Errorf("%s: %q, %v", f.Path, data, err)
			}
		}
		same, isNew, err := r.publish(t.Context(), d)
		if same.Number != 1 || isNew || err != nil {
			t.Errorf("the same files again: %v, %v, %v", same.Number, isNew, err)
		}
		stamp, _ := r.stamp(t.Context(), own)
		second := publish(t, r, draft(t, own, "forms", "two"))
		if now, err := r.stamp(t.Context(), own); now == stamp || err != nil {
			t.Errorf("the stamp is still %q, %v", now, err)
		}
		for number, digest := range map[int64]string{0: second.Digest, 1: row.Digest, 2: second.Digest} {
			if got, err := r.find(t.Context(), own, "forms", number); got.Digest != digest || err != nil {
				t.Errorf("version %d: %v, %v", number, got.Number, err)
			}
		}
		if _, err := r.find(t.Context(), own, "forms", 3); !errors.Is(err, errNotFound) {
			t.Errorf("version 3: %v", err)
		}
		if err := r.remove(t.Context(), own, "forms"); err != nil {
			t.Error(err)
		}
		if _, err := r.find(t.Context(), own, "forms", 1); !errors.Is(err, errNotFound) {
			t.Errorf("after Remove: %v", err)
		}
		if third := publish(t, r, draft(t, own, "forms", "three")); third.Number != 3 {
			t.Errorf("the next version is %d", third.Number)
		}
		changes, err := s.Changes(t.Context(), store.Cursor{}, 10, Topic)
		if len(changes) != 4 || err != nil || changes[0].Key != row.ID {
			t.Errorf("the change feed has %v, %v", changes, err)
		}
	})
}

func TestVersionsOfOtherOwnersAreInvisible(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := New(Options{Store: s}).rows
		own, other := tool.Owner{Agent: "a", User: "u"}, tool.Owner{Agent: "a", User: "v"}
		foreign := tool.Owner{Agent: "b", User: "u"}
		shared := publish(t, r, draft(t, own.Shared(), "forms", "shared"))
		before, _ := r.stamp(t.Context(), own)
		theirs := publish(t, r, draft(t, other, "forms", "theirs"))
		publish(t, r, draft(t, other, "secret", "theirs"))
		publish(t, r, draft(t, foreign, "secret", "theirs"))
		publish(t, r, draft(t, foreign.Shared(), "secret", "theirs"))
		if now, err := r.stamp(t.Context(), own); now != before || err != nil {
			t.Errorf("other owners changed the stamp: %q, %q, %v", before, now, err)
		}
		list, _, err := r.list(t.Context(), own)
		if len(list) != 1 || list[0].ID != shared.ID || err != nil {
			t.Errorf("%v, %v", list, err)
		}
		if _, err := r.find(t.Context(), own, "secret", 0); !errors.Is(err, errNotFound) {
			t.Error(err)
		}
		if _, err := r.blob(t.Context(), own, theirs.Files[0].Digest); !errors.Is(err, errNotFound) {
			t.Errorf("a file of another owner: %v", err)
		}
		mine := publish(t, r, draft(t, own, "forms", "mine"))
		for number, want := range map[int64]string{0: mine.ID, 1: mine.ID} {
			if got, err := r.find(t.Context(), own, "forms", number); got.ID != want || err != nil {
				t.Errorf("version %d: %v, %v", number, got.Owner, err)
			}
		}
		if got, err := r.find(t.Context(), own.Shared(), "forms", 0); got.ID != shared.ID || err != nil {
			t.Errorf("%v, %v", got.Owner, err)
		}
	})
}

// TestConcurrentVersions publishes versions of one skill concurrently: each must get its own number.
func TestConcurrentVersions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := New(Options{Store: s}).rows
		const writers, each = 6, 5
		own := tool.Owner{Agent: "a", User: "u"}
		var all sync.WaitGroup
		var mu sync.Mutex
		numbers := map[int64]bool{}
		for w := range writers {
			all.Go(func() {
				for i := range each {
					row, isNew, err := r.publish(t.Context(), draft(t, own, "forms", fmt.Sprint(w, " ", i)))
					if err != nil || !isNew {
						t.Error(isNew, err)
						return
					}
					mu.Lock()
					numbers[row.Number] = true
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(numbers) != writers*each || !numbers[writers*each] {
			t.Errorf("the versions are %v", numbers)
		}
	})
}

func TestMaximumSizeOfSkills(t *testing.T) {
	r := New(Options{Store: storetest.Open(t, t.TempDir())}).rows
	own := tool.Owner{Agent: "a", User: "u"}
	d := draft(t, own, "forms", "x")
	for i := range d.Files {
		d.Files[i].Size = 1 << 30
	}
	if _, _, err := r.publish(t.Context(), d); !errors.Is(err, errTooMany) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("%v", err)
	}
	if list, _, err := r.list(t.Context(), own); len(list) > 0 || err != nil {
		t.Errorf("stored %v, %v", list, err)
	}
}
