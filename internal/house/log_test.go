package house

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLogFieldsAreDocumented compares the fields of log messages with the table in docs/monitoring.md.
func TestLogFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| [a-z]").FindAllSubmatch(page, -1) {
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllSubmatch(row[1], -1) {
			documented[string(name[1])] = true
		}
	}
	for _, always := range []string{"time", "level", "msg"} {
		if !documented[always] {
			t.Errorf("the field %s is not documented", always)
		}
		delete(documented, always)
	}
	logged := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, name := range logFields(call) {
					logged[name] = true
				}
			}
			return true
		})
	}
	want, got := slices.Sorted(maps.Keys(logged)), slices.Sorted(maps.Keys(documented))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields in the code (-) and in docs/monitoring.md (+):\n%s", diff)
	}
}

// logFields returns the names of the fields of a log message.
func logFields(call *ast.CallExpr) (names []string) {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, fun.Sel.Name) {
		return nil
	}
	if len(call.Args) == 0 || literalText(call.Args[0]) == "" {
		return nil
	}
	for i := 1; i+1 < len(call.Args); i += 2 {
		name := literalText(call.Args[i])
		if name == "" {
			break
		}
		names = append(names, name)
	}
	return names
}

func literalText(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(l.Value)
	return text
}
