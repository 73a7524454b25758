package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Values of a Server.
const (
	TrustNone        = "none"        // annotations are ignored, and changes wait for an operator
	TrustAnnotations = "annotations" // annotations lower the risk of tools
	TrustFull        = "full"        // likewise, and changes are accepted

	AccessAll     = "all"     // all callers that the policy allows
	AccessGranted = "granted" // callers with a grant

	TransportSSE = "sse" // the older transport; otherwise streamable HTTP is tried first
)

// DefaultTimeout is the timeout of calls of a server that has none.
const DefaultTimeout = time.Minute

// A Server describes another MCP server. It has a command or a URL.
type Server struct {
	Command []string `yaml:"command" form:"command" json:"command,omitempty"`
	// Environment and Headers may have secrets: a word secret:NAME stands for a secret of the
	// vault.
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label" json:"environment,omitempty"`
	URL         string            `yaml:"url" form:"url" json:"url,omitempty"`
	Transport   string            `yaml:"transport" enum:"http,sse" json:"transport,omitempty"`
	Headers     map[string]string `yaml:"headers" keys:"header" form:"label" json:"headers,omitempty"`

	Sandbox string   `yaml:"sandbox" enum:"auto,kernel,seatbelt,docker,kubernetes,host" json:"sandbox,omitempty"` // of the command
	Read    []string `yaml:"read" form:"path" json:"read,omitempty"`                                              // directories that the command sees
	Write   []string `yaml:"write" form:"path" json:"write,omitempty"`                                            // directories that it may change
	Hosts   []string `yaml:"hosts" form:"hostport" json:"hosts,omitempty"`                                        // host:port with private addresses that it may reach

	Timeout  time.Duration     `yaml:"timeout" min:"1s" max:"1h" json:"timeout,omitempty"`
	Disabled bool              `yaml:"disabled" json:"disabled,omitempty"`
	Trust    string            `yaml:"trust" enum:"none,annotations,full" json:"trust,omitempty"`
	Access   string            `yaml:"access" enum:"all,granted" json:"access,omitempty"`
	Separate bool              `yaml:"separate" json:"separate,omitempty"`                     // each caller has a connection of its own
	Tools    []string          `yaml:"tools" form:"label" json:"tools,omitempty"`              // names or patterns; nil for all
	Deny     []string          `yaml:"deny" form:"label" json:"deny,omitempty"`                // likewise; they override Tools
	Risks    map[string]string `yaml:"risks" keys:"label" form:"label" json:"risks,omitempty"` // by tool

	Elicitation bool   `yaml:"elicitation" json:"elicitation,omitempty"`         // it may ask the user, through the client
	Sampling    string `yaml:"sampling" form:"budget" json:"sampling,omitempty"` // budget of a caller for our model a day; "": none
	Resources   bool   `yaml:"resources" json:"resources,omitempty"`             // its resources and prompts are passed on
}

// maxName bounds the name of a server, so that names of its tools have room.
const maxName = 32

// CheckName returns why a server cannot have this name, or nil.
func CheckName(name string) error {
	wrong := strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
	if name == "" || len(name) > maxName || wrong || strings.Contains(name, "__") || strings.HasSuffix(name, "_") {
		return tool.Errorf(tool.Invalid, "a server cannot be called %q", name).
			Try("use at most %d lower-case letters, digits, - and single _", maxName)
	}
	return nil
}

// Check returns the error in the description of a server, or nil.
func (s Server) Check() error {
	invalid := func(format string, args ...any) error { return tool.Errorf(tool.Invalid, format, args...) }
	oneOf := func(what, value string, values ...string) error {
		if value == "" || slices.Contains(values, value) {
			return nil
		}
		return invalid("%s cannot be %q", what, value).(*tool.Error).Try("use %s", strings.Join(values, ", "))
	}
	if (len(s.Command) == 0) == (s.URL == "") {
		return invalid("a server has either a command or a URL")
	}
	if s.URL != "" {
		at, err := url.Parse(s.URL)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
			return invalid("the URL of a server begins with https:// or http://, and has no password")
		}
	}
	if len(s.Command) > 0 && s.Command[0] == "" {
		return invalid("the command of the server is empty")
	}
	for _, err := range []error{
		oneOf("the transport", s.Transport, "http", TransportSSE),
		oneOf("the sandbox", s.Sandbox, sandbox.Modes()...),
		oneOf("trust", s.Trust, TrustNone, TrustAnnotations, TrustFull),
		oneOf("access", s.Access, AccessAll, AccessGranted),
	} {
		if err != nil {
			return err
		}
	}
	for name, risk := range s.Risks {
		if _, ok := riskNamed(risk); !ok {
			return invalid("the risk of %q cannot be %q", name, risk).(*tool.Error).
				Try("use reads, writes, destroys or runs")
		}
	}
	for _, list := range [][]string{s.Tools, s.Deny} {
		for _, pattern := range list {
			if _, err := path.Match(pattern, ""); err != nil {
				return invalid("%q is no pattern of names", pattern)
			}
		}
	}
	return nil
}

func riskNamed(name string) (tool.Risk, bool) {
	for _, risk := range []tool.Risk{tool.Reads, tool.Writes, tool.Destroys, tool.Runs} {
		if risk.String() == name {
			return risk, true
		}
	}
	return tool.Runs, false
}

// place identifies the program or the address: if it changes the operator has chosen another
// server.
func (s Server) place() string {
	return digestOfJSON(s.Command, s.URL)
}

// identity identifies the connection of a caller with these settings: callers share one if nothing in it
// differs.
func (s Server) identity(c tool.Caller) string {
	who := ""
	if s.Separate {
		who = c.Principal()
	}
	return digestOfJSON(s.Command, s.Environment, s.URL, s.Transport, s.Headers, s.Sandbox, s.Read, s.Write, s.Hosts, who)
}

func digestOfJSON(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil { // texts, lists and maps of texts
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// with returns s with the overrides of a grant.
func (s Server) with(o Overrides) Server {
	merge := func(base, more map[string]string) map[string]string {
		if len(more) == 0 {
			return base
		}
		both := maps.Clone(base)
		if both == nil {
			both = make(map[string]string)
		}
		maps.Copy(both, more)
		return both
	}
	s.Environment, s.Headers = merge(s.Environment, o.Environment), merge(s.Headers, o.Headers)
	if o.Timeout > 0 {
		s.Timeout = o.Timeout
	}
	return s
}

func (s Server) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// offers reports whether callers get a tool of the server.
func (s Server) offers(name string) bool {
	return !matchesAny(s.Deny, name) && (s.Tools == nil || matchesAny(s.Tools, name))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}

// fillSecrets replaces the words secret:NAME in values.
func fillSecrets(values map[string]string, secret func(string) (string, error)) (map[string]string, error) {
	filled := make(map[string]string, len(values))
	for name, value := range values {
		words := strings.Split(value, " ")
		for i, word := range words {
			of, ok := strings.CutPrefix(word, "secret:")
			if !ok {
				continue
			}
			found, err := secret(of)
			if err != nil {
				return nil, tool.Errorf(tool.Unavailable, "the secret %q is missing", of).
					Try("ask the operator to set it with mcp-tools secrets set %s", of).Because(err)
			}
			words[i] = found
		}
		filled[name] = strings.Join(words, " ")
	}
	return filled, nil
}

// Where describes in one line where the server is.
func (s Server) Where() string {
	if s.URL != "" {
		return s.URL
	}
	return fmt.Sprintf("%s (sandbox %s)", strings.Join(s.Command, " "), orDefault(s.Sandbox, "auto"))
}

func orDefault(value, usual string) string {
	if value == "" {
		return usual
	}
	return value
}
