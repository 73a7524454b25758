package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/evanw/esbuild/pkg/api"
)

// sourceName is the name of the script in stacks.
const sourceName = "script"

// A problem is a mistake in the code.
type problem struct {
	text string
	line int
}

func (p *problem) Error() string { return p.text }

// compile compiles code to a function without arguments. Syntax that this engine lacks, such as
// types of TypeScript, is translated first.
func compile(code string) (*goja.Program, error) {
	wrapped := wrap(code)
	parsed, err := goja.Parse(sourceName, wrapped, parser.WithDisableSourceMaps)
	if err != nil {
		if parsed, err = translate(wrapped); err != nil {
			var bad *problem
			if last := strings.Count(code, "\n") + 1; errors.As(err, &bad) && bad.line > last { // within our function
				return nil, &problem{"SyntaxError: the code ends before a bracket, a text or a comment is closed", last}
			}
			return nil, err
		}
	}
	program, err := goja.CompileAST(parsed, false)
	if err != nil {
		return nil, &problem{text: err.Error()}
	}
	return program, nil
}

// Check returns why code cannot be read, or nil.
func Check(code string) error {
	_, err := compile(code)
	return err
}

// wrap makes code the body of a function. Its first line is the second line of the function. If
// code is itself a function wrap calls it.
func wrap(code string) string {
	const head, tail = "(async function () {\n", "\n})"
	trimmed := strings.TrimRight(strings.TrimSpace(code), "; \n\t")
	asValue := "(async function () { return (\n" + trimmed + "\n)(tools) })"
	looksLike := strings.HasPrefix(trimmed, "(") || strings.HasPrefix(trimmed, "async") ||
		strings.HasPrefix(trimmed, "function")
	if looksLike && isFunction("(\n"+trimmed+"\n)") {
		return asValue
	}
	return head + code + tail
}

// isFunction reports whether code is one function.
func isFunction(code string) bool {
	parsed, err := goja.Parse(sourceName, code, parser.WithDisableSourceMaps)
	if err != nil {
		if parsed, err = translate(code); err != nil {
			return false
		}
	}
	if len(parsed.Body) != 1 {
		return false
	}
	statement, ok := parsed.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	switch statement.Expression.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return false
}

// translate translates TypeScript, and syntax that the engine does not have.
func translate(code string) (*ast.Program, error) {
	out := api.Transform(code, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ES2020, Sourcemap: api.SourceMapExternal, Sourcefile: sourceName,
		Supported: map[string]bool{"for-await": false, "async-generator": false},
	})
	if len(out.Errors) > 0 {
		first, line := out.Errors[0], 0
		if first.Location != nil {
			line = first.Location.Line - 1
		}
		text := first.Text
		if strings.Contains(code, "\nimport ") {
			text += "; a script imports nothing: it calls tools"
		}
		return nil, &problem{text: "SyntaxError: " + text, line: line}
	}
	withMap := string(out.Code) + "\n//# sourceMappingURL=data:application/json;base64," +
		base64.StdEncoding.EncodeToString(out.Map)
	parsed, err := goja.Parse(sourceName, withMap)
	if err != nil {
		return nil, &problem{text: fmt.Sprintf("SyntaxError: %v", err)}
	}
	return parsed, nil
}
