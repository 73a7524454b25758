package skills

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// TestSkillFiles: a skill has all its files under the URIs by which they are read, from a directory and published.
func TestSkillFiles(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		main := mainFile("forms", "Fills in forms.", "Do it.")
		put(t, b.ws+"/skills/forms/"+skill.Main, main)
		put(t, b.ws+"/skills/forms/a b/ü%2f#?.md", "odd")
		put(t, b.ws+"/skills/forms/a b/empty", "")
		put(t, b.ws+"/skills/forms/data.bin", "\x00\xff")
		put(t, b.ws+"/skills/forms/.hidden", "x")
		want := map[string]string{
			"skill://forms/SKILL.md": main, "skill://forms/a%20b/%C3%BC%252f%23%3F.md": "odd", "skill://forms/a%20b/empty": "",
			"skill://forms/data.bin": "\x00\xff",
		}
		uris, err := b.SkillURIs(b.ctx)
		if err != nil || !slices.Equal(uris, []string{URI("forms")}) {
			t.Errorf("the skills are %q, %v", uris, err)
		}
		parts, err := b.SkillFiles(b.ctx, URI("forms"))
		if err != nil || len(parts) != len(want) || parts[0].URI != URI("forms") || parts[0].MIME != "text/markdown" {
			t.Errorf("the files are %+v, %v", parts, err)
		}
		for _, p := range parts {
			same, err := b.Resource(b.ctx, p.URI)
			text, known := want[p.URI]
			if got := p.Text + string(p.Data); !known || got != text || err != nil || same.Text+string(same.Data) != got {
				t.Errorf("%s is %q, and read alone %+v, %v", p.URI, got, same, err)
			}
		}
		for uri, want := range map[string][]string{
			"skill://forms": {
				"skill://forms/SKILL.md forms text/markdown Fills in forms.", "skill://forms/a%20b a b inode/directory ",
				"skill://forms/data.bin data.bin  ",
			},
			"skill://forms/a%20b": {
				"skill://forms/a%20b/%C3%BC%252f%23%3F.md ü%2f#?.md text/markdown ", "skill://forms/a%20b/empty empty  ",
			},
		} {
			list, err := b.SkillDirectory(b.ctx, uri)
			var got []string
			for _, r := range list {
				got = append(got, strings.Join([]string{r.URI, r.Name, r.MIME, r.Description}, " "))
			}
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s has %q, %v", uri, got, err)
			}
		}
	})
}

// TestPublishedSkillFiles has versions of the store: the latest one is served to those who see it.
func TestPublishedSkillFiles(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for _, text := range []string{"one", "two"} {
			put(t, b.ws+"/work/deploy/"+skill.Main, mainFile("deploy", "Deploys.", text))
			put(t, b.ws+"/work/deploy/notes/x.txt", text)
			if _, err := (publishSkill{b.Library}).Do(b.ctx, publishSkillArgs{Path: "work/deploy"}); err != nil {
				t.Fatal(err)
			}
		}
		parts, err := b.SkillFiles(b.ctx, URI("deploy"))
		if err != nil || len(parts) != 2 || parts[0].URI != URI("deploy") || parts[1].Text != "two" {
			t.Errorf("the files are %+v, %v", parts, err)
		}
		if list, err := b.SkillDirectory(b.ctx, "skill://deploy/notes"); err != nil || len(list) != 1 {
			t.Errorf("the directory has %+v, %v", list, err)
		}
		for _, ctx := range []string{"tester other", "reader u"} { // another user, and an agent that must not see it
			agent, user, _ := strings.Cut(ctx, " ")
			uris, err := b.SkillURIs(b.as(agent, user))
			_, missing := b.SkillFiles(b.as(agent, user), URI("deploy"))
			_, closed := b.SkillDirectory(b.as(agent, user), "skill://deploy")
			if len(uris) != 0 || err != nil || kind(missing) != tool.NotFound || kind(closed) != tool.NotFound {
				t.Errorf("%s sees %q, %v, %v, %v", ctx, uris, err, missing, closed)
			}
		}
	})
}

func TestSkillsWithoutAllFiles(t *testing.T) {
	b := sqlite(t)
	for _, name := range []string{"good", "large", "denied", "many", "huge"} {
		put(t, b.ws+"/skills/"+name+"/"+skill.Main, mainFile(name, "x", "y"))
	}
	put(t, b.ws+"/skills/broken/"+skill.Main, "no front matter")
	put(t, b.ws+"/skills/large/a", strings.Repeat("x", maxResource+1))
	put(t, b.dirs[0]+"/slashes/"+skill.Main, mainFile("slashes", "x", "y"))
	put(t, b.dirs[0]+"/slashes/a:b", "x")
	for i := range skill.MaxFiles + 1 {
		put(t, fmt.Sprintf("%s/skills/many/%d", b.ws, i), "")
	}
	for i := range maxServed/maxResource + 1 {
		put(t, fmt.Sprintf("%s/skills/huge/%d", b.ws, i), strings.Repeat("x", maxResource))
	}
	for uri, want := range map[string]tool.Kind{
		URI("good"): "", URI("large"): tool.Invalid, URI("many"): tool.TooLarge, URI("huge"): tool.TooLarge,
		URI("slashes"): tool.Invalid, URI("broken"): tool.NotFound, URI("gone"): tool.NotFound, URI("GOOD"): tool.NotFound,
		"skill://good": tool.NotFound, "skill://good/": tool.NotFound, "skill://../good/SKILL.md": tool.NotFound,
		"skill://x/good/SKILL.md": tool.NotFound, "memory:///good/SKILL.md": tool.NotFound, "": tool.NotFound,
		"skill://good/%53KILL.md": tool.NotFound,
	} {
		if parts, err := b.SkillFiles(b.ctx, uri); kind(err) != want {
			t.Errorf("%q has %d files, %v, want %q", uri, len(parts), err, want)
		}
	}
	for _, uri := range []string{
		"skill://gone", "skill://good/", "skill://good/SKILL.md", "skill://good/a/../", "skill://good/..", "skill://good/%2e%2e",
		"skill://", "skill://good//", "skill://good/%00", "memory:///good", "skill://GOOD", "skill://good/%zz",
	} {
		if list, err := b.SkillDirectory(b.ctx, uri); kind(err) != tool.NotFound {
			t.Errorf("%q has %+v, %v", uri, list, err)
		}
	}
}

// TestDeepSkillsAreNotServed: an entry must have all files, so a skill with deeper ones than are listed has none.
func TestDeepSkillsAreNotServed(t *testing.T) {
	b := sqlite(t)
	for dir, at := range map[string]string{b.ws + "/skills": "here", b.dirs[0]: "there"} {
		for name, file := range map[string]string{"flat" + at: "1/2/3/4/5/6/7/a.md", "deep" + at: "1/2/3/4/5/6/7/8/a.md"} {
			put(t, dir+"/"+name+"/"+skill.Main, mainFile(name, "x", "y"))
			put(t, dir+"/"+name+"/"+file, "x")
		}
		if parts, err := b.SkillFiles(b.ctx, URI("flat"+at)); err != nil || len(parts) != 2 {
			t.Errorf("%s: %+v, %v", at, parts, err)
		}
		if parts, err := b.SkillFiles(b.ctx, URI("deep"+at)); kind(err) != tool.TooLarge {
			t.Errorf("%s: the deep one has %d files, %v", at, len(parts), err)
		}
	}
}
