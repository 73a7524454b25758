package contextfiles_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

// TestWhichCopyIsRead has every document at the agent's level and at ada's.
func TestWhichCopyIsRead(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		for _, agent := range []string{"open", "laid", "grows"} {
			for _, name := range contextfiles.Names() {
				set(t, b, agent, "", name, "the agent's")
				set(t, b, agent, "ada", name, "ada's")
			}
		}
		for _, name := range contextfiles.Names() {
			own := "the agent's"
			if name == contextfiles.User || name == contextfiles.Bootstrap {
				own = "ada's"
			}
			for _, c := range []struct{ agent, user, want string }{
				{"open", "ada", "ada's"}, {"open", "bob", "the agent's"}, {"open", "", "the agent's"},
				{"laid", "ada", own}, {"laid", "bob", "the agent's"}, {"laid", "", "the agent's"},
				{"grows", "ada", own},
				{"other", "ada", "(none)"}, {"", "ada", string(tool.Refused)},
			} {
				if got := read(as(t, c.agent, c.user), b, name); got != c.want {
					t.Errorf("%s of %q reads %q as %s, not %q", c.user, c.agent, got, name, c.want)
				}
			}
		}
	})
}

// TestWhichCopyIsChanged writes each file as each kind of caller, and checks which owner's copy has changed.
func TestWhichCopyIsChanged(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		const refused = "refused"
		for _, name := range contextfiles.Names() {
			laid, laidShared, grows := refused, refused, refused
			if name == contextfiles.User || name == contextfiles.Bootstrap {
				laid, laidShared, grows = "ada", "", "ada"
			}
			if name == contextfiles.Soul {
				grows = ""
			}
			for _, c := range []struct{ agent, user, owner string }{
				{"open", "ada", "ada"}, {"open", "", ""}, {"laid", "ada", laid}, {"laid", "", laidShared},
				{"grows", "ada", grows}, {"", "ada", refused},
			} {
				before, err := b.Stored(t.Context(), c.agent)
				if err != nil {
					t.Fatal(err)
				}
				err = b.Write(as(t, c.agent, c.user), name, []byte("by "+c.user))
				if c.owner == refused {
					after, _ := b.Stored(t.Context(), c.agent)
					if kind(err) != tool.Refused || len(after) != len(before) {
						t.Errorf("%q of %q writes %s: %v", c.user, c.agent, name, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%q of %q writes %s: %v", c.user, c.agent, name, err)
				}
				text, found, err := b.Copy(t.Context(), tool.Owner{Agent: c.agent, User: c.owner}, name)
				if text != "by "+c.user || !found || err != nil {
					t.Errorf("%q of %q wrote %s: %q, %v", c.user, c.agent, name, text, err)
				}
			}
		}
	})
}

func TestOwnersAreIsolated(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		ada, bob := as(t, "open", "ada"), as(t, "open", "bob")
		for _, name := range contextfiles.Names() {
			if err := b.Write(ada, name, []byte("the heron of ada")); err != nil {
				t.Fatal(err)
			}
		}
		for _, ctx := range []context.Context{bob, as(t, "open", ""), as(t, "other", "ada"), as(t, "open", "ADA"),
			as(t, "OPEN", "ada"), as(t, "open", "ada\x00"), as(t, "", "ada")} {
			who := tool.CallerFrom(ctx).Principal()
			for _, name := range contextfiles.Names() {
				if text, _, err := b.Read(ctx, name); err == nil || len(text) > 0 {
					t.Errorf("%s reads %q", who, text)
				}
				if err := b.Remove(ctx, name); err == nil {
					t.Errorf("%s removes %s", who, name)
				}
			}
			if list, err := b.List(ctx, "."); err != nil || len(list) != 0 {
				t.Errorf("%s lists %v, %v", who, list, err)
			}
			if text, _ := b.Combined(ctx); text != "" {
				t.Errorf("%s is told %q", who, text)
			}
		}
		if err := b.Write(bob, contextfiles.Bootstrap, nil); err != nil {
			t.Error(err)
		}
		if err := b.Write(bob, contextfiles.User, []byte("bob")); err != nil {
			t.Error(err)
		}
		if list, err := b.List(ada, "."); err != nil || len(list) != len(contextfiles.Names()) ||
			read(ada, b, contextfiles.User) != "the heron of ada" {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// TestAnEmptyBootstrapEndsTheFirstConversation empties BOOTSTRAP.md: the file no longer exists for that user, with or
// without a copy of the agent, and stays for others.
func TestAnEmptyBootstrapEndsTheFirstConversation(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		ada, bob := as(t, "laid", "ada"), as(t, "laid", "bob")
		if err := b.Write(ada, contextfiles.Bootstrap, []byte("say hello")); err != nil {
			t.Fatal(err)
		}
		if err := b.Write(ada, contextfiles.Bootstrap, []byte(" \n")); err != nil ||
			read(ada, b, contextfiles.Bootstrap) != "(none)" {
			t.Errorf("%v", err)
		}
		if kept, err := b.Stored(t.Context(), ""); err != nil || len(kept) != 0 {
			t.Errorf("%v are left, %v", kept, err)
		}
		set(t, b, "laid", "", contextfiles.Bootstrap, "ask for a name")
		for _, end := range []func() error{
			func() error { return b.Write(ada, contextfiles.Bootstrap, nil) },
			func() error { return b.Remove(as(t, "laid", "eve"), contextfiles.Bootstrap) },
		} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
		for user, want := range map[string]string{"ada": "(none)", "eve": "(none)", "bob": "ask for a name",
			"": "ask for a name"} {
			if got := read(as(t, "laid", user), b, contextfiles.Bootstrap); got != want {
				t.Errorf("%q reads %q", user, got)
			}
		}
		if text, _ := b.Combined(ada); strings.Contains(text, "ask for") {
			t.Errorf("%q", text)
		}
		if err := b.Write(bob, contextfiles.Bootstrap, []byte("my own")); err != nil ||
			read(bob, b, contextfiles.Bootstrap) != "my own" {
			t.Error(err)
		}
		if err := b.Write(as(t, "laid", ""), contextfiles.Bootstrap, nil); err != nil ||
			read(as(t, "laid", "new"), b, contextfiles.Bootstrap) != "(none)" {
			t.Errorf("the agent's own is not gone, %v", err)
		}
	})
}

func TestRemoveShowsTheNextLevel(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		ada := as(t, "open", "ada")
		set(t, b, "open", "", contextfiles.Soul, "shared")
		if err := b.Write(ada, contextfiles.Soul, []byte("mine")); err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(ada, contextfiles.Soul); err != nil || read(ada, b, contextfiles.Soul) != "shared" {
			t.Errorf("%v", err)
		}
		if err := b.Remove(ada, contextfiles.Soul); kind(err) != tool.Refused {
			t.Errorf("%v", err)
		}
		if err := b.Remove(ada, contextfiles.Agents); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
		o := tool.Owner{Agent: "open", User: "ada"}
		if found, err := b.Undo(t.Context(), o, memory.Author{}, contextfiles.Soul); !found || err != nil ||
			read(ada, b, contextfiles.Soul) != "mine" {
			t.Errorf("%v, %v", found, err)
		}
		if found, err := b.Drop(t.Context(), o, memory.Author{}, contextfiles.Soul); !found || err != nil {
			t.Errorf("%v, %v", found, err)
		}
		if found, err := b.Undo(t.Context(), o, memory.Author{}, contextfiles.Identity); found || err != nil {
			t.Errorf("%v, %v", found, err)
		}
	})
}

func TestNamesAreExact(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		ctx := as(t, "open", "ada")
		for _, name := range []string{"soul.md", "SOUL.MD", "SOUL.md ", "/SOUL.md", "./SOUL.md", "a/SOUL.md",
			"SOUL.md/x", "HELP.md", "memory/SOUL.md", "", "SOUL.md\x00"} {
			if b.Serves(ctx, name) {
				t.Errorf("%q is served", name)
			}
			if err := b.Write(ctx, name, []byte("x")); kind(err) != tool.Invalid {
				t.Errorf("%q: %v", name, err)
			}
			if _, _, err := b.Read(ctx, name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %v", name, err)
			}
		}
		for _, name := range contextfiles.Names() {
			if !b.Serves(ctx, name) || b.Serves(as(t, "", "ada"), name) || b.Serves(t.Context(), name) {
				t.Errorf("%s is served to the wrong ones", name)
			}
		}
		for text, want := range map[string]tool.Kind{"a\x00": tool.Invalid, "\xff": tool.Invalid,
			strings.Repeat("é", contextfiles.MaxText+1): tool.TooLarge, strings.Repeat("é", contextfiles.MaxText): ""} {
			if err := b.Write(ctx, contextfiles.Soul, []byte(text)); kind(err) != want {
				t.Errorf("%d bytes: %v", len(text), err)
			}
		}
	})
}

func TestCombined(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, _ *memory.Rows) {
		ctx := as(t, "open", "ada")
		set(t, b, "open", "", contextfiles.User, "shared\n")
		set(t, b, "open", "", contextfiles.Soul, "a\u202esoul")
		set(t, b, "open", "ada", contextfiles.User, "Ada")
		text, err := b.Combined(ctx)
		if want := "# SOUL.md\n\nasoul\n\n# USER.md\n\nAda"; text != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		for _, name := range contextfiles.Names() {
			set(t, b, "open", "ada", name, strings.Repeat(strings.Repeat("é", 99)+"\n", 180))
		}
		text, err = b.Combined(ctx)
		if n := utf8.RuneCountInString(text); err != nil || n > contextfiles.MaxCombined ||
			n < contextfiles.MaxCombined-2*400 || !strings.Contains(text, "# AGENTS.md") ||
			!strings.HasSuffix(text, "USER_PREDEFINED.md, BOOTSTRAP.md; read it with read_file]") {
			t.Errorf("%d characters, %v: %s", n, err, text[len(text)-200:])
		}
		set(t, b, "open", "ada", contextfiles.Soul, strings.Repeat("x", contextfiles.MaxText))
		if text, err = b.Combined(ctx); utf8.RuneCountInString(text) > contextfiles.MaxCombined || err != nil {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
}

// TestAStoreThatFailsHidesTheDirectory has a store that cannot be read: the operator's copy is not returned
// instead of one that may be in the store, and nothing is removed.
func TestAStoreThatFailsHidesTheDirectory(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, contextfiles.Soul, "the operator's")
	s, err := store.Open(t.Context(), store.Options{DSN: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	agents := []contextfiles.Agent{{Name: "laid", Predefined: true, Dir: dir}}
	b := contextfiles.New(memory.NewRows(s, memory.Limits{}), agents)
	ctx := as(t, "laid", "ada")
	_, _, readErr := b.Read(ctx, contextfiles.Soul)
	text, combinedErr := b.Combined(ctx)
	for _, err := range []error{readErr, combinedErr, b.Write(ctx, contextfiles.Bootstrap, nil),
		b.Remove(ctx, contextfiles.User)} {
		if kind(err) != tool.Unavailable || text != "" {
			t.Errorf("%v, %q", err, text)
		}
	}
	if list, err := b.List(ctx, "."); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if err := b.Write(ctx, contextfiles.Soul, []byte("x")); kind(err) != tool.Refused {
		t.Errorf("%v", err)
	}
}

func TestVersionsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, b *contextfiles.Files, s *memory.Rows) {
		ctx := as(t, "open", "ada")
		for n := range 40 {
			if err := b.Write(ctx, contextfiles.User, []byte(strings.Repeat("x", n+1))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		o := tool.Owner{Agent: "open", User: "ada"}
		past, err := s.Past(t.Context(), o, contextfiles.User, 100)
		d, getErr := b.Get(ctx, contextfiles.User)
		if err != nil || getErr != nil || len(past) != 20 ||
			past[0].Author != (memory.Author{Name: "ada", Session: "s1"}) || d.Version != 40 || d.Author != "ada" {
			t.Errorf("%d former versions, %+v, %v, %v", len(past), d, err, getErr)
		}
		if !slices.Equal([]string{past[0].Text}, []string{strings.Repeat("x", 39)}) {
			t.Errorf("%q", past[0].Text)
		}
	})
}
