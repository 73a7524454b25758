package docs

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

func load(t *testing.T) (fs.FS, []Page) {
	t.Helper()
	repository := os.DirFS(filepath.Join("..", ".."))
	pages, err := Load(repository)
	if err != nil {
		t.Fatal(err)
	}
	return repository, pages
}

// TestLinks checks that each link within the documentation has a file, and each fragment
// a heading.
func TestLinks(t *testing.T) {
	repository, pages := load(t)
	byPath := map[string]Page{}
	for _, p := range pages {
		byPath[p.Path] = p
	}
	found := 0
	for _, p := range pages {
		for _, link := range p.Links() {
			if u, err := url.Parse(link); err != nil || u.Scheme != "" {
				if err != nil {
					t.Errorf("%s: %v", p.Path, err)
				}
				continue
			}
			found++
			file, fragment, _ := strings.Cut(link, "#")
			target := p.Path
			if file != "" {
				target = path.Join(path.Dir(p.Path), file)
			}
			if _, err := fs.Stat(repository, target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", p.Path, link)
			} else if fragment != "" && !slices.Contains(byPath[target].Anchors(), fragment) {
				t.Errorf("%s: %s has no heading for %s", p.Path, target, link)
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d links: the test no longer finds them", found)
	}
}

// TestAllPagesCanBeFound follows the links from the first page.
func TestAllPagesCanBeFound(t *testing.T) {
	_, pages := load(t)
	found := map[string]bool{index: true}
	for before := 0; before < len(found); {
		before = len(found)
		for _, p := range pages {
			for _, link := range p.Links() {
				if file, _, _ := strings.Cut(link, "#"); found[p.Path] {
					found[path.Join(path.Dir(p.Path), file)] = true
				}
			}
		}
	}
	for _, p := range pages {
		if !found[p.Path] {
			t.Errorf("no link leads from %s to %s", index, p.Path)
		}
	}
}

// TestSite builds the site and follows its links, as a browser does with files.
func TestSite(t *testing.T) {
	_, pages := load(t)
	dir := t.TempDir()
	images := map[string][]byte{}
	pictures, err := filepath.Glob(filepath.Join("..", "..", "docs", "images", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pictures {
		images["docs/images/"+filepath.Base(name)] = []byte("a picture")
	}
	if err := Build(pages, images, dir); err != nil {
		t.Fatal(err)
	}
	links, ids := regexp.MustCompile(`(?:href|src)="([^"]*)"`), regexp.MustCompile(` id="([^"]*)"`)
	found := 0
	for _, p := range pages {
		name := filepath.Join(dir, filepath.FromSlash(address(p.Path)))
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			file, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") {
				if strings.HasSuffix(file, ".css") || strings.HasSuffix(file, ".js") {
					t.Errorf("%s needs the network for %s", p.Path, file)
				}
				continue
			}
			found++
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), filepath.FromSlash(file))
			}
			page, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %s leads nowhere", address(p.Path), m[1])
				continue
			}
			has := func(id []string) bool { return id[1] == fragment }
			if fragment != "" && !slices.ContainsFunc(ids.FindAllStringSubmatch(string(page), -1), has) {
				t.Errorf("%s: %s has no heading %s", address(p.Path), target, fragment)
			}
		}
	}
	if found < 1000 {
		t.Errorf("found only %d links: the test no longer finds them", found)
	}
	if search, err := os.ReadFile(filepath.Join(dir, "search.js")); err != nil || !strings.Contains(string(search), `"s":"`) {
		t.Errorf("the search index has no sections: %v", err)
	}
}

// TestGoldenPictures draws the pictures of approvals from the transcripts of the pages,
// which another test keeps true.
func TestGoldenPictures(t *testing.T) {
	_, pages := load(t)
	block := func(page, with string) string {
		for _, p := range pages {
			if p.Path != page {
				continue
			}
			for _, b := range p.Blocks() {
				if strings.Contains(b.Text, with) {
					return b.Text
				}
			}
		}
		t.Fatalf("%s has no block with %q", page, with)
		return ""
	}
	question := block("docs/start/desktop.md", "rm notes.txt")
	_, question, _ = strings.Cut(question, "\n")
	question, _, _ = strings.Cut(question, "\nAllow? [y/N]")
	pictures := map[string][]byte{
		"approval-terminal.svg": Terminal("approvals", block("docs/start/remote.md", "mcp-tools approvals allow")),
		"approval-client.svg": Form("mcp-tools asks", question, []string{"Allow once", "Allow in this session",
			"Allow always", "Deny"}),
		"call-terminal.svg": Terminal("mcp-tools", block("README.md", "mcp-tools call edit")),
	}
	for name, picture := range pictures {
		golden.Check(t, filepath.Join("..", "..", "docs", "images", name), picture)
	}
}

func TestBlocks(t *testing.T) {
	source := "# A\n\n<!-- run\nhidden\n-->\n<!-- not run: why -->\n```sh\none\ntwo\n```\n\n- in a list\n\n  ```console\n  $ x\n  ```\n\ntext\n\n    indented\n"
	p := Parse("docs/a.md", []byte(source))
	blocks := p.Blocks()
	if len(blocks) != 4 {
		t.Fatalf("found %d blocks: %+v", len(blocks), blocks)
	}
	for i, want := range []Block{
		{Language: "hidden", Text: "hidden\n"},
		{Language: "sh", Comment: "not run: why", Text: "one\ntwo\n"},
		{Language: "console", Text: "$ x\n"},
		{Text: "indented\n"},
	} {
		if b := blocks[i]; b.Language != want.Language || b.Comment != want.Comment || b.Text != want.Text {
			t.Errorf("block %d is %+v, want %+v", i, b, want)
		}
	}
	blocks[1].Text = "three\n"
	if got := string(p.Replace(blocks[:2])); !strings.Contains(got, "```sh\nthree\n```") {
		t.Errorf("replaced: %s", got)
	}
}

func TestAnchors(t *testing.T) {
	p := Parse("a.md", []byte("# The `exec` tool, and more!\n\n## Über uns\n\n## Same\n\n## Same\n"))
	want := []string{"the-exec-tool-and-more", "über-uns", "same", "same-1"}
	if got := p.Anchors(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSearch runs the search of the site.
func TestSearch(t *testing.T) {
	node := needtest.Program(t, "node", "nodejs")
	_, pages := load(t)
	dir := t.TempDir()
	if err := Build(pages, nil, dir); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "search.js"))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"approve from phone": "messaging.html", "localhost dev server browser": "web.html",
		"git identity commit name": "commands.html", "undo": "files.html",
	} {
		program := string(script) + `
const words = wordsOf(` + strconv.Quote(query) + `);
for (const e of hitsOf(entries, words).slice(0, 10)) console.log(e.a + "\t" + snippetOf(e.x, words) + "\t" + e.x);`
		file := filepath.Join(dir, "try.js")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), node, file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: want %s among the first: %v\n%s", query, want, err, out)
		}
		for line := range strings.Lines(string(out)) {
			parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(parts) != 3 {
				continue
			}
			for _, word := range strings.Fields(strings.Trim(parts[1], "… ")) {
				if !slices.Contains(strings.Fields(parts[2]), word) {
					t.Errorf("%q: the snippet %q has a part of a word", query, parts[1])
					break
				}
			}
		}
	}
}
