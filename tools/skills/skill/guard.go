package skill

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Finding is something in a skill that a person would want to know of.
type Finding struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	What string `json:"what"`
}

// String is the place and what is there.
func (f Finding) String() string { return fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.What) }

const (
	mostFindings = 40
	mostPart     = 8 << 10 // bytes of a line that are looked at together
	overlap      = 512
)

// A sign is what a line looks like that does harm, or may. It has one of some
// words, so that most texts are through without a closer look.
type sign struct {
	what  string
	words []string
	look  *regexp.Regexp
}

func compile(what, look string, words ...string) sign {
	return sign{what, words, regexp.MustCompile(`(?i)` + look)}
}

// signs are looked for in all texts of a skill. Each is something that an
// honest skill seldom needs and a wicked one often does.
func signs() []sign {
	const fetch = `\b(curl|wget|fetch|iwr|invoke-webrequest)\b`
	return []sign{
		compile("removes everything", `\brm\s+(-\w+\s+)*-\w*(r\w*f|f\w*r)\w*\s+(-\S+\s+)*["']?(/|~|\$\{?home\b)["']?(\s|/?\*|["';|&)]|/?$)`, "rm "),
		compile("starts processes without end", `:\s*\(\s*\)\s*\{[^}]*:\s*\|\s*:`, ":|:", ": |"),
		compile("overwrites a device", `\bdd\b.*\bof=/dev/|>\s*/dev/(sd|nvme|hd|vd|disk|mem)`, "/dev/"),
		compile("formats or shreds a disk", `\b(mkfs(\.\w+)?|shred|wipefs)\s+\S`, "mkfs", "shred", "wipefs"),
		compile("runs what it has downloaded", fetch+`[^|;&]*[|]\s*(sudo\s+)?(\S*/)?(ba|z|da|k|fi)?sh\b|`+fetch+`[^|;&]*[|]\s*(sudo\s+)?(python|perl|ruby|node|iex)`, "curl", "wget", "fetch", "iwr", "invoke-webrequest"),
		compile("runs what it has downloaded", `\b(ba|z)?sh\s+(-c\s+["']?\$\(|<\(\s*)(curl|wget)\b|\beval\b.{0,20}\b(curl|wget)\b|\biex\b.{0,80}(downloadstring|iwr\b)`, "curl", "wget", "iex"),
		compile("runs what it has decoded", `base64\s+(-d|--decode|-D)\b.*\|\s*(sudo\s+)?\S*(sh|python\S*|perl|node)\b|\b(eval|exec)\s*\(?\s*.{0,40}(base64|b64decode|atob|fromhex)`, "base64", "b64decode", "atob", "fromhex"),
		compile("hides which module it loads", `__import__\s*\(\s*['"](os|subprocess|pty|ctypes|socket)`, "__import__"),
		compile("opens a way in from outside", `/dev/tcp/\S|\b(nc|ncat|netcat)\b.*\s-\w*[ec]\b`, "/dev/tcp/", "nc ", "ncat", "netcat"),
		compile("reads the system's passwords", `/etc/(shadow|passwd|sudoers)\b`, "/etc/"),
		compile("reads keys", `\.ssh/(id_|authorized_keys)|\.aws/credentials|\.gnupg/|\.kube/config|\.docker/config\.json|\.netrc\b|\.npmrc\b|login\.keychain`, ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc", ".npmrc", "keychain"),
		compile("sends out what is in the environment", `\b(curl|wget|nc|http\.post|requests\.post|fetch)\b.*(\$\{?\w*(key|secret|token|pass)\w*|\$\{?home\b|\$\(\s*(env|printenv|whoami)|os\.environ|process\.env)`, "curl", "wget", "nc ", "post", "fetch"),
		compile("names secrets of the server", `\b(aws_secret_access_key|github_token|openai_api_key|anthropic_api_key)\b`, "aws_secret", "github_token", "openai_api", "anthropic_api"),
		compile("becomes an administrator", `(^|[\s;&|(`+"`"+`"'])(sudo|doas)\s+\S|\bchown\s+(-\w+\s+)*root\b|\bsetcap\b`, "sudo", "doas", "chown", "setcap"),
		compile("lets everybody write", `\bchmod\s+(-\w+\s+)*([0-7]?[0-7]{2}[2367]|[auo]*o[auo]*\+\w*w|a\+\w*w)\b`, "chmod"),
		compile("leads far out of its directory", `\.\.[/\\]\.\.[/\\]\.\.[/\\]`, "../../../", `..\..\..\`),
		compile("drops tables", `\b(drop|truncate)\s+(table|database|schema)\b`, "drop", "truncate"),
		compile("tells the reader to forget its orders", `\b(ignore|disregard|forget)\b.{0,30}\b(previous|prior|above|earlier|system|all)\b.{0,20}\b(instructions?|prompts?|rules?|orders)\b`, "ignore", "disregard", "forget"),
		compile("tells the reader to keep something from people", `\b(do not|don't|never|without)\s+(tell|telling|inform\w*|mention\w*|show\w*|ask\w*)\s+(it\s+to\s+)?(the\s+)?(user|human|operator)`, "user", "human", "operator"),
	}
}

// A Guard looks through texts.
type Guard struct{ signs []sign }

// NewGuard makes a guard.
func NewGuard() *Guard { return &Guard{signs()} }

// Look tells what it finds in a text; when that is much, not all of it.
func (g *Guard) Look(path, text string) (list []Finding) {
	text = strings.TrimPrefix(text, "\ufeff")
	low := strings.ToLower(text)
	var near []sign
	for _, s := range g.signs {
		if s.near(low) {
			near = append(near, s)
		}
	}
	no := 0
	for row := range strings.Lines(text) {
		no++
		if r, ok := unseen(row); ok {
			list = append(list, Finding{path, no, fmt.Sprintf("has the character %U, which is not seen", r)})
		}
		for part := range parts(strings.TrimRight(row, "\r\n")) {
			low := strings.ToLower(part)
			for _, s := range near {
				if s.near(low) && s.look.MatchString(part) {
					list = append(list, Finding{Path: path, Line: no, What: s.what})
				}
			}
		}
		if len(list) >= mostFindings {
			return list[:mostFindings]
		}
	}
	return list
}

// parts are a line in pieces that overlap, so that nothing is torn by a border.
func parts(row string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(row) > mostPart {
			if !yield(row[:mostPart]) {
				return
			}
			row = row[mostPart-overlap:]
		}
		yield(row)
	}
}

func (s sign) near(low string) bool {
	for _, word := range s.words {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// unseen finds a character that hides something: control characters, those
// that turn the direction of what follows, tags, and blanks without width.
// Joiners and selectors stay, which emoji and some scripts cannot do without.
func unseen(row string) (rune, bool) {
	for _, r := range row {
		switch {
		case r < utf8.RuneSelf && r >= ' ' && r != 0x7f, r == '\n', r == '\t', r == '\r', r == '\f':
		case r == 0x200c, r == 0x200d, r >= 0xfe00 && r <= 0xfe0f, r == 0xa0, r == 0xad, r == 0x3000, r >= 0x2000 && r <= 0x200a, r == 0x202f:
		case tool.Hidden(r):
			return r, true
		}
	}
	return 0, false
}
