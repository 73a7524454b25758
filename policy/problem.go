package policy

import (
	"regexp"
	"strconv"
)

// Severity is the severity of a Problem.
type Severity uint8

// An Error makes the rules unusable. A Warning is about a rule that has no
// effect, which is probably a mistake.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the severity as a word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Problem is something in the rules that their author should know.
type Problem struct {
	Path     string   `json:"path"` // within the policy section: agents.researcher.allow[2]
	Text     string   `json:"text"`
	Nearest  string   `json:"nearest,omitempty"` // the most similar valid name
	Severity Severity `json:"severity"`
}

func (p Problem) String() string {
	text := p.Path + ": " + p.Text
	if p.Nearest != "" {
		text += "; did you mean " + quote(p.Nearest) + "?"
	}
	return text
}

func (k *compiler) report(s Severity, path, text, nearest string) {
	k.problems = append(k.problems, Problem{path, text, nearest, s})
}

var plainKey = regexp.MustCompile(`^[^\s."\[\]]+$`)

// under extends a path by the key of a map. It quotes a key that could be read as
// a longer path.
func under(path, key string) string {
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	return path + "." + key
}

func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// quote quotes text from the rules or from a request.
func quote(s string) string { return strconv.Quote(s) }

// unknownProfile returns the text of the problem that a profile does not exist,
// and the nearest name.
func unknownProfile(name string, names []string) (text, nearest string) {
	return "there is no profile " + quote(name), Nearest(name, names)
}
