package house

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// mannered matches words that plain technical English does without: vague
// actors, verbs of speech for code, and idioms.
var mannered = regexp.MustCompile(`(?i)\b(nobody|somebody|everybody|whoever|whom|whose|strangers?|meanwhile|` +
	`tells|told|hears?|of its own|for good|is over|are over|is gone|are gone|goes on|no more|any more|` +
	`come to its turn|gives? way|heed|mend(s|ed)?|bears?|behind walls|takes leave)\b`)

// maxMannered is the max number of such words in 1,000.
const maxMannered = 1.0

// TestPlainWords counts mannered words in comments, string literals and
// documentation.
func TestPlainWords(t *testing.T) {
	comments, literals := tally{name: "comments"}, tally{name: "string literals"}
	for _, s := range sources(t) {
		if s.dir == "internal/house" {
			continue
		}
		for _, group := range s.ast.Comments {
			for _, c := range group.List {
				comments.add(s.line(c.Pos()), c.Text)
			}
		}
		if s.test() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Count(lit.Value, " ") > 2 {
				literals.add(s.line(lit.Pos()), lit.Value)
			}
			return true
		})
	}
	comments.check(t)
	literals.check(t)
	docs, code := tally{name: "documentation"}, regexp.MustCompile("`[^`\n]*`")
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || skippedDirs[d.Name()]):
			return filepath.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		docs.add(name, code.ReplaceAllString(string(text), " "))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	docs.check(t)
}

// A tally counts words and remembers where the mannered ones are.
type tally struct {
	name     string
	words    int
	mannered []string
}

func (c *tally) add(where, text string) {
	c.words += len(strings.Fields(text))
	for _, word := range mannered.FindAllString(text, -1) {
		c.mannered = append(c.mannered, where+": "+word)
	}
}

func (c *tally) check(t *testing.T) {
	t.Helper()
	share := 1000 * float64(len(c.mannered)) / float64(max(c.words, 1))
	t.Logf("%s: %d words, %.1f mannered words in 1,000", c.name, c.words, share)
	if share > maxMannered {
		t.Errorf("%s have %.1f mannered words in 1,000, the max is %.0f:\n%s",
			c.name, share, maxMannered, strings.Join(c.mannered, "\n"))
	}
}

// maxWidth is the longest line in characters, a tab counting four.
const maxWidth = 120

// TestLineWidth checks the width of lines. A field may be wider because of its
// tag, which cannot be broken. In tests, a line may be wider if that
// is because of one string literal, such as a message in JSON.
func TestLineWidth(t *testing.T) {
	literal := regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`?")
	tag := regexp.MustCompile("`(json|yaml):[^`]*`$")
	for _, s := range sources(t) {
		quoted := map[int]bool{}
		if s.test() {
			quoted = s.quotedLines()
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			if quoted[i+1] {
				continue
			}
			if width(tag.ReplaceAllString(line, "``")) <= maxWidth {
				continue
			}
			if s.test() {
				rest := literal.ReplaceAllString(line, `""`)
				if width(rest) <= maxWidth {
					continue
				}
			}
			t.Errorf("%s:%d: the line has %d characters, the max is %d", s.path, i+1, width(line), maxWidth)
		}
	}
}

// quotedLines returns the lines of string literals that span several lines.
func (s source) quotedLines() map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			from, to := s.set.Position(lit.Pos()).Line, s.set.Position(lit.End()).Line
			for line := from; line <= to && to > from; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

func width(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}
