package config

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A form is a constraint on text. The pattern says as much as a regular expression
// can, so that editors can check it too; check does the rest.
type form struct {
	words   string // describes valid text
	pattern string // matches the whole text; RE2 and ECMAScript read it alike
	plain   bool   // needs no words in the reference
	hide    bool   // an invalid text may be a secret, so errors do not repeat it
	check   func(text string) error
	settle  func(text string, at origin) (string, error) // returns the value of the text; nil: the text itself
}

// An origin is the base of relative paths.
type origin struct {
	dir  string // of the file, or the working directory
	home string
}

// Forms with a meaning beyond the text.
const (
	// Profile is the form of the name of a profile of the policy, AnyProfile the form of such a name or * for all.
	Profile    = "profile"
	AnyProfile = "profile or *"
	// FormSecret, FormURL and FormHostPort are forms that packages with a Declared look for.
	FormSecret, FormURL, FormHostPort = "secret", "url", "hostport"

	ownPath = "own path" // of a file or a directory that only the operator may change
)

const anyText = `[\s\S]+`

// formNamed returns the form with a name. An unknown form accepts nothing, so that
// a misspelled tag does not pass the tests.
func formNamed(name string) form {
	switch name {
	case "address":
		return form{words: "an address such as 127.0.0.1:8080, or :8080 for all interfaces",
			pattern: `(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*):[0-9]{1,5}`, check: checkAddress}
	case "url":
		return form{
			words: "a URL such as https://host/path, without a password", hide: true,
			pattern: `https?://[^\s/?#@]+[^\s#@]*`, check: checkURL,
		}
	case "proxy":
		return form{words: "a URL such as http://host:3128 or socks5://host:1080, without a password", hide: true,
			pattern: `(https?|socks5h?)://[^\s/?#@]+/?`, check: checkURL}
	case "site":
		return form{
			words: "a host name such as mcp.example.com, with or without a port, or an origin such as " +
				"https://app.example.com, without a path",
			pattern: `[a-z][a-z0-9+.-]*://[a-z0-9._-]+(:[0-9]{1,5})?|` +
				`(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?`,
		}
	case "host":
		return form{words: "a host name such as mcp.example.com, with or without a port",
			pattern: `(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?`}
	case "hostport":
		return form{
			words:   "a host with its port, such as wiki.corp:8080",
			pattern: `(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}`,
		}
	case "hosts":
		return form{words: "a host such as example.org, *.example.org for all beneath it, or *, with or without a port",
			pattern: `(\*|\[[0-9A-Fa-f:.]+\]|(\*\.)?[A-Za-z0-9._-]+)(:[0-9]{1,5})?`}
	case "prefix":
		return form{words: "a host such as api.example.com or *.example.com:8443, with or without a path such as /v1/",
			pattern: `(\*|\[[0-9A-Fa-f:.]+\]|(\*\.)?[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[^\s?#]*)?`}
	case "path", ownPath:
		return form{
			words: "a path; relative ones begin where the file is", plain: true, pattern: anyText, settle: settlePath,
		}
	case "sha256":
		return form{words: "the SHA-256 of the token: 64 hexadecimal digits", hide: true, pattern: `[0-9a-fA-F]{64}`,
			settle: func(text string, _ origin) (string, error) { return strings.ToLower(text), nil }}
	case "secret":
		return form{
			words: "a reference to a secret: " + secretWords, hide: true, pattern: secretPattern,
			settle: settleSecret,
		}
	case "store":
		return storeForm()
	case "pattern":
		return form{words: "a regular expression (RE2)", pattern: anyText, check: checkPattern}
	case "glob":
		return form{words: "a pattern as in .gitignore, on one line", pattern: `[^\x00-\x1f\x7f]+`}
	case "skill":
		return form{words: "the name of a skill, in which * stands for any characters; with ! before it, it is hidden",
			pattern: `!?[a-z0-9*-]{1,64}`}
	case "exception":
		return form{words: "text, or a regular expression (RE2) after re:", pattern: anyText, check: checkException}
	case "name":
		return form{
			words: "a name of up to 64 letters, digits, and . _ - @", pattern: `[A-Za-z0-9][A-Za-z0-9._@-]{0,63}`,
		}
	case "label", Profile, AnyProfile:
		return form{words: "up to 256 characters on one line", plain: true, pattern: `[^\x00-\x1f\x7f]{1,256}`}
	case "scope":
		return form{words: "a scope of OAuth, without spaces", pattern: `[\x21\x23-\x5b\x5d-\x7e]+`}
	case "command":
		return form{words: "a command on one line", pattern: `[^\x00-\x1f\x7f]+`}
	case "ocr":
		return form{words: "a language such as eng, deu or chi_sim", pattern: `[A-Za-z]{2,10}(_[A-Za-z]{1,10}){0,2}`}
	case "variable":
		return form{words: "the name of a variable", pattern: `[A-Za-z_][A-Za-z0-9_]*`}
	case "engine":
		return form{
			words:   "an engine such as unix:///var/run/docker.sock or tcp://host:2376",
			pattern: `(unix|tcp|npipe)://[^\s]+`,
		}
	case "price":
		return form{
			words:   "dollars per million tokens of input and of output, such as 3/15",
			pattern: `[0-9]+(\.[0-9]+)?/[0-9]+(\.[0-9]+)?`,
		}
	case "target":
		return form{
			words: "CHANNEL:ID for a chat, CHANNEL:ID:topic:TOPIC for a topic in it, CHANNEL:* for all of a channel, " +
				"or * for all",
			pattern: `\*|[A-Za-z0-9][A-Za-z0-9._@-]{0,63}:[^\x00-\x1f\x7f]{1,256}`,
		}
	case "clock":
		return form{words: "a time of day such as 22:30", pattern: `([01][0-9]|2[0-3]):[0-5][0-9]`}
	case "dollars":
		return form{words: "an amount of dollars such as $0.50", pattern: `\$[0-9]{1,8}(\.[0-9]{1,6})?`}
	case "budget":
		const tokens, money = `[1-9][0-9]{0,14} tokens`, `\$[0-9]{1,8}(\.[0-9]{1,6})?`
		return form{
			words:   "a limit such as 500000 tokens, or $5, or both with a comma",
			pattern: tokens + "(, ?" + money + ")?|" + money + "(, ?" + tokens + ")?",
		}
	case "header":
		return form{words: "the name of a header", pattern: "[A-Za-z0-9!#$%&'*+.^_`|~-]+"}
	}
	return form{words: "nothing", pattern: `[^\s\S]`}
}

// writtenForm returns the form of a type with its own syntax.
func writtenForm(t reflect.Type) form {
	switch t {
	case reflect.TypeFor[Duration](), reflect.TypeFor[time.Duration]():
		return form{words: "a duration such as 30s, 5m or 1d12h", pattern: durationPattern}
	case reflect.TypeFor[Size]():
		return form{words: "a size such as 512B, 100KiB or 5MiB", pattern: sizePattern}
	}
	return form{words: "text", pattern: anyText}
}

func checkAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(port); err != nil || n > 65535 {
		return errors.New("the port is not below 65536")
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return errors.New("not a URL")
	}
	return nil
}

func checkPattern(text string) error {
	_, err := regexp.Compile(text)
	return err
}

func checkException(text string) error {
	if pattern, ok := strings.CutPrefix(text, "re:"); ok {
		return checkPattern(pattern)
	}
	return nil
}

// settlePath makes a path absolute. Relative paths start at the file, wherever the
// program is started.
func settlePath(path string, at origin) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if at.home == "" {
			return "", errors.New("the home directory is not known; write the whole path")
		}
		return filepath.Join(at.home, path[1:]), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Abs(filepath.Join(at.dir, path))
}

func settleSecret(text string, at origin) (string, error) {
	path, isFile := strings.CutPrefix(text, "file:")
	if !isFile {
		return text, nil
	}
	path, err := settlePath(path, at)
	return "file:" + path, err
}
