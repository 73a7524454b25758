package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The most that a command may be.
const (
	maxArgs   = 256
	maxText   = 64 << 10
	maxNested = 4 << 10 // with what a parser goes deeper for
)

// Parse takes a command apart into words as a shell would, if that needs no
// shell: it is one program with its arguments, and each word says what it means.
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
	call, found := only(file)
	if found != "" {
		return nil, unfit(found)
	}
	argv := make([]string, 0, len(call.Args))
	for _, w := range call.Args {
		text, found := plain(w)
		if found != "" {
			return nil, unfit(found)
		}
		argv = append(argv, text)
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
		Try("write one program with its arguments, put what is meant literally into single quotes, or send argv")
}

// checkArgv refuses what no program takes.
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

// only returns the one simple command of a file, or says what else there is.
func only(file *syntax.File) (*syntax.CallExpr, string) {
	switch {
	case len(file.Stmts) == 0:
		return nil, "no program in it"
	case len(file.Stmts) > 1:
		return nil, "several commands"
	case len(file.Last) > 0 || len(file.Stmts[0].Comments) > 0:
		return nil, "a comment (#)"
	}
	s := file.Stmts[0]
	switch {
	case s.Background || s.Coprocess || s.Disown:
		return nil, "an operator (&)"
	case s.Negated:
		return nil, "an operator (!)"
	case len(s.Redirs) > 0:
		return nil, fmt.Sprintf("a redirection (%s)", s.Redirs[0].Op)
	case s.Semicolon.IsValid():
		return nil, "an operator (;)"
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return nil, fmt.Sprintf("an assignment (%s=)", c.Assigns[0].Name.Value)
		}
		return c, ""
	case *syntax.BinaryCmd:
		return nil, fmt.Sprintf("an operator (%s)", c.Op)
	case *syntax.Subshell, *syntax.Block:
		return nil, "a group of commands"
	}
	return nil, "a construct of the shell"
}

// plain returns what a word stands for, or what in it needs a shell.
func plain(w *syntax.Word) (text, found string) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if found := unquoted(&b, p.Value, i == 0); found != "" {
				return "", found
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", "a quote with escapes ($'...')"
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if found := quoted(&b, p); found != "" {
				return "", found
			}
		default:
			return "", expansion(part)
		}
	}
	return b.String(), ""
}

// unquoted writes what a literal without quotes stands for.
func unquoted(b *strings.Builder, lit string, first bool) string {
	if first && strings.HasPrefix(lit, "~") {
		return "an expansion (~)"
	}
	for i := 0; i < len(lit); i++ {
		switch c := lit[i]; {
		case c == '\\' && i+1 == len(lit):
			return "a backslash at its end"
		case c == '\\':
			i++
			if lit[i] != '\n' {
				b.WriteByte(lit[i])
			}
		case strings.IndexByte("*?[", c) >= 0:
			return fmt.Sprintf("a pattern for file names (%c)", c)
		case c == '{' && strings.ContainsAny(lit[i:], ",.") && strings.ContainsRune(lit[i:], '}'):
			return "an expansion ({...})"
		default:
			b.WriteByte(c)
		}
	}
	return ""
}

// quoted writes what double quotes stand for.
func quoted(b *strings.Builder, q *syntax.DblQuoted) string {
	if q.Dollar {
		return `a translated quote ($"...")`
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return expansion(part)
		}
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' && i+1 < len(lit.Value) && strings.IndexByte("\\\"$`\n", lit.Value[i+1]) >= 0 {
				i++
				if c = lit.Value[i]; c == '\n' {
					continue
				}
			}
			b.WriteByte(c)
		}
	}
	return ""
}

func expansion(part syntax.WordPart) string {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		return "a substitution ($(...) or backquotes)"
	case *syntax.ParamExp:
		if p.Param != nil {
			return fmt.Sprintf("a variable ($%s)", p.Param.Value)
		}
		return "a variable ($)"
	case *syntax.ProcSubst:
		return "a substitution (<(...))"
	case *syntax.ArithmExp:
		return "arithmetic ($((...)))"
	case *syntax.ExtGlob:
		return "a pattern for file names"
	}
	return "an expansion"
}
