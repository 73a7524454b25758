package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/mcp-tools/mcp-tools"

// A source is one Go file of the module.
type source struct {
	path string // from the root, with slashes
	dir  string
	ast  *ast.File
	set  *token.FileSet
	text []byte
}

// test reports whether only tests use the file.
func (s source) test() bool {
	return strings.HasSuffix(s.path, "_test.go") || strings.HasSuffix(s.dir, "test")
}

func (s source) line(pos token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(pos).Line)
}

// sources returns every Go file of the module. The files are parsed once for
// all tests.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d Go files: the tests look in the wrong place", len(all))
	}
	return all
}

var parsed = sync.OnceValues(func() ([]source, error) {
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || skippedDirs[d.Name()]):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		s, err := parse(root, name)
		if err == nil {
			all = append(all, s)
		}
		return err
	})
	return all, err
})

var skippedDirs = map[string]bool{"testdata": true, "node_modules": true}

func parse(root, name string) (source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, name)
	rel = filepath.ToSlash(rel)
	return source{rel, path.Dir(rel), file, set, text}, err
}

// room is the part of the tree that a package belongs to: the first directory,
// and below internal and tools the second as well.
func room(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	if first == "internal" || first == "tools" {
		next, _, _ := strings.Cut(rest, "/")
		return first + "/" + next
	}
	return first
}

func TestLargeLibrariesAreImportedInOnePlace(t *testing.T) {
	doors := map[string][]string{
		"github.com/mark3labs/mcp-go":  {"server", "tools/bridge", "internal/jsonrpc"},
		"github.com/spf13/cobra":       {"cmd"},
		"github.com/fsnotify/fsnotify": {"internal/config", "internal/store", "tools/skills", "tools/custom"},
		"go.yaml.in/yaml": {
			"internal/clients", "internal/load", "internal/sandbox", "internal/config", "internal/markdown", "tools/custom", "tools/data", "tools/messaging",
			"tools/plugins",
		},
		"github.com/go-jose/go-jose":      {"internal/oauth"},
		"github.com/coreos/go-oidc":       {"internal/console"},
		"github.com/zitadel/oidc":         {"internal/console", "internal/login"},
		"github.com/modelcontextprotocol": {"tools/bridge", "docs"},
		"github.com/rogpeppe/go-internal": {"cmd", "internal/today", "internal/view"},
		"github.com/blevesearch/bleve":    {"index"},
		"github.com/docker/docker":        {"internal/sandbox"},
		"github.com/landlock-lsm":         {"internal/sandbox"},
		"github.com/dop251/goja":          {"tools/script/engine"},
		"github.com/evanw/esbuild":        {"tools/script/engine"},
		"github.com/creack/pty":           {"internal/sandbox"},
		"mvdan.cc/sh":                     {"tools/exec", "tools/custom"},
		"github.com/PuerkitoBio/goquery":  {"internal/page", "tools/web"},
		"github.com/JohannesKaufmann":     {"internal/page"},
		"github.com/chromedp":             {"internal/browser", "internal/view/viewtest"},
		"github.com/richardlehane/mscfb":  {"internal/document"},
		"modernc.org/sqlite":              {"internal/store"},
		"github.com/jackc/pgx":            {"internal/store"},
		"github.com/tetratelabs/wazero":   {"internal/document"},
		"github.com/yuin/goldmark":        {"internal/docs", "internal/markdown", "internal/document", "tools/messaging"},
		"github.com/coder/websocket":      {"tools/messaging", "internal/sandbox"},
		"github.com/wneessen/go-mail":     {"tools/messaging"},
		"github.com/prometheus":           {"internal/telemetry"},
		"go.opentelemetry.io/otel/sdk":    {"internal/telemetry"},
	}
	for _, s := range sources(t) {
		if s.test() { // tests may compare with other libraries
			continue
		}
		for _, spec := range s.ast.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for library, allowed := range doors {
				if strings.HasPrefix(imported, library) && !slices.Contains(allowed, room(s.dir)) &&
					!slices.Contains(allowed, s.dir) {
					t.Errorf("%s: %s belongs behind %s", s.line(spec.Pos()), library, strings.Join(allowed, " or "))
				}
			}
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, decl := range s.ast.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: no init functions", s.line(f.Pos()))
			}
		}
		for _, spec := range s.ast.Imports {
			// The timezone database is data; it is there for machines without one.
			if spec.Name != nil && spec.Name.Name == "_" && spec.Path.Value != `"time/tzdata"` {
				t.Errorf("%s: no blank imports", s.line(spec.Pos()))
			}
		}
	}
}

// TestGlobalsDoNotChange looks for assignments to package-level variables.
func TestGlobalsDoNotChange(t *testing.T) {
	globals := map[string]map[string]bool{} // by directory
	declared := map[*ast.ValueSpec]bool{}   // those of globals
	all := sources(t)
	for _, s := range all {
		if s.test() {
			continue
		}
		if globals[s.dir] == nil {
			globals[s.dir] = map[string]bool{}
		}
		for _, decl := range s.ast.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				declared[v] = true
				for _, name := range v.Names {
					if name.Name == "_" { // an assertion for the compiler
						continue
					}
					globals[s.dir][name.Name] = true
				}
				if v.Values == nil && !embedded(g) {
					t.Errorf("%s: %s is a package-level variable without a value: keep state in a type",
						s.line(v.Pos()), v.Names[0].Name)
				}
			}
		}
	}
	for _, s := range all {
		if s.test() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			for _, changed := range changes(n) {
				if name := root(changed); name != nil && globals[s.dir][name.Name] && isGlobal(name, declared) {
					t.Errorf("%s: %s is package-level and changes", s.line(n.Pos()), name.Name)
				}
			}
			return true
		})
	}
}

// embedded reports whether a variable gets its value from go:embed, here or in another package.
func embedded(g *ast.GenDecl) bool {
	return g.Doc != nil && slices.ContainsFunc(g.Doc.List,
		func(c *ast.Comment) bool {
			return strings.HasPrefix(c.Text, "//go:embed ") || strings.HasPrefix(c.Text, "//go:linkname ")
		})
}

// changes returns the variables that a statement changes or takes the address of.
func changes(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// isGlobal reports whether name is a package-level variable and not a local one
// of the same name. The parser resolves names of the same file only.
func isGlobal(name *ast.Ident, declared map[*ast.ValueSpec]bool) bool {
	if name.Obj == nil {
		return true
	}
	spec, ok := name.Obj.Decl.(*ast.ValueSpec)
	return ok && declared[spec]
}

// root returns the identifier that an assignment begins with.
func root(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	}
	return nil
}

func TestPackageComments(t *testing.T) {
	comments := map[string]string{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		if s.ast.Doc != nil {
			comments[s.dir] += s.ast.Doc.Text()
		} else if _, seen := comments[s.dir]; !seen {
			comments[s.dir] = ""
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(comments)) {
		if len(comments[dir]) < 80 {
			t.Errorf("%s: the package comment must say what the package does, what it does not, and where to begin; it is %q",
				dir, comments[dir])
		}
	}
}

func TestNoUnfinishedWork(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:", "not " + "implemented"}
	for _, s := range sources(t) {
		if strings.HasPrefix(s.path, "tools/automation/todo") { // the list that the tool keeps has this name
			continue
		}
		for _, mark := range marks {
			if i := bytes.Index(s.text, []byte(mark)); i >= 0 {
				t.Errorf("%s:%d: %s", s.path, 1+bytes.Count(s.text[:i], []byte{'\n'}), mark)
			}
		}
	}
}
