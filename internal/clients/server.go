package clients

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Server has the data that a client needs to reach this server: either a
// command to start or the URL of a running server.
type Server struct {
	Name    string   // the entry's name: letters, digits, "-" and "_"
	Command string   // a program to start; best absolute, as clients have their own PATH
	Args    []string // its arguments
	Env     map[string]string

	URL     string            // the address of a streamable HTTP server
	Headers map[string]string // sent with each request, as they are

	// TokenEnv names an environment variable that holds a bearer token. The
	// client reads it, so the token itself stands in no file.
	TokenEnv string
}

var (
	nameRule   = text.Pattern(`^[A-Za-z0-9_-]+$`)
	envRule    = text.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerRule = text.Pattern("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// Check returns the error in s for any client.
func (s Server) Check() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	switch {
	case s.Command == "" && s.URL == "":
		return errors.New("a server needs a command to start or a URL")
	case s.Command != "" && s.URL != "":
		return errors.New("a server has a command or a URL, not both")
	case s.URL != "":
		return s.checkRemote()
	case len(s.Headers) > 0 || s.TokenEnv != "":
		return errors.New("headers and tokens are for servers with a URL; commands get secrets from the environment")
	}
	for key := range s.Env {
		if !envRule().MatchString(key) {
			return fmt.Errorf("%q cannot be the name of an environment variable", key)
		}
	}
	for _, text := range slices.Concat([]string{s.Command}, s.Args, slices.Collect(maps.Values(s.Env))) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%q is not text that a settings file can hold", text)
		}
	}
	return nil
}

func checkName(name string) error {
	if len(name) > 64 || !nameRule().MatchString(name) {
		return fmt.Errorf("the server cannot be called %q: use 1 to 64 letters, digits, \"-\" and \"_\"", name)
	}
	return nil
}

func (s Server) checkRemote() error {
	if len(s.Args) > 0 || len(s.Env) > 0 {
		return errors.New("arguments and environment are for servers with a command, this one has a URL")
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("%q is not an address of the form https://host/mcp", s.URL)
	}
	if u.User != nil {
		return errors.New("the address holds a user or a password; send a token in a header instead")
	}
	if s.TokenEnv != "" && !envRule().MatchString(s.TokenEnv) {
		return fmt.Errorf("%q cannot be the name of an environment variable", s.TokenEnv)
	}
	for key, value := range s.Headers {
		if !headerRule().MatchString(key) || !utf8.ValidString(value) || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("header %q is not one that HTTP can send", key)
		}
	}
	if s.TokenEnv != "" && s.literalToken() {
		return errors.New("both an Authorization header and an environment variable for it; give one")
	}
	return nil
}

// literalToken reports whether the entry contains a credential.
func (s Server) literalToken() bool {
	for key := range s.Headers {
		if strings.EqualFold(key, "Authorization") {
			return true
		}
	}
	return false
}

// A field is one setting of an entry. Its value is a string, a bool, an int, a []string,
// nested fields, or a value that the syntax has read from a file.
type field struct {
	key   string
	value any
}

// fields are the settings of an entry in the order they are written.
type fields []field

func (f fields) has(key string) bool {
	return slices.ContainsFunc(f, func(one field) bool { return one.key == key })
}

// only returns the fields whose keys pass a test.
func (f fields) only(test func(key string) bool) fields {
	return slices.DeleteFunc(slices.Clone(f), func(one field) bool { return !test(one.key) })
}

func sortedFields(m map[string]string) fields {
	out := make(fields, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, field{key, m[key]})
	}
	return out
}

// A shape is the form of an entry for one client.
type shape struct {
	stdioType string // value of "type" for a command; "" leaves the key out
	command   string // key of the command
	list      bool   // the command is a list with the arguments
	env       string // key of the environment
	extra     fields // settings of a new entry that its user may change
	url       string // key of the address; "" where the file knows commands only
	httpType  string // value of "type" for an address
	headers   string // key of the headers
	tokenRef  string // how a header refers to an environment variable
	tokenKey  string // key that takes the name of one instead
}

// entry returns the entry for s in the form of the client.
func (c Client) entry(s Server) (fields, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.URL == "" {
		return c.shape.stdio(s), nil
	}
	switch {
	case c.shape.url == "":
		return nil, fmt.Errorf("the settings file of %s takes no remote servers; %s", c.Title, c.instead)
	case s.TokenEnv != "" && c.shape.tokenRef == "" && c.shape.tokenKey == "":
		return nil, fmt.Errorf("%s does not read tokens from environment variables; omit the variable, "+
			"and add the header Authorization to the entry by hand", c.Title)
	case c.shared && s.literalToken():
		return nil, fmt.Errorf("the file of a project is shared, so it must not contain a token; "+
			"name an environment variable instead, or connect %s without --project", c.Title)
	}
	return c.shape.http(s), nil
}

func (h shape) stdio(s Server) fields {
	var out fields
	if h.stdioType != "" {
		out = append(out, field{"type", h.stdioType})
	}
	if h.list {
		out = append(out, field{h.command, append([]string{s.Command}, s.Args...)})
	} else {
		// The arguments are written even if there are none: not every client has a default for them.
		out = append(out, field{h.command, s.Command}, field{"args", slices.Clone(s.Args)})
	}
	if len(s.Env) > 0 {
		out = append(out, field{h.env, sortedFields(s.Env)})
	}
	return append(out, h.extra...)
}

func (h shape) http(s Server) fields {
	var out fields
	if h.httpType != "" {
		out = append(out, field{"type", h.httpType})
	}
	out = append(out, field{h.url, s.URL})
	headers := maps.Clone(s.Headers)
	if s.TokenEnv != "" && h.tokenKey != "" {
		out = append(out, field{h.tokenKey, s.TokenEnv})
	} else if s.TokenEnv != "" {
		if headers == nil {
			headers = map[string]string{}
		}
		headers["Authorization"] = "Bearer " + fmt.Sprintf(h.tokenRef, s.TokenEnv)
	}
	if len(headers) > 0 {
		out = append(out, field{h.headers, sortedFields(headers)})
	}
	return append(out, h.extra...)
}

// owned reports whether Connect may change a key of an entry. Additions of the user (a timeout,
// a list of trusted tools, an environment variable) stay when the entry is updated.
func (s Server) owned(key string) bool {
	switch key {
	case "type", "command", "cmd", "args", "url", "uri", "httpUrl", "serverUrl", "transport":
		return true
	case "env", "envs", "environment":
		return s.URL != "" || len(s.Env) > 0
	case "headers", "http_headers", "env_http_headers", "bearer_token_env_var":
		return s.URL == "" || len(s.Headers) > 0 || s.TokenEnv != ""
	}
	return false
}
