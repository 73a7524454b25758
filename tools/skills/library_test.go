package skills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

func (b bench) names(t *testing.T, ctx context.Context, query string) (list []string) {
	t.Helper()
	found, err := b.Search(ctx, query, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		list = append(list, h.Name+" of "+h.Source)
	}
	return list
}

func TestPrecedenceOfDirectories(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for i, dir := range []string{b.ws + "/skills", b.ws + "/.agents/skills", b.dirs[0], b.dirs[1], b.ws + "/drafts"} {
			for _, name := range []string{"s0", "s1", "s2", "s3", "s4"}[i:] {
				put(t, filepath.Join(dir, name, skill.Main), mainFile(name, "about apples", fmt.Sprint("directory ", i)))
			}
		}
		for i := range 5 {
			put(t, b.ws+"/again/"+skill.Main, mainFile(fmt.Sprint("s", i), "about pears", "directory 4"))
			if _, err := b.Publish(b.ctx, "again", false); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"s0 of workspace", "s1 of workspace", "s2 of workspace", "s3 of workspace", "s4 of workspace"}
		got := b.names(t, b.ctx, "*")
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for i, dir := range []string{b.ws + "/skills", b.ws + "/.agents/skills", b.dirs[0], b.dirs[1]} {
			s, err := b.Use(b.ctx, "s4", 0)
			body := strings.TrimSpace(s.Instructions)
			if err != nil || body != fmt.Sprint("directory ", i) || len(s.Hidden) != 4-i || !s.OnDisk {
				t.Errorf("directory %d: %+v, %v", i, s, err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "s4")); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Use(b.ctx, "s4", 0)
		if err != nil || s.Source != "published" || s.Dir != "skills/s4@1" || s.OnDisk || s.Author != "tester/u" {
			t.Errorf("%+v, %v", s, err)
		}
		if s, err = b.Use(b.ctx, "s0", 1); err != nil || s.Source != "published" || strings.TrimSpace(s.Instructions) != "directory 4" {
			t.Errorf("a version has precedence: %+v, %v", s, err)
		}
		if _, err = b.Use(b.ctx, "s0", 2); kind(err) != tool.NotFound {
			t.Errorf("version 2: %v", err)
		}
	})
}

func TestChangesAreNoticed(t *testing.T) {
	b := sqlite(t)
	for _, dir := range []string{b.ws + "/skills", b.dirs[0]} {
		file := filepath.Join(dir, "fruit", skill.Main)
		if got := b.names(t, b.ctx, "apples"); got != nil {
			t.Errorf("before it exists: found %q", got)
		}
		put(t, file, mainFile("fruit", "about apples", "x"))
		if got := b.names(t, b.ctx, "apples"); len(got) != 1 {
			t.Errorf("a new skill: found %q", got)
		}
		put(t, file, mainFile("fruit", "about oranges", "x"))
		if got := b.names(t, b.ctx, "oranges"); len(got) != 1 {
			t.Errorf("a changed skill: found %q", got)
		}
		put(t, file, "---\nname: [\n---\n")
		found, err := b.Search(b.ctx, "*", 5)
		if err != nil || len(found.Hits) != 1 || !strings.Contains(found.Hits[0].Problem, "line 2") {
			t.Errorf("%+v, %v", found, err)
		}
		if got := b.names(t, b.ctx, "oranges"); got != nil {
			t.Errorf("an invalid skill: found %q", got)
		}
		if _, err := b.Use(b.ctx, "fruit", 0); kind(err) != tool.Invalid || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%v", err)
		}
		if err := os.RemoveAll(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := b.Search(b.ctx, "pears", 5)
	if err != nil || found.Total != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestUseAndFiles(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		put(t, b.ws+"/draft/"+skill.Main, mainFile("forms", "fills forms", "run {baseDir}/scripts/fill.py"))
		put(t, b.ws+"/draft/scripts/fill.py", "print(1)")
		put(t, b.ws+"/draft/references/deep/x.md", "more")
		put(t, b.ws+"/draft/.env", "SECRET=1")
		put(t, b.ws+"/draft/x.deny", "denied")
		put(t, b.ws+"/draft/__pycache__/x.pyc", "junk")
		p, err := b.Publish(b.ctx, "draft/SKILL.md", false)
		whole := p.Version == 1 && p.Files == 3 && !p.Same && p.Preceding == ""
		if err != nil || !whole || !cmp.Equal(p.LeftOut, []string{"__pycache__"}) {
			t.Fatalf("%+v, %v", p, err)
		}
		s, err := b.Use(b.ctx, "Forms", 0)
		if err != nil || len(s.Files) != 2 || s.Files[1].Path != "scripts/fill.py" {
			t.Fatalf("%+v, %v", s, err)
		}
		if got := readAs(t, b, b.ctx, s.Dir+"/scripts/fill.py"); got != "print(1)" {
			t.Errorf("read_file returns %q", got)
		}
		for path, want := range map[string]tool.Kind{
			"skills/forms@2/SKILL.md": tool.NotFound, "skills/forms@1/../../draft/.env": tool.Refused, "skills/forms@1/none": tool.NotFound,
			"skills/forms@01/SKILL.md": tool.NotFound, "skills/forms@-1/SKILL.md": tool.NotFound,
		} {
			if _, err := b.files.Open(b.ctx, path); kind(err) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
		_, err = b.files.Change(b.ctx, []string{s.Dir + "/SKILL.md"}, func([]*workspace.File) ([]workspace.Change, error) {
			return []workspace.Change{{Path: s.Dir + "/SKILL.md", Content: strings.NewReader("other")}}, nil
		})
		if kind(err) != tool.Refused || !strings.Contains(err.Error(), "copy_skill") {
			t.Errorf("writing to a version: %v", err)
		}
		for _, ctx := range []context.Context{b.as("tester", "v"), b.as("other", "u")} {
			if _, err := b.files.Open(ctx, s.Dir+"/SKILL.md"); kind(err) != tool.NotFound {
				t.Errorf("another caller: %v", err)
			}
			if _, err := b.Use(ctx, "forms", 0); kind(err) != tool.NotFound || strings.Contains(err.Error(), "did you mean") {
				t.Errorf("another caller: %v", err)
			}
			if got := b.names(t, ctx, "forms"); got != nil {
				t.Errorf("another caller finds %q", got)
			}
			if found, err := b.Search(ctx, "*", 5); found.Total != 0 || err != nil {
				t.Errorf("another caller sees %+v, %v", found, err)
			}
		}
	})
}

func TestLinksAreNotFollowed(t *testing.T) {
	b := sqlite(t)
	put(t, b.ws+"/elsewhere/real/"+skill.Main, mainFile("real", "x", "y"))
	put(t, b.dirs[0]+"/good/"+skill.Main, mainFile("good", "x", "y"))
	put(t, b.dirs[0]+"/evil/other", "x")
	put(t, b.dirs[0]+"/good/scripts/a.sh", "x")
	secret := filepath.Join(workspacetest.Dir(t), "secret")
	put(t, secret, mainFile("evil", "x", "the secret"))
	put(t, b.ws+"/skills/x/y", "")
	put(t, b.ws+"/skills/hush/"+skill.Main, mainFile("hush", "denied", "y"))
	for link, target := range map[string]string{
		b.dirs[0] + "/evil/SKILL.md": secret, b.dirs[0] + "/good/leak": secret, b.dirs[0] + "/good/dir": filepath.Dir(secret),
		b.ws + "/skills/linked": b.ws + "/elsewhere/real", b.ws + "/skills/x/SKILL.md": secret,
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.names(t, b.ctx, "*"); !slices.Equal(got, []string{"good of home-skills"}) {
		t.Errorf("%q", got)
	}
	s, err := b.Use(b.ctx, "good", 0)
	if err != nil || len(s.Files) != 1 || s.Dir != "home-skills/good" {
		t.Errorf("%+v, %v", s, err)
	}
	for uri, want := range map[string]tool.Kind{
		"skill://good/SKILL.md": "", "skill://good/scripts/a.sh": "", "skill://good/leak": tool.NotFound, "skill://good/dir/secret": tool.NotFound,
		"skill://good/../evil/other": tool.NotFound, "skill://good/%2e%2e/evil/other": tool.NotFound, "skill://good/": tool.NotFound,
		"skill://good": tool.NotFound, "file:///etc/passwd": tool.NotFound, "skill://good//etc/passwd": tool.NotFound, "skill://none/SKILL.md": tool.NotFound,
		"skill://good/%00": tool.NotFound, "skill://good/.env": tool.NotFound, "skill://good/scripts": tool.NotFound,
	} {
		if part, err := b.Resource(b.ctx, uri); kind(err) != want || want == "" && len(part.Text) == 0 {
			t.Errorf("%s: %+v, %v", uri, part, err)
		}
	}
}

func TestPrompts(t *testing.T) {
	b := sqlite(t)
	for i := range 7 {
		put(t, fmt.Sprintf("%s/skills/p%d/SKILL.md", b.ws, i), mainFile("x", "about", "do $it"))
	}
	put(t, b.ws+"/skills/args/SKILL.md", "---\nname: args\ndescription: d\narguments: [{name: file, required: true}, mode]\n---\nbody\n")
	put(t, b.ws+"/skills/broken/SKILL.md", "none")
	var names []string
	list, err := b.Prompts(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"args", "p0", "p1", "p2", "p3", "p4", "p5", "p6"}) {
		t.Errorf("%q", names)
	}
	if _, err := b.Prompt(b.ctx, "args", map[string]string{"mode": "x"}); kind(err) != tool.Invalid {
		t.Errorf("without a required argument: %v", err)
	}
	filled, err := b.Prompt(b.ctx, "args", map[string]string{"file": "a.pdf", "strange": "y"})
	if err != nil || len(filled.Messages) != 1 {
		t.Fatalf("%+v, %v", filled, err)
	}
	got := filled.Messages[0].Part.Text
	complete := strings.Contains(got, "file: a.pdf") && strings.Contains(got, "body")
	if filled.Description != "d" || !complete || strings.Contains(got, "strange") {
		t.Errorf("%+v", filled)
	}
	resources, err := b.Resources(b.ctx)
	if len(resources) != 8 || err != nil || resources[6].URI != "skill://p5/SKILL.md" {
		t.Errorf("%+v, %v", resources, err)
	}
	if list, err := b.Complete(b.ctx, "p", 4); len(list) != 4 || err != nil {
		t.Errorf("%q, %v", list, err)
	}
}

// TestManyCallers has more concurrent callers than views are cached.
func TestManyCallers(t *testing.T) {
	b := sqlite(t)
	put(t, b.ws+"/skills/forms/SKILL.md", mainFile("x", "about apples", "y"))
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 50 {
				ctx := b.as("tester", fmt.Sprint((w*50+i*7)%100))
				found, err := b.Search(ctx, "apples", 5)
				if err != nil || len(found.Hits) != 1 {
					t.Errorf("%+v, %v", found, err)
				}
			}
		})
	}
	all.Wait()
}

// synonyms is an encoder that knows which words mean the same.
type synonyms map[string]int // the dimension of a word

func (s synonyms) Query(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, 8)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if d, ok := s[word]; ok {
			v[d]++
		}
	}
	v[7] = 0.1
	return v, nil
}

func (s synonyms) Texts(ctx context.Context, texts []string) (all [][]float32, err error) {
	for _, text := range texts {
		v, _ := s.Query(ctx, text)
		all = append(all, v)
	}
	return all, nil
}

func TestSearchByMeaningAndWeakHits(t *testing.T) {
	b := sqlite(t)
	for name, about := range map[string]string{
		"billing": "creates invoices for customers", "crops": "crops pictures", "oracle": "tunes a database",
		"letters": "writes letters to customers",
	} {
		put(t, filepath.Join(b.dirs[0], name, skill.Main), mainFile(name, about, "x"))
	}
	weak, err := b.Search(b.ctx, "charge purchasers with letters", 5)
	others := []Other{{"billing", "creates invoices for customers"}, {"crops", "crops pictures"}, {"oracle", "tunes a database"}}
	if err != nil || len(weak.Hits) != 1 || !slices.Equal(weak.Others, others) {
		t.Errorf("a weak match: %+v, %v", weak, err)
	}
	if most, err := b.Search(b.ctx, "slides with customers letters", 5); err != nil || len(most.Others) == 0 {
		t.Errorf("a word of three that no skill has: %+v, %v", most, err)
	}
	if found, err := b.Search(b.ctx, "crops pictures", 5); err != nil || len(found.Others) != 0 || found.Hits[0].Name != "crops" {
		t.Errorf("a good match: %+v, %v", found, err)
	}
	b.o.Encoder = synonyms{"invoices": 0, "charge": 0, "customers": 1, "purchasers": 1, "pictures": 2, "database": 3}
	found, err := b.Search(b.ctx, "charge purchasers", 5)
	if err != nil || len(found.Hits) < 1 || found.Hits[0].Name != "billing" || len(found.Others) != 0 {
		t.Errorf("by meaning: %+v, %v", found, err)
	}
}

// TestAgentsSeeSomeSkills lists, uses and reads skills as agents that see only some of them.
func TestAgentsSeeSomeSkills(t *testing.T) {
	b := sqlite(t)
	for _, name := range []string{"letters", "pdf-forms", "pdf-secret", "deploy-web"} {
		put(t, b.dirs[0]+"/"+name+"/"+skill.Main, mainFile(name, "about "+name, "Do it."))
	}
	put(t, b.ws+"/draft/"+skill.Main, mainFile("deploy-db", "about databases", "Do it."))
	for _, agent := range []string{"tester", "reader"} {
		if _, err := b.Publish(b.as(agent, "u"), "draft", false); err != nil {
			t.Fatal(err)
		}
	}
	for agent, want := range map[string]string{
		"tester": "deploy-db deploy-web letters pdf-forms pdf-secret",
		"reader": "letters pdf-forms pdf-secret",
		"forms":  "letters pdf-forms",
	} {
		ctx := b.as(agent, "u")
		found, err := b.Search(ctx, "*", 10)
		var names []string
		for _, h := range found.Hits {
			names = append(names, h.Name)
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("%s sees %q, %v; want %q", agent, got, err, want)
		}
		prompts, err := b.Prompts(ctx)
		if len(prompts) != len(names) || err != nil {
			t.Errorf("%s has the prompts %v, %v", agent, prompts, err)
		}
	}
	ctx := b.as("reader", "u")
	if _, err := b.Use(ctx, "deploy-web", 0); kind(err) != tool.NotFound {
		t.Errorf("a hidden skill of a directory: %v", err)
	}
	if _, err := b.Use(ctx, "deploy-db", 1); kind(err) != tool.NotFound {
		t.Errorf("a hidden published skill: %v", err)
	}
	path := servedDir("deploy-db", 1)
	if _, err := b.files.Open(ctx, path+"/"+skill.Main); kind(err) != tool.NotFound {
		t.Errorf("a file of a hidden skill: %v", err)
	}
	if l, err := b.files.List(ctx, workspace.ListQuery{Path: path, Depth: 1, Limit: 9}); kind(err) != tool.NotFound {
		t.Errorf("the files of a hidden skill: %+v, %v", l, err)
	}
	if list, err := b.List(ctx, tool.Owner{Agent: "reader", User: "u"}); len(list) != 0 || err != nil {
		t.Errorf("the operator's list of what the agent sees: %+v, %v", list, err)
	}
	readAs(t, b, b.ctx, path+"/"+skill.Main)
}
