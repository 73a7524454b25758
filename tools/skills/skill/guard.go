package skill

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Finding is content of a skill that may be dangerous.
type Finding struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	What string `json:"what"`
}

// String returns "PATH:LINE finding".
func (f Finding) String() string { return fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.What) }

const (
	maxFindings = 40
	maxPart     = 8 << 10 // bytes of a line that are matched at once
	overlap     = 512     // bytes that consecutive parts share
)

// A rule matches lines that are or may be dangerous. Only lines with one of its words are matched, so that most texts
// need no regular expression.
type rule struct {
	what    string
	words   []string
	pattern *regexp.Regexp
}

func newRule(what, pattern string, words ...string) rule {
	return rule{what, words, regexp.MustCompile(`(?i)` + pattern)}
}

// rules returns the rules for all texts of a skill. Each matches text that honest skills seldom
// need, and malicious ones often do.
func rules() []rule {
	const (
		fetch  = `\b(curl|wget|fetch|iwr|invoke-webrequest)\b`
		secret = `(\$\{?\w*(key|secret|token|pass)\w*|\$\{?home\b|\$\(\s*(env|printenv|whoami)|` +
			`os\.environ|process\.env)`
	)
	return []rule{
		newRule("removes everything", `\brm\s+(-\w+\s+)*-\w*(r\w*f|f\w*r)\w*\s+(-\S+\s+)*["']?`+
			`(/|~|\$\{?home\b)["']?(\s|/?\*|["';|&)]|/?$)`, "rm "),
		newRule("starts processes without end", `:\s*\(\s*\)\s*\{[^}]*:\s*\|\s*:`, ":|:", ": |"),
		newRule("overwrites a device", `\bdd\b.*\bof=/dev/|>\s*/dev/(sd|nvme|hd|vd|disk|mem)`, "/dev/"),
		newRule("formats or shreds a disk", `\b(mkfs(\.\w+)?|shred|wipefs)\s+\S`, "mkfs", "shred", "wipefs"),
		newRule("runs downloaded code", fetch+`[^|;&]*[|]\s*(sudo\s+)?(\S*/)?(ba|z|da|k|fi)?sh\b|`+
			fetch+`[^|;&]*[|]\s*(sudo\s+)?(python|perl|ruby|node|iex)`,
			"curl", "wget", "fetch", "iwr", "invoke-webrequest"),
		newRule("runs downloaded code", `\b(ba|z)?sh\s+(-c\s+["']?\$\(|<\(\s*)(curl|wget)\b|`+
			`\beval\b.{0,20}\b(curl|wget)\b|\biex\b.{0,80}(downloadstring|iwr\b)`, "curl", "wget", "iex"),
		newRule("runs decoded code",
			`base64\s+(-d|--decode|-D)\b.*\|\s*(sudo\s+)?\S*(sh|python\S*|perl|node)\b|`+
				`\b(eval|exec)\s*\(?\s*.{0,40}(base64|b64decode|atob|fromhex)`,
			"base64", "b64decode", "atob", "fromhex"),
		newRule("hides which module it loads", `__import__\s*\(\s*['"](os|subprocess|pty|ctypes|socket)`, "__import__"),
		newRule("opens a shell to the network", `/dev/tcp/\S|\b(nc|ncat|netcat)\b.*\s-\w*[ec]\b`,
			"/dev/tcp/", "nc ", "ncat", "netcat"),
		newRule("reads the system's passwords", `/etc/(shadow|passwd|sudoers)\b`, "/etc/"),
		newRule("reads keys", `\.ssh/(id_|authorized_keys)|\.aws/credentials|\.gnupg/|\.kube/config|`+
			`\.docker/config\.json|\.netrc\b|\.npmrc\b|login\.keychain`,
			".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc", ".npmrc", "keychain"),
		newRule("sends environment variables", `\b(curl|wget|nc|http\.post|requests\.post|fetch)\b.*`+secret,
			"curl", "wget", "nc ", "post", "fetch"),
		newRule("names secrets of the server",
			`\b(aws_secret_access_key|github_token|openai_api_key|anthropic_api_key)\b`,
			"aws_secret", "github_token", "openai_api", "anthropic_api"),
		newRule("becomes an administrator",
			`(^|[\s;&|(`+"`"+`"'])(sudo|doas)\s+\S|\bchown\s+(-\w+\s+)*root\b|\bsetcap\b`,
			"sudo", "doas", "chown", "setcap"),
		newRule("lets all users write",
			`\bchmod\s+(-\w+\s+)*([0-7]?[0-7]{2}[2367]|[auo]*o[auo]*\+\w*w|a\+\w*w)\b`, "chmod"),
		newRule("leaves its directory", `\.\.[/\\]\.\.[/\\]\.\.[/\\]`, "../../../", `..\..\..\`),
		newRule("drops tables", `\b(drop|truncate)\s+(table|database|schema)\b`, "drop", "truncate"),
		newRule("asks to ignore instructions", `\b(ignore|disregard|forget)\b.{0,30}`+
			`\b(previous|prior|above|earlier|system|all)\b.{0,20}\b(instructions?|prompts?|rules?|orders)\b`,
			"ignore", "disregard", "forget"),
		newRule("asks to hide something from the user", `\b(do not|don't|never|without)\s+`+
			`(tell|telling|inform\w*|mention\w*|show\w*|ask\w*)\s+(it\s+to\s+)?(the\s+)?(user|human|operator)`,
			"user", "human", "operator"),
	}
}

// A Guard checks texts for dangerous content.
type Guard struct{ rules []rule }

// NewGuard compiles the rules.
func NewGuard() *Guard { return &Guard{rules()} }

// Check returns the findings in a text, at most maxFindings.
func (g *Guard) Check(path, text string) (list []Finding) {
	text = strings.TrimPrefix(text, "\ufeff")
	lower := strings.ToLower(text)
	var candidates []rule
	for _, r := range g.rules {
		if r.hasWord(lower) {
			candidates = append(candidates, r)
		}
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if r, ok := invisible(line); ok {
			list = append(list, Finding{path, number, fmt.Sprintf("has the invisible character %U", r)})
		}
		for part := range parts(strings.TrimRight(line, "\r\n")) {
			lower := strings.ToLower(part)
			for _, r := range candidates {
				if r.hasWord(lower) && r.pattern.MatchString(part) {
					list = append(list, Finding{Path: path, Line: number, What: r.what})
				}
			}
		}
		if len(list) >= maxFindings {
			return list[:maxFindings]
		}
	}
	return list
}

// parts splits a line into overlapping parts, so that no match is cut by a border.
func parts(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(line) > maxPart {
			if !yield(line[:maxPart]) {
				return
			}
			line = line[maxPart-overlap:]
		}
		yield(line)
	}
}

func (r rule) hasWord(lower string) bool {
	for _, word := range r.words {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// invisible returns the first character of a line that can hide something: control characters,
// characters that change the direction of text, tags, and spaces without width. It ignores
// joiners, variation selectors and the spaces of typography: emoji and some scripts need them.
func invisible(line string) (rune, bool) {
	for _, r := range line {
		switch {
		case r < utf8.RuneSelf && r >= ' ' && r != 0x7f, r == '\n', r == '\t', r == '\r', r == '\f':
		case r == 0x200c, r == 0x200d, r >= 0xfe00 && r <= 0xfe0f:
		case r == 0xa0, r == 0xad, r == 0x3000, r >= 0x2000 && r <= 0x200a, r == 0x202f:
		case tool.Hidden(r):
			return r, true
		}
	}
	return 0, false
}
