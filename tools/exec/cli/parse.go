package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The most that a command may be.
const (
	maxArgs   = 256
	maxText   = 64 << 10
	maxNested = 4 << 10 // for a command with nested code: the parser recurses
)

// Parse takes a command apart into words as a shell would, if that needs no shell: it is one
// program with its arguments, and each word has its plain meaning.
func Parse(command string) ([]string, error) {
	if len(command) > maxText {
		return nil, tool.Errorf(tool.TooLarge, "the command has %d bytes, the most is %d", len(command), maxText)
	}
	if len(command) > maxNested && nests(command) {
		return nil, unfit("a construct of the shell")
	}
	file, err := read(command)
	if err != nil {
		return nil, err
	}
	if found := needsShell(command, file); found != "" {
		return nil, unfit(found)
	}
	argv, err := expand.Fields(nil, file.Stmts[0].Cmd.(*syntax.CallExpr).Args...)
	if err != nil {
		return nil, unfit("an expansion")
	}
	return argv, checkArgv(argv)
}

// nests reports whether there is anything in a text that can be nested. The
// parser goes as deep as that goes, and a stack that is full ends the server.
func nests(command string) bool {
	const single, double = '\'', '"'
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case quote == single:
			if c == single {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '`' || c == '$' && i+1 < len(command) && strings.IndexByte("({['\"", command[i+1]) >= 0 &&
			(quote == 0 || command[i+1] != double && command[i+1] != single):
			return true
		case quote == double:
			if c == double {
				quote = 0
			}
		case c == single || c == double:
			quote = c
		case strings.IndexByte("({[", c) >= 0:
			return true
		}
	}
	return false
}

func read(command string) (*syntax.File, error) {
	if strings.ContainsRune(command, 0) || !utf8.ValidString(command) {
		return nil, tool.Errorf(tool.Invalid, "the command holds bytes that are no text").Try("write plain text")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash),
		syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "the command cannot be read as one program with its arguments").
			Because(err).Try("close every quote, or send argv")
	}
	return file, nil
}

func unfit(found string) error {
	return tool.Errorf(tool.Invalid, "there is no shell around programs with credentials, and the command has %s",
		found).
		Try("write one program with its arguments, put literal text into single quotes, or send argv")
}

// checkArgv refuses arguments that no program takes.
func checkArgv(argv []string) error {
	size := 0
	for _, a := range argv {
		size += len(a)
		if strings.ContainsRune(a, 0) {
			return tool.Errorf(tool.Invalid, "an argument holds a NUL byte").Try("leave it out")
		}
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		return tool.Errorf(tool.Invalid,
			"there is no command").Try(`write the program and its arguments, such as "gh pr list -R owner/name"`)
	case len(argv) > maxArgs || size > maxText:
		return tool.Errorf(tool.TooLarge, "the command has %d arguments of %d bytes; the most is %d of %d", len(argv),
			size, maxArgs, maxText)
	}
	return nil
}

// needsShell returns the reason why a command needs a shell; "" for none.
func needsShell(command string, file *syntax.File) (found string) {
	if len(file.Stmts) != 1 || len(file.Last) > 0 || len(file.Stmts[0].Comments) > 0 {
		return "no program, several commands or a comment (#)"
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil || found != "" {
			return false
		}
		plain := true
		switch n := n.(type) {
		case *syntax.File, *syntax.Lit:
		case *syntax.Stmt:
			plain = !n.Background && !n.Coprocess && !n.Disown && !n.Negated && len(n.Redirs) == 0 &&
				!n.Semicolon.IsValid()
		case *syntax.BinaryCmd:
			found = fmt.Sprintf("an operator (%s)", n.Op)
		case *syntax.CallExpr:
			plain = len(n.Assigns) == 0
		case *syntax.Word:
			found = expands(n)
		case *syntax.DblQuoted:
			plain = !n.Dollar
		case *syntax.SglQuoted:
			plain = !n.Dollar
		default:
			plain = false
		}
		if !plain {
			found = fmt.Sprintf("what only a shell reads: %.60q", command[n.Pos().Offset():n.End().Offset()])
		}
		return found == ""
	})
	return found
}

// expands returns the expansion that a shell would make in the parts of a word without quotes;
// "" for none.
func expands(w *syntax.Word) string {
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		if i == 0 && strings.HasPrefix(lit.Value, "~") {
			return "an expansion (~)"
		}
		for i := 0; i < len(lit.Value); i++ {
			switch c := lit.Value[i]; {
			case c == '\\' && i+1 == len(lit.Value):
				return "a backslash at its end"
			case c == '\\':
				i++
			case strings.IndexByte("*?[", c) >= 0:
				return fmt.Sprintf("a pattern for file names (%c)", c)
			case c == '{' && strings.ContainsAny(lit.Value[i:], ",.") && strings.ContainsRune(lit.Value[i:], '}'):
				return "an expansion ({...})"
			}
		}
	}
	return ""
}
