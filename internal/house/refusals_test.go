package house

import (
	"go/ast"
	"testing"
)

// TestRefusalsHaveNextStep checks that each tool.Errorf(tool.Refused, ...) is
// followed by a Try, directly or on the variable that holds the error.
func TestRefusalsHaveNextStep(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, decl := range s.ast.Decls {
			tried, kept := tries(decl), keeps(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !refuses(call) {
					return true
				}
				found++
				if name := kept[call]; !tried.calls[call] && (name == "" || !tried.names[name]) {
					t.Errorf("%s: the refusal has no next step: add Try(...)", s.line(call.Pos()))
				}
				return true
			})
		}
	}
	if found < 50 {
		t.Errorf("found only %d refusals: the test no longer finds them", found)
	}
}

// refuses reports whether a call is tool.Errorf(tool.Refused, ...).
func refuses(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Errorf" || len(call.Args) == 0 {
		return false
	}
	kind, ok := call.Args[0].(*ast.SelectorExpr)
	return ok && kind.Sel.Name == "Refused"
}

// attempts holds what Try is called on: calls, and variables by name.
type attempts struct {
	calls map[ast.Expr]bool
	names map[string]bool
}

func tries(within ast.Node) attempts {
	all := attempts{map[ast.Expr]bool{}, map[string]bool{}}
	ast.Inspect(within, func(n ast.Node) bool {
		f, ok := n.(*ast.SelectorExpr)
		if !ok || f.Sel.Name != "Try" {
			return true
		}
		on := f.X
		if because, ok := on.(*ast.CallExpr); ok { // errorf().Because().Try()
			if link, ok := because.Fun.(*ast.SelectorExpr); ok && link.Sel.Name == "Because" {
				on = link.X
			}
		}
		all.calls[on] = true
		if name, ok := on.(*ast.Ident); ok {
			all.names[name.Name] = true
		}
		return true
	})
	return all
}

// keeps returns the variable to which the result of each call is assigned.
func keeps(within ast.Node) map[*ast.CallExpr]string {
	kept := map[*ast.CallExpr]string{}
	ast.Inspect(within, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
			return true
		}
		name, isName := a.Lhs[0].(*ast.Ident)
		call, isCall := a.Rhs[0].(*ast.CallExpr)
		if isName && isCall {
			kept[call] = name.Name
		}
		return true
	})
	return kept
}
