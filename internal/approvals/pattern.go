package approvals

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const maxPattern = 1000

// checkPattern returns an error if a pattern is invalid or misleading.
func checkPattern(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > maxPattern:
		return fmt.Errorf("a pattern must have 1 to %d bytes", maxPattern)
	case strings.ContainsFunc(pattern, invisible):
		return fmt.Errorf("the pattern %q has invisible characters", pattern)
	case strings.Contains(pattern, "***"):
		return fmt.Errorf("the pattern %q has three stars in a row; use ** to match everything", pattern)
	}
	return nil
}

// invisible reports whether c is invisible or replaces invalid UTF-8.
func invisible(c rune) bool { return c == utf8.RuneError || tool.Hidden(c) }

// matchesPattern reports whether the whole text matches: * matches any characters
// but a slash, ** any characters, ? one character but a slash. A text that may be
// misread, with .. or a backslash for example, matches nothing.
func matchesPattern(pattern, text string) bool {
	if strings.ContainsFunc(text, invisible) || strings.Contains(text, `\`) ||
		slices.Contains(strings.Split(text, "/"), "..") || len(text) > maxText {
		return false
	}
	re, err := regexp.Compile(`(?s)\A` + wildcards.Replace(regexp.QuoteMeta(pattern)) + `\z`)
	return err == nil && re.MatchString(text)
}

// maxText limits the time of a comparison.
const maxText = 64 << 10

// wildcards maps the quoted wildcards of a pattern to wildcards of a regexp.
var wildcards = strings.NewReplacer(`\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)
