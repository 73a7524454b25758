package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

func draft(t *testing.T, o skill.Owner, name, body string) skill.Draft {
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

func publish(t *testing.T, s *store.Store, d skill.Draft) skill.Row {
	t.Helper()
	row, isNew, err := s.Skills().Publish(t.Context(), d)
	if err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	return row
}

func TestSkillsComeBackAsTheyWere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		own := skill.Owner{Agent: "a", User: "u"}
		d := draft(t, own, "forms", "one")
		row := publish(t, s, d)
		want := skill.Row{
			ID: row.ID, Owner: own, Slug: "forms", Number: 1, Latest: true, Digest: d.Digest(), Meta: d.Meta, Findings: d.Findings,
			Files: []skill.File{d.Files[0].File, d.Files[1].File, d.Files[2].File}, Size: d.Size(), Author: "a/u", Session: "s", Created: row.Created,
		}
		if diff := cmp.Diff(want, row); diff != "" || row.Created == 0 || len(row.Findings) != 1 {
			t.Errorf("-want +got:\n%s", diff)
		}
		for _, f := range d.Files {
			if data, err := s.Skills().Blob(t.Context(), own, f.Digest); string(data) != string(f.Data) || err != nil {
				t.Errorf("%s: %q, %v", f.Path, data, err)
			}
		}
		same, isNew, err := s.Skills().Publish(t.Context(), d)
		if same.Number != 1 || isNew || err != nil {
			t.Errorf("the same again: %v, %v, %v", same.Number, isNew, err)
		}
		stamp, _ := s.Skills().Stamp(t.Context(), own)
		second := publish(t, s, draft(t, own, "forms", "two"))
		if now, err := s.Skills().Stamp(t.Context(), own); now == stamp || err != nil {
			t.Errorf("the stamp stays %q, %v", now, err)
		}
		for number, digest := range map[int64]string{0: second.Digest, 1: row.Digest, 2: second.Digest} {
			if got, err := s.Skills().Find(t.Context(), own, "forms", number); got.Digest != digest || err != nil {
				t.Errorf("version %d: %v, %v", number, got.Number, err)
			}
		}
		if _, err := s.Skills().Find(t.Context(), own, "forms", 3); !errors.Is(err, skill.ErrNone) {
			t.Errorf("version 3: %v", err)
		}
		if err := s.Skills().Remove(t.Context(), own, "forms"); err != nil {
			t.Error(err)
		}
		if _, err := s.Skills().Find(t.Context(), own, "forms", 1); !errors.Is(err, skill.ErrNone) {
			t.Errorf("what was removed is there: %v", err)
		}
		if third := publish(t, s, draft(t, own, "forms", "three")); third.Number != 3 {
			t.Errorf("version %d follows", third.Number)
		}
		changes, err := s.Changes(t.Context(), store.Cursor{}, 10, store.SkillTopic)
		if len(changes) != 4 || err != nil || changes[0].Key != row.ID {
			t.Errorf("%v, %v were told", changes, err)
		}
	})
}

func TestSkillsOfOthersAreNotSeen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		own, other, stranger := skill.Owner{Agent: "a", User: "u"}, skill.Owner{Agent: "a", User: "v"}, skill.Owner{Agent: "b", User: "u"}
		shared := publish(t, s, draft(t, own.Shared(), "forms", "shared"))
		before, _ := s.Skills().Stamp(t.Context(), own)
		theirs := publish(t, s, draft(t, other, "forms", "theirs"))
		publish(t, s, draft(t, other, "secret", "theirs"))
		publish(t, s, draft(t, stranger, "secret", "theirs"))
		publish(t, s, draft(t, stranger.Shared(), "secret", "theirs"))
		if now, err := s.Skills().Stamp(t.Context(), own); now != before || err != nil {
			t.Errorf("others change the stamp: %q, %q, %v", before, now, err)
		}
		list, _, err := s.Skills().List(t.Context(), own)
		if len(list) != 1 || list[0].ID != shared.ID || err != nil {
			t.Errorf("%v, %v", list, err)
		}
		if _, err := s.Skills().Find(t.Context(), own, "secret", 0); !errors.Is(err, skill.ErrNone) {
			t.Error(err)
		}
		if _, err := s.Skills().Blob(t.Context(), own, theirs.Files[0].Digest); !errors.Is(err, skill.ErrNone) {
			t.Errorf("a file of somebody else: %v", err)
		}
		mine := publish(t, s, draft(t, own, "forms", "mine"))
		for number, want := range map[int64]string{0: mine.ID, 1: mine.ID} {
			if got, err := s.Skills().Find(t.Context(), own, "forms", number); got.ID != want || err != nil {
				t.Errorf("version %d: %v, %v", number, got.Owner, err)
			}
		}
		if got, err := s.Skills().Find(t.Context(), own.Shared(), "forms", 0); got.ID != shared.ID || err != nil {
			t.Errorf("%v, %v", got.Owner, err)
		}
		for range 3 {
			if err := s.Skills().Used(t.Context(), skill.Use{Owner: own, Slug: "forms", Source: "published", Number: 1, Session: "s"}); err != nil {
				t.Error(err)
			}
		}
		_ = s.Skills().Used(t.Context(), skill.Use{Owner: own, Slug: "forms", Source: "workspace"})
		uses, err := s.Skills().Uses(t.Context(), own)
		if len(uses) != 1 || uses[0].Count != 4 || uses[0].Latest == 0 || err != nil {
			t.Errorf("%v, %v", uses, err)
		}
		if uses, err := s.Skills().Uses(t.Context(), other); len(uses) > 0 || err != nil {
			t.Errorf("others see %v, %v", uses, err)
		}
	})
}

// TestSkillsOfOneNameAtOnce has many who publish one skill: each gets a version
// of its own.
func TestSkillsOfOneNameAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, each = 6, 5
		own := skill.Owner{Agent: "a", User: "u"}
		var all sync.WaitGroup
		var mu sync.Mutex
		numbers := map[int64]bool{}
		for w := range writers {
			all.Go(func() {
				for i := range each {
					row, isNew, err := s.Skills().Publish(t.Context(), draft(t, own, "forms", fmt.Sprint(w, " ", i)))
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

func TestSkillsAreBounded(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	own := skill.Owner{Agent: "a", User: "u"}
	d := draft(t, own, "forms", "x")
	for i := range d.Files {
		d.Files[i].Size = 1 << 30 // as if it were
	}
	if _, _, err := s.Skills().Publish(t.Context(), d); !errors.Is(err, skill.ErrFull) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("%v", err)
	}
	if list, _, err := s.Skills().List(t.Context(), own); len(list) > 0 || err != nil {
		t.Errorf("%v, %v was kept", list, err)
	}
}
