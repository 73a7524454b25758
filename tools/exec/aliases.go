package exec

import (
	"context"
	"strings"
)

// withAliases replaces the names that file tools have for directories, such as
// file_cache_dir/, by the paths that a command sees, in words that begin with one.
func (t execTool) withAliases(ctx context.Context, a execArgs) execArgs {
	for _, alias := range []string{"workspace_dir", "file_cache_dir", "file_state_dir"} {
		if !strings.Contains(a.Command+strings.Join(a.Argv, " "), alias) {
			continue
		}
		site, err := t.site(ctx, alias, a.Elevated)
		if err != nil || strings.ContainsAny(site.Dir, " \t\n\"'\\$`;|&<>()*?[]{}") {
			continue // it is a name like others, or a shell would read the path in another way
		}
		after := afterWord
		if a.InPS {
			after += "\\"
		}
		a.Command = replaceWords(a.Command, alias, site.Dir, after)
		argv := make([]string, len(a.Argv))
		for i, word := range a.Argv {
			if argv[i] = word; word == alias || strings.HasPrefix(word, alias+"/") {
				argv[i] = site.Dir + word[len(alias):]
			}
			if a.InPS {
				argv[i] = replaceWords(argv[i], alias, site.Dir, after)
			}
		}
		a.Argv = argv
	}
	return a
}

// The characters of shells before and after a word, or its first directory.
const (
	beforeWord = " \t\n\"'=:(<>|;&"
	afterWord  = " \t\n\"');|&<>/"
)

// replaceWords replaces old where it is a word of a shell's text, or the first
// directory of one.
func replaceWords(text, old, with, after string) string {
	var b strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], old)
		if at < 0 {
			return b.String() + text[from:]
		}
		begin, end := from+at, from+at+len(old)
		b.WriteString(text[from:begin])
		if (begin == 0 || strings.IndexByte(beforeWord, text[begin-1]) >= 0) &&
			(end == len(text) || strings.IndexByte(after, text[end]) >= 0) {
			b.WriteString(with)
		} else {
			b.WriteString(old)
		}
		from = end
	}
}
