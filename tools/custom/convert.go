package custom

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Seed is a tool of goclaw: a shell command with {{.key}} in place of an argument.
type Seed struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Parameters  map[string]any    `json:"parameters"`
	Command     string            `json:"command"`
	Dir         string            `json:"working_dir"`
	Seconds     int               `json:"timeout_seconds"`
	Env         map[string]string `json:"env"`
	Agent       string            `json:"agent_id"`
	Enabled     *bool             `json:"enabled"`
}

// ParseSeeds reads one tool of goclaw, or a list of them, or null.
func ParseSeeds(text []byte) (all []Seed, err error) {
	if strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
		err = json.Unmarshal(text, &all)
		return all, err
	}
	var one Seed
	err = json.Unmarshal(text, &one)
	return []Seed{one}, err
}

// Convert returns the definition that does the same without a shell, or the reason why there is
// none. Variables with values are for the vault: their names are returned.
func Convert(s Seed) (d Definition, secrets []string, err error) {
	d = Definition{
		Name: s.Name, Description: s.Description, Parameters: s.Parameters, Agent: s.Agent, Dir: s.Dir,
		Disabled: s.Enabled != nil && !*s.Enabled,
	}
	if s.Seconds > 0 {
		d.Timeout = fmt.Sprintf("%ds", s.Seconds)
	}
	for name := range s.Env {
		secret := strings.ToLower(s.Name + "_" + name)
		if d.Env == nil {
			d.Env = map[string]string{}
		}
		d.Env[name] = "{{secret:" + secret + "}}"
		secrets = append(secrets, secret)
	}
	slices.Sort(secrets)
	if d.Command, err = convertCommand(s.Command); err != nil {
		return d, nil, err
	}
	return d, secrets, d.check()
}

// held stands for a placeholder while the shell text is parsed: letters that no command has.
const held, heldEnd = "\uE000", "\uE001"

// convertCommand converts a shell command of one program with words.
func convertCommand(command string) ([]Words, error) {
	text, err := hold(command)
	if err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("the shell text cannot be read: %s", release(err.Error()))
	}
	if len(file.Stmts) != 1 {
		return nil, fmt.Errorf("it has %d commands; only one program with arguments can do without a shell",
			len(file.Stmts))
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	switch {
	case !ok:
		return nil, errors.New(
			"it needs a shell: pipes, &&, loops and the like; put it into a script file, and make that the command")
	case len(st.Redirs) > 0 || st.Background || st.Negated || st.Coprocess:
		return nil, fmt.Errorf("it needs a shell: it redirects, negates or runs in the background")
	case len(call.Assigns) > 0:
		return nil, fmt.Errorf("it sets variables before the program; use env")
	}
	var words []string
	for _, w := range call.Args {
		word, err := literal(w.Parts)
		if err != nil {
			return nil, err
		}
		words = append(words, release(word))
	}
	if len(words) == 0 || strings.Contains(words[0], "{{") {
		return nil, fmt.Errorf("an argument chooses the program")
	}
	if code := codeWord(words); code != "" {
		return nil,
			fmt.Errorf("%s runs the text %q as code, so an argument could become code; pass it as an argument of a "+
				"script file instead", words[0], code)
	}
	all := make([]Words, len(words))
	for i, word := range words {
		all[i] = Words{word}
	}
	return all, nil
}

// hold replaces {{.key}} by a word that the shell does not interpret.
func hold(command string) (string, error) {
	if strings.Contains(command, held) || strings.Contains(command, heldEnd) {
		return "", fmt.Errorf("it has characters of private use")
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(command, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}}")
		name, dot := strings.CutPrefix(strings.TrimSpace(inside), ".")
		if _, err := parse("{{" + name + "}}"); !closed || !dot || err != nil || strings.HasPrefix(name, "secret:") {
			return "", fmt.Errorf("{{%s}} is not {{.key}}", inside)
		}
		b.WriteString(held + name + heldEnd)
		command = after
	}
}

// release returns the text with placeholders as definitions have them.
func release(text string) string {
	return strings.NewReplacer(held, "{{", heldEnd, "}}").Replace(text)
}

// literal returns a word that means only itself, apart from placeholders.
func literal(parts []syntax.WordPart) (string, error) {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[~") {
				return "", fmt.Errorf("%q is a pattern that the shell would expand", release(p.Value))
			}
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", fmt.Errorf("$'...' is not read")
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, err := quoted(p.Parts)
			if err != nil {
				return "", err
			}
			b.WriteString(inner)
		default:
			return "", fmt.Errorf("it needs a shell: it has variables or runs commands in a word")
		}
	}
	return b.String(), nil
}

// quoted returns the text within double quotes.
func quoted(parts []syntax.WordPart) (string, error) {
	var b strings.Builder
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", fmt.Errorf("it needs a shell: it has variables or runs commands in a word")
		}
		b.WriteString(strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(lit.Value))
	}
	return b.String(), nil
}

// unescape removes the backslashes of a word without quotes.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// codeWord returns the word with a placeholder that a program would run as code, or "".
func codeWord(words []string) string {
	first := func(from []string) string {
		for _, word := range from {
			if strings.Contains(word, "{{") {
				return word
			}
		}
		return ""
	}
	for i, word := range words {
		switch name := strings.TrimRight(filepath.Base(word), "0123456789."); name {
		case "eval", "source", "trap", "xargs", "parallel", "env", "sudo", "su", "ssh", "watch", "timeout", "nohup",
			"nice",
			"exec", "command", "builtin", "time", "script", "expect", "busybox", "setsid", "stdbuf", "chroot", "doas":
			if i == 0 { // they take programs or code from their arguments
				return first(words[1:])
			}
		case "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "perl", "ruby", "node", "nodejs", "php", "lua",
			"awk",
			"gawk", "mawk", "sed", "osascript", "powershell", "pwsh", "deno", "bun", "tclsh", "R", "Rscript", "psql",
			"mysql",
			"sqlite", "jq", "make", "git", "tar", "find", "vim", "vi", "ed", "gdb":
			if i == 0 && runsCode(name, words[1:]) {
				return first(words[1:])
			}
		}
	}
	return ""
}

// isInterpreter reports whether a program reads code from its arguments after an option such as -c.
func isInterpreter(name string) bool {
	switch strings.TrimRight(filepath.Base(name), "0123456789.") {
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "perl", "ruby", "node", "nodejs", "php", "lua", "osascript",
		"powershell", "pwsh", "deno", "bun", "Rscript":
		return true
	}
	return false
}

// inlineCode returns the word with a placeholder that an interpreter is told to run as code, or "".
func inlineCode(words []string) string {
	if len(words) == 0 || !isInterpreter(words[0]) {
		return ""
	}
	for i, option := range words[1:] {
		option = strings.ToLower(option)
		short := strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--")
		if !short && option != "--eval" && option != "--command" && option != "--print" {
			return "" // the program's own arguments follow
		}
		long := option == "-command" || strings.HasPrefix(option, "--")
		if !long && !strings.HasSuffix(option, "c") && !strings.HasSuffix(option, "e") && !strings.HasSuffix(option, "r") {
			continue
		}
		if i+2 < len(words) && strings.Contains(words[i+2], "{{") {
			return words[i+2]
		}
		return ""
	}
	return ""
}

// runsCode reports whether a program may read one of the words with placeholders as code.
func runsCode(name string, words []string) bool {
	switch name {
	case "make", "vim", "vi", "ed", "gdb":
		return true
	case "awk", "gawk", "mawk", "sed", "jq": // the first word that is no option is code
		code := slices.IndexFunc(words, func(word string) bool { return !strings.HasPrefix(word, "-") })
		return slices.ContainsFunc(words[:code+1], func(word string) bool { return strings.Contains(word, "{{") }) ||
			slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") && len(word) > 1 })
	case "git", "tar", "find":
		return slices.ContainsFunc(words, func(word string) bool {
			return strings.HasPrefix(word, "-") && strings.Contains(word, "{{") || strings.HasPrefix(word, "-exec") ||
				word == "-c" || strings.HasPrefix(word, "--to-command") || strings.HasPrefix(word, "--checkpoint")
		})
	}
	// An interpreter: a file as its first word is a program, and the rest are its arguments.
	return len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "{{"))
}
