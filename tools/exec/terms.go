package exec

import (
	"crypto/sha256"
	"encoding/base32"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

const (
	lookupMost = 5000 // for files
	filesShown = 10
)

// facts returns the facts that an approval depends on: the place of the command, and the
// present files of its programs and of the names in it. A person is shown their names; a digest
// identifies the files.
func (k task) facts() tool.Facts {
	facts := tool.Facts{"directory": k.site.Dir, "sandbox": k.site.Where()}
	if len(k.args.Env) > 0 {
		facts["environment"] = strings.Join(slices.Sorted(maps.Keys(k.args.Env)), " ")
	}
	w := witness{site: k.site}
	w.note(k.site.Dir, k.site.Inode)
	w.programs(k)
	w.files(k)
	if k.verdict.Always && k.args.Command != "" { // a rule with a pattern for the text stays within its shape
		w.note("shape", judge.Shape(k.args.Command))
	}
	if len(w.names) > 0 {
		facts["programs"] = strings.Join(w.names, " ")
	}
	if len(w.read) > 0 {
		facts["files"] = listed(w.read)
	}
	facts["identity"] = w.sum()
	return facts
}

func listed(names []string) string {
	text := strings.Join(names[:min(len(names), filesShown)], " ")
	if len(names) > filesShown {
		text += " ..."
	}
	return text
}

// A witness has seen files, as far as they can be seen from here. Files in a container's own
// image stay the same with it.
type witness struct {
	site  sandbox.Site
	names []string // of programs
	read  []string // of other files
	seen  []string // each with its identity
	looks int
}

func (w *witness) note(name, identity string) { w.seen = append(w.seen, name+"\x00"+identity+"\x00") }

// sum is short for all that was seen, and not to be made again by others.
func (w *witness) sum() string {
	h := sha256.New()
	for _, one := range w.seen {
		_, _ = io.WriteString(h, one) // never fails
	}
	return base32.StdEncoding.EncodeToString(h.Sum(nil))[:26]
}

func (w *witness) programs(k task) {
	var all []string
	if len(k.args.Argv) == 0 {
		all = append(all, k.args.argv(k.site)[0])
	}
	for _, c := range k.verdict.Simple {
		all = append(all, c.Program)
	}
	for _, name := range all {
		if name == "" || strings.ContainsAny(name, "\x00\n…") {
			continue
		}
		at := name
		if strings.Contains(name, "/") && !path.IsAbs(name) {
			at = path.Join(k.site.Dir, name)
		}
		if file, identity := k.site.Find(at); file != "" && !slices.Contains(w.names, file) {
			w.names = append(w.names, file)
			w.note(name+" "+file, identity)
		}
	}
}

// files notes each file that may be code: the file of a word, unless the program only moves or
// names files, the input of <, and the files of make. Files that the command writes are not
// among them: they differ each time.
func (w *witness) files(k task) {
	if k.site.File == nil {
		return
	}
	words := sources(k.args.Command)
	dirs := []string{k.site.Dir}
	for _, c := range k.verdict.Simple {
		if !handles(c) {
			words = append(words, fragments(c.Argv...)...)
		}
		words = append(words, recipes(path.Base(c.Program))...)
		if len(c.Argv) > 1 && (c.Program == "cd" || c.Program == "pushd") && len(dirs) < 8 {
			dirs = append(dirs, absolute(dirs[len(dirs)-1], c.Argv[1]))
		}
	}
	known := map[string]bool{}
	for _, word := range words {
		for _, dir := range dirs {
			for _, name := range w.meant(absolute(dir, word)) {
				if known[name] || w.looks == lookupMost {
					continue
				}
				known[name] = true
				w.looks++
				if identity := w.site.File(name); identity != "" && !slices.Contains(w.names, name) {
					w.read = append(w.read, w.short(name))
					w.note(name, identity)
				}
			}
		}
	}
}

// meant returns the files that a name may stand for: modules go without endings.
func (w *witness) meant(name string) []string {
	if path.Ext(name) != "" && !strings.Contains(name, "$") {
		return []string{name, strings.ReplaceAll(name, ".", "/") + ".py"}
	}
	return []string{name, name + ".js", name + ".py", name + "/__main__.py", name + "/index.js"}
}

// short returns the name as it is from the working directory, if it lies there.
func (w *witness) short(name string) string {
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(w.site.Dir, "/")+"/"); ok {
		return rest
	}
	return name
}

// fragments returns the words in a shell's text, and the parts of such words that may be names:
// values of options, targets of redirections.
func fragments(texts ...string) []string {
	var all []string
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text,
			func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`<>|&;(){}=,", r) }) {
			if strings.HasPrefix(word, "-") { // -fname
				word = word[min(2, len(word)):]
			}
			if word != "" && len(word) < 1000 && !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, "\x00…") {
				all = append(all, word)
			}
		}
	}
	return all
}

// sources returns the files that a shell's text reads by <.
func sources(text string) []string {
	var all []string
	for i, part := range strings.Split(text, "<") {
		if words := fragments(part); i > 0 && len(words) > 0 && !strings.HasPrefix(part, "(") {
			all = append(all, words[0])
		}
	}
	return all
}

// handles reports whether a program only moves files about, or writes them, so that their
// contents do not matter.
func handles(c judge.Simple) bool {
	switch path.Base(c.Program) {
	case "rm", "rmdir", "touch", "mkdir", "mktemp", "chmod", "chown", "ls", "echo", "printf", "test", "[", "stat", "du",
		"df", "wc", "tee", "kill", "pkill", "sleep":
		return true
	case "git":
		return len(c.Argv) > 1 && slices.Contains([]string{"add", "checkout", "commit", "diff", "log", "push", "reset",
			"restore", "rm", "show", "status", "clean", "stash", "branch"}, c.Argv[1])
	}
	return false
}

// recipes returns the files that programs read by default.
func recipes(program string) []string {
	switch program {
	case "make", "gmake":
		return []string{"GNUmakefile", "makefile", "Makefile"}
	case "npm", "npx", "pnpm", "yarn", "bun":
		return []string{"package.json"}
	case "cargo":
		return []string{"Cargo.toml", "build.rs"}
	case "just":
		return []string{"justfile", "Justfile"}
	case "pytest", "tox", "nox", "pip", "pip3", "uv", "poetry":
		return []string{"pyproject.toml", "setup.py", "conftest.py", "tox.ini", "noxfile.py"}
	case "docker", "podman":
		return []string{"Dockerfile", "compose.yaml", "docker-compose.yml"}
	case "gradle", "mvn", "rake", "composer", "go":
		return []string{"build.gradle", "build.gradle.kts", "pom.xml", "Rakefile", "composer.json", "go.mod"}
	}
	return nil
}

func absolute(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
