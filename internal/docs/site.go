package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// index is the page that lists all others; its lists are the navigation of the site.
const index = "docs/README.md"

// Build writes the pages as a static site to a directory. Pages need no server and no
// network: links are relative, and the search index is a script.
func Build(pages []Page, files map[string][]byte, to string) error {
	b := builder{titles: map[string]string{}, files: files}
	for _, p := range pages {
		b.titles[p.Path] = p.Title()
		if p.Path == index {
			b.navigation = p
		}
	}
	if b.navigation.root == nil {
		return fmt.Errorf("%s is missing", index)
	}
	written := map[string][]byte{"style.css": []byte(style)}
	var entries []entry
	for _, p := range pages {
		page, err := b.page(p)
		if err != nil {
			return err
		}
		written[address(p.Path)] = page
		entries = append(entries, sections(p)...)
	}
	for name, content := range files {
		written[strings.TrimPrefix(name, "docs/")] = content
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	written["search.js"] = []byte("const entries = " + string(text) + ";\n" + search)
	for name, content := range written {
		name = filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// address returns where the site has a page: docs/a/b.md is a/b.html, the files beside
// docs are in about/.
func address(name string) string {
	below, ok := strings.CutPrefix(name, "docs/")
	if !ok {
		below = "about/" + name
	}
	if below == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(below, ".md") + ".html"
}

type builder struct {
	titles     map[string]string
	files      map[string][]byte // that pages link to, beside pages
	navigation Page
}

func (b builder) page(p Page) ([]byte, error) {
	content, err := b.render(p, p.Path)
	if err != nil {
		return nil, err
	}
	navigation, err := b.render(b.navigation, p.Path)
	if err != nil {
		return nil, err
	}
	_, navigation, _ = bytes.Cut(navigation, []byte("</h1>"))
	root := strings.Repeat("../", strings.Count(address(p.Path), "/"))
	var page bytes.Buffer
	fmt.Fprintf(&page, layout, html.EscapeString(b.titles[p.Path]), root, navigation, content)
	return page.Bytes(), nil
}

// render returns a page as HTML, with links that work where the page from is.
func (b builder) render(p Page, from string) ([]byte, error) {
	p = Parse(p.Path, p.Source) // links are changed
	p.walk(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(b.link(string(n.Destination), p.Path, from))
		case *ast.Image:
			n.Destination = []byte(b.link(string(n.Destination), p.Path, from))
		}
		return true
	})
	var out bytes.Buffer
	err := converter().Renderer().Render(&out, p.Source, p.root)
	return out.Bytes(), err
}

// link returns a link of the page in, as the page from needs it.
func (b builder) link(target, in, from string) string {
	file, fragment, _ := strings.Cut(target, "#")
	if strings.Contains(target, ":") {
		return target
	}
	to := in
	if file != "" {
		to = path.Join(path.Dir(in), file)
	}
	place := strings.TrimPrefix(to, "docs/")
	switch _, isFile := b.files[to]; {
	case b.titles[to] != "":
		place = address(to)
	case !isFile: // the site has no source code
		return "https://" + repository + "/blob/main/" + to
	}
	if fragment != "" {
		place += "#" + fragment
	}
	return strings.Repeat("../", strings.Count(address(from), "/")) + place
}

const repository = "github.com/mcp-tools/mcp-tools"

// An entry of the search index is a section: its page, heading, address and text.
type entry struct {
	Title   string `json:"t"`
	Section string `json:"s"`
	Address string `json:"a"`
	Text    string `json:"x"`
}

// sections returns the sections of a page.
func sections(p Page) []entry {
	all := []entry{{Title: p.Title(), Address: address(p.Path)}}
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		last := &all[len(all)-1]
		h, ok := n.(*ast.Heading)
		switch {
		case ok && h.Level > 1:
			id, _ := h.AttributeString("id")
			all = append(all, entry{p.Title(), p.text(h), fmt.Sprintf("%s#%s", address(p.Path), id), ""})
		case !ok:
			last.Text += p.text(n) + " "
		}
	}
	for i := range all {
		all[i].Text = strings.Join(strings.Fields(all[i].Text), " ")
	}
	return all
}

const layout = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%[1]s - mcp-tools</title>
<link rel="stylesheet" href="%[2]sstyle.css">
<body data-root="%[2]s">
<nav><a class="home" href="%[2]sindex.html">mcp-tools</a>
<input id="search" type="search" placeholder="Search" aria-label="Search">
<div id="found"></div>
<div id="pages">%[3]s</div></nav>
<main>%[4]s</main>
<script src="%[2]ssearch.js"></script>
</html>
`

const style = `:root { color-scheme: light dark; --line: #8883; --soft: #8881; }
* { box-sizing: border-box; }
body { margin: 0; display: flex; font: 16px/1.55 system-ui, sans-serif; }
nav { width: 19rem; flex: none; height: 100vh; position: sticky; top: 0; overflow-y: auto; padding: 1rem;
  border-right: 1px solid var(--line); font-size: 14px; }
nav .home { font-weight: bold; font-size: 18px; }
nav input { width: 100%; margin: .7rem 0; padding: .4rem; font: inherit; }
nav h2 { font-size: 14px; margin: 1rem 0 .2rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav p, nav table { display: none; }
main { max-width: 54rem; min-width: 0; padding: 1.5rem 2.5rem 5rem; flex: 1; }
a { text-decoration: none; } a:hover { text-decoration: underline; }
pre { background: var(--soft); padding: .8rem 1rem; overflow-x: auto; border-radius: 6px; line-height: 1.4; }
code { font: 13px ui-monospace, monospace; background: var(--soft); padding: .1em .25em; border-radius: 3px; }
pre code { background: none; padding: 0; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
blockquote { margin: 0; padding-left: 1rem; border-left: 3px solid var(--line); }
#found a { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
#found small { display: block; opacity: .75; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { width: auto; height: auto; position: static; }
  main { padding: 1rem; }
}
`

// search finds sections that have all words, those with words in their headings first.
const search = `const skipped = new Set("a an and are at by can do for from how i in is it my not of on or the to what with".split(" "));

// wordsOf returns the words of a query without endings: approve finds approval.
function wordsOf(query) {
  const all = query.toLowerCase().split(/\s+/).filter(Boolean), said = all.filter(w => !skipped.has(w));
  return (said.length ? said : all).map(w => w.length > 4 ? w.replace(/(ing|ed|es|e|s)$/, "") : w);
}

// hitsOf returns the sections that have most of the words, the best first.
function hitsOf(entries, words) {
  const rank = e => {
    const head = (e.t + " " + e.s).toLowerCase(), text = head + " " + e.x.toLowerCase();
    let has = 0, weight = 0;
    for (const w of words) {
      const times = Math.min(text.split(w).length - 1, 4);
      has += times > 0 ? 1 : 0;
      weight += times + (head.includes(w) ? 5 : 0);
    }
    return [has, weight, e];
  };
  const found = entries.map(rank).filter(r => r[0] * 2 >= words.length && r[0] > 0);
  return found.sort((a, b) => b[0] - a[0] || b[1] - a[1]).slice(0, 30).map(r => r[2]);
}

// snippetOf returns the text around the first word that is found, in whole words.
function snippetOf(text, words) {
  const low = text.toLowerCase(), at = words.map(w => low.indexOf(w)).find(i => i >= 0) ?? 0;
  const start = at < 40 ? 0 : text.lastIndexOf(" ", at - 30) + 1;
  const end = start + 120 >= text.length ? text.length : text.lastIndexOf(" ", start + 120);
  return (start > 0 ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
}

if (typeof document !== "undefined") {
  const field = document.getElementById("search"), found = document.getElementById("found");
  const pages = document.getElementById("pages"), root = document.body.dataset.root;
  field.addEventListener("input", () => {
    const words = wordsOf(field.value), hits = hitsOf(entries, words);
    found.replaceChildren();
    pages.hidden = words.length > 0;
    for (const e of words.length ? hits : []) {
      const a = document.createElement("a"), s = document.createElement("small");
      a.href = root + e.a;
      a.textContent = e.s ? e.t + ": " + e.s : e.t;
      s.textContent = snippetOf(e.x, words);
      a.append(s);
      found.append(a);
    }
    if (words.length && !hits.length) found.textContent = "No page has these words.";
  });
}
`
