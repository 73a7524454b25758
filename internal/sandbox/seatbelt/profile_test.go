package seatbelt

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// workspaces have names that would break a profile in which they were text.
func workspaces() map[string]access {
	plain := func(dir string) access { return access{Binds: []sandbox.Bind{{Host: dir, Write: true}}} }
	nested := plain("/Users/ann/src")
	nested.Binds = append(nested.Binds, sandbox.Bind{Host: "/Users/ann/src/vendor"},
		sandbox.Bind{Host: "/opt/data/caches/1", Write: true}, sandbox.Bind{Host: "/opt/tools"})
	nested.Hidden = []string{"/Users/ann/src/.env", "/Users/ann/src/a/secret"}
	nested.Locked = []string{"/Users/ann/src/.git/hooks", "/Users/ann/src/.git/config"}
	nested.Private = []string{"/opt/data", "/Users/ann"}
	nested.Ports = []int{49152, 5432}
	return map[string]access{
		"plain":       plain("/Users/ann/src"),
		"nested":      nested,
		"spaces":      plain("/Users/ann/My  Documents "),
		"quotes":      plain(`/Users/ann/"quoted" 'name'`),
		"parentheses": plain(`/Users/ann/x")) (allow default) (deny file-read* (literal "`),
		"backslash":   plain(`/Users/ann/a\"b\\`),
		"unicode":     plain("/Users/ann/Übung/日本語/e\u0301"),
		"newline":     plain("/Users/ann/two\nlines;comment"),
		"regex":       plain(`/Users/ann/.*[a-z]+$#"`),
		"root":        plain("/"),
		"temporary":   plain("/private/var/folders/zz/T/work"),
	}
}

func complete(a access) access {
	a.Home, a.Program = "/private/var/folders/zz/T/mcp-tools-home-1", "/Users/ann/bin/mcp-tools"
	return a
}

func TestGolden(t *testing.T) {
	for name, a := range workspaces() {
		text, parameters := complete(a).profile()
		for _, p := range parameters {
			text += "; " + strconv.Quote(p) + "\n"
		}
		golden.Check(t, "testdata/"+name+".sb", []byte(text))
	}
}

// TestAccess asks the evaluator about operations on paths.
func TestAccess(t *testing.T) {
	const read, write, move, stat = "file-read-data", "file-write-data", "file-write-unlink", "file-read-metadata"
	tests := []question{
		{read, "/usr/lib/libz.dylib", true}, {read, "/opt/homebrew/bin/node", true}, {read, "/private/etc/hosts", true},
		{read, "/Library/Frameworks/Python.framework/x", true}, {"file-map-executable", "/usr/lib/libz.dylib", true},
		{write, "/usr/local/bin/x", false}, {"file-write-create", "/private/tmp/x", false}, {write, "/dev/null", true},
		{write, "/dev/disk0", false}, {"file-ioctl", "/dev/ttys001", true}, {write, "/dev/ttys001x", false},
		{read, "/Users/ann/.ssh/id_ed25519", false}, {read, "/Users/ann/Library/Keychains/login.keychain-db", false},
		{read, "/Library/Keychains/System.keychain", false}, {read, "/Users/bob/x", false}, {read, "/Volumes/disk/x", false},
		{read, "/System/Volumes/Data/Users/ann/.ssh/id", false}, {read, "/private/tmp/x", false},
		{read, "/private/var/folders/zz/T/other", false}, {stat, "/Users/ann", true}, {read, "/Users/ann", false},
		{read, "/Users/ann/bin/mcp-tools", true}, {write, "/Users/ann/bin/mcp-tools", false},
		{read, "/Users/ann/src/main.go", true}, {write, "/Users/ann/src/main.go", true}, {move, "/Users/ann/src/main.go", true},
		{"file-write-create", "/Users/ann/src/new", true}, {"file-write-xattr", "/Users/ann/src/main.go", true},
		{write, "/Users/ann/src2/x", false}, {read, "/Users/ann/src2/x", false},
		{read, "/Users/ann/src/.env", false}, {stat, "/Users/ann/src/.env", false}, {write, "/Users/ann/src/.env", false},
		{move, "/Users/ann/src/.env", false}, {read, "/Users/ann/src/.env.example", true},
		{read, "/Users/ann/src/a/secret/deep", false}, {move, "/Users/ann/src/a", false},
		{"file-write-create", "/Users/ann/src/a/new", true}, {move, "/Users/ann/src/a/x", true},
		{read, "/Users/ann/src/.git/hooks/pre-commit", true}, {write, "/Users/ann/src/.git/hooks/pre-commit", false},
		{"file-write-create", "/Users/ann/src/.git/hooks/new", false}, {move, "/Users/ann/src/.git/hooks", false},
		{move, "/Users/ann/src/.git", false}, {write, "/Users/ann/src/.git/index", true}, {move, "/Users/ann/src", false},
		{read, "/Users/ann/src/vendor/x", true}, {write, "/Users/ann/src/vendor/x", false}, {move, "/Users/ann/src/vendor", false},
		{read, "/opt/data/store.db", false}, {write, "/opt/data/store.db", false}, {write, "/opt/data/caches/1/x", true},
		{read, "/opt/data/caches/2/x", false}, {read, "/opt/tools/x", true}, {write, "/opt/tools/x", false},
		{write, "/private/var/folders/zz/T/mcp-tools-home-1/x", true}, {move, "/private/var/folders/zz/T/mcp-tools-home-1", false},
		{"network-outbound", "/private/var/folders/zz/T/mcp-tools-home-1/s", true},
		{"network-outbound", "/private/var/run/mDNSResponder", false}, {"network-outbound", "/opt/data/commands/proxies/x.sock", false},
		{"network-outbound", "remote localhost:49152", true}, {"network-outbound", "remote localhost:5432", true},
		{"network-outbound", "remote localhost:5433", false}, {"network-outbound", "remote 10.0.0.1:49152", false},
		{"network-inbound", "local localhost:8080", true}, {"network-bind", "local 0.0.0.0:8080", false},
		{"file-link", "/Users/ann/src/main.go", false}, {"file-clone", "/Users/ann/src/main.go", false},
		{"mach-lookup", "name com.apple.SecurityServer", false}, {"mach-lookup", "name com.apple.pasteboard.1", false},
		{"mach-lookup", "name com.apple.system.logger", true}, {"mach-lookup", "name com.apple.coreservices.launchservicesd", false},
		{"process-exec", "/Users/ann/src/tool", true}, {"signal", "target same-sandbox", true}, {"signal", "target others", false},
		{"process-info-pidinfo", "target others", false}, {"appleevent-send", "", false}, {"iokit-open", "", false},
		{"process-fork", "", true}, {"sysctl-read", "", true}, {"system-sched", "", true}, {"pseudo-tty", "", true},
		{"ipc-posix-sem", "", true}, {"process-info-pidinfo", "target same-sandbox", true}, {read, "/Network/x", false},
		{read, "/private/var/tmp/x", false}, {read, "/private/var/root/x", false}, {read, "/private/var/mail/x", false},
		{write, "/dev/fd/2", true}, {write, "/dev/stderr", true}, {write, "/dev/disk0", false},
		{"file-write-create", "/dev/fd/x", false}, {"sysctl-write", "name kern.grade_cputype", true},
		{"sysctl-write", "name kern.hostname", false}, {"ipc-posix-shm-read-data", "name apple.shm.notification_center", true},
		{"ipc-posix-shm-write-data", "name apple.shm.notification_center", false},
		{"ipc-posix-shm-write-create", "/__KMP_REGISTERED_LIB_71", true}, {"ipc-posix-shm-write-create", "/other", false},
		{read, "/private/var/log/x", false}, {write, "/Users/ann/src/.git/config", false}, {move, "/opt/data/caches/1", false},
	}
	p := parse(t, workspacesComplete("nested"))
	for _, tt := range tests {
		if got := p.allows(tt.operation, tt.path); got != tt.want {
			t.Errorf("%s %s: allowed is %t", tt.operation, tt.path, got)
		}
	}
	for i, r := range p.rules { // a rule that no test needs would not be missed
		without := profile{slices.Delete(slices.Clone(p.rules), i, i+1)}
		if !spare(r.text) && !slices.ContainsFunc(tests, func(tt question) bool { return without.allows(tt.operation, tt.path) != tt.want }) {
			t.Errorf("no test needs the rule %s", r.text)
		}
	}
}

// A question is an operation on a path, and whether it is allowed.
type question struct {
	operation, path string
	want            bool
}

// spare reports whether a rule only repeats others, for an own name or a second reading of the language.
func spare(text string) bool {
	return strings.Contains(text, "file-test-existence") || text == "deny default" || slices.Contains([]string{
		`deny file-read* (subpath "/Users/ann")`,                                             // within /Users
		`deny file-write* (subpath "/opt/tools")`, `allow file-read* (subpath "/opt/tools")`, // as it is anyway
		`allow file-read* (subpath "/Users/ann/src/vendor")`, // in the workspace
	}, text)
}

func workspacesComplete(name string) access { return complete(workspaces()[name]) }

// TestOddNames checks that each workspace is writable, its neighbours are not, and nothing else changes.
func TestOddNames(t *testing.T) {
	for name, a := range workspaces() {
		p := parse(t, complete(a))
		check(t, name, p, a.Binds[0].Host)
	}
}

func check(t *testing.T, name string, p profile, dir string) {
	t.Helper()
	for _, tt := range []question{
		{"file-write-data", path.Join(dir, "x"), true}, {"file-read-data", path.Join(dir, "x"), true},
		{"file-write-unlink", dir, false}, {"file-write-data", dir + "x/y", dir == "/"},
		{"network-outbound", "remote localhost:1", false}, {"mach-lookup", "name com.apple.SecurityServer", false},
		{"file-read-data", "/Users/ann/.ssh/id", dir == "/" || dir == "/Users/ann/.ssh"},
	} {
		if got := p.allows(tt.operation, tt.path); got != tt.want {
			t.Errorf("%s: %s %q: allowed is %t", name, tt.operation, tt.path, got)
		}
	}
}

// FuzzName checks that no name of a directory changes the rules of a profile.
func FuzzName(f *testing.F) {
	for _, a := range workspaces() {
		f.Add(a.Binds[0].Host)
	}
	shape, _ := complete(workspaces()["plain"]).profile()
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsRune(name, 0) {
			return // no path has one
		}
		dir := path.Join("/work", path.Clean("/"+name))
		a := complete(access{Binds: []sandbox.Bind{{Host: dir, Write: true}}})
		if within(a.Home, dir) || within(dir, a.Home) || within(dir, a.Program) {
			return
		}
		p := parse(t, a)
		text, _ := a.profile()
		if a, b := strings.Count(text, "("), strings.Count(shape, "("); a != b {
			t.Errorf("%q changes the profile:\n%s", dir, text)
		}
		check(t, "fuzz", p, dir)
	})
}

// TestResolved checks the paths in a profile against a file system with links and other spellings.
func TestResolved(t *testing.T) {
	t.Setenv("HOME", "/users/ann")
	names := map[string]string{"/users/ann": "/Users/ann", "/var/folders/w": "/private/var/folders/w", "/Users/ann/link": "/Users/ann/target",
		"/users/ann/link/.ENV": "/Users/ann/target/.env"}
	a := accessOf(sandbox.Spec{
		Binds:  []sandbox.Bind{{Host: "/var/folders/w", Write: true}, {Host: "/Users/ann/link"}},
		Hidden: []string{"/users/ann/link/.ENV"},
		Forward: []sandbox.Forward{{To: "localhost:5432"}, {To: "[::1]:1"}, {To: "127.0.0.1:2"}, {To: "10.0.0.1:3"},
			{To: "db.example.com:4"}, {To: "localhost:http"}},
	}, []string{"/data"}, func(path string) string {
		if to, ok := names[path]; ok {
			return to
		}
		return path
	})
	p := parse(t, a)
	for path, want := range map[string]bool{
		"/private/var/folders/w/x": true, "/Users/ann/target/x": true, "/Users/ann/target/.env": false, "/Users/ann/x": false, "/data/x": false,
	} {
		if p.allows("file-read-data", path) != want {
			t.Errorf("%s: allowed is %t", path, !want)
		}
	}
	if want := []int{5432, 1, 2}; !slices.Equal(a.Ports, want) {
		t.Errorf("ports %v, want %v", a.Ports, want)
	}
}

// A profile is a parsed profile. It knows only the part of the language that profiles of this package use.
type profile struct{ rules []parsedRule }

// A parsedRule allows or denies operations on what one of its filters fits; on all if there is no filter.
type parsedRule struct {
	allow      bool
	operations []string
	filters    []func(object string) bool
	text       string
}

// allows evaluates an operation: the last rule that fits holds.
func (p profile) allows(operation, object string) bool {
	allowed := false
	for _, r := range p.rules {
		if slices.ContainsFunc(r.operations, func(name string) bool { return fits(name, operation) }) &&
			(r.filters == nil || slices.ContainsFunc(r.filters, func(f func(string) bool) bool { return f(object) })) {
			allowed = r.allow
		}
	}
	return allowed
}

func fits(name, operation string) bool {
	family, all := strings.CutSuffix(name, "*")
	return name == "default" || name == operation || all && strings.HasPrefix(operation, family)
}

func within(dir, file string) bool {
	return dir == "/" || file == dir || strings.HasPrefix(file, dir+"/")
}

// parse parses the profile of an access.
func parse(t *testing.T, a access) profile {
	t.Helper()
	text, list := a.profile()
	values := map[string]string{}
	for _, p := range list {
		name, value, _ := strings.Cut(p, "=")
		values[name] = value
	}
	p := profile{}
	for rest := text; strings.TrimSpace(rest) != ""; {
		form, after, err := readForm(rest)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		rest = after
		list := form.([]any)
		if list[0] == word("if") { // operations that old systems do not have
			list = list[2].([]any)
		}
		switch list[0] {
		case word("version"), word("import"):
		case word("allow"), word("deny"):
			p.rules = append(p.rules, ruleOf(t, list, values))
		default:
			t.Fatalf("an unknown form %v", list)
		}
	}
	if d := p.rules[0]; d.allow || d.operations[0] != "default" {
		t.Fatal("the profile does not begin with a denial")
	}
	return p
}

type (
	word  string // a symbol
	regex string
)

func ruleOf(t *testing.T, form []any, values map[string]string) parsedRule {
	r := parsedRule{allow: form[0] == word("allow"), text: string(form[0].(word))}
	for _, part := range form[1:] {
		if name, ok := part.(word); ok {
			r.operations = append(r.operations, string(name))
			r.text += " " + string(name)
			continue
		}
		f := part.([]any)
		kind, last := string(f[0].(word)), f[len(f)-1]
		value, _ := last.(string)
		if param, ok := last.([]any); ok {
			var known bool
			if value, known = values[param[1].(string)]; !known {
				t.Fatalf("no parameter %v", param)
			}
		}
		r.text += " (" + kind + " " + strconv.Quote(value) + ")"
		switch kind {
		case "subpath":
			r.filters = append(r.filters, func(o string) bool { return within(value, o) })
		case "literal":
			r.filters = append(r.filters, func(o string) bool { return o == value })
		case "regex", "ipc-posix-name-regex":
			pattern := regexp.MustCompile(string(last.(regex)))
			r.filters = append(r.filters, pattern.MatchString)
		case "remote", "local":
			host, port, _ := strings.Cut(value, ":")
			r.filters = append(r.filters, func(o string) bool {
				rest, ok := strings.CutPrefix(o, kind+" ")
				h, p, _ := strings.Cut(rest, ":")
				return ok && h == host && (port == "*" || p == port)
			})
		case "target":
			r.filters = append(r.filters, func(o string) bool { return o == "target "+string(last.(word)) })
		case "global-name", "sysctl-name", "ipc-posix-name":
			r.filters = append(r.filters, func(o string) bool { return o == "name "+value })
		default:
			t.Fatalf("an unknown filter %s", kind)
		}
	}
	return r
}

// readForm reads a form: a list, a string, a regular expression or a symbol.
func readForm(s string) (form any, rest string, err error) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	switch {
	case s == "":
		return nil, "", errors.New("the end is missing")
	case s[0] == '(':
		list := []any{}
		for s = strings.TrimLeftFunc(s[1:], unicode.IsSpace); !strings.HasPrefix(s, ")"); s = strings.TrimLeftFunc(s, unicode.IsSpace) {
			var one any
			if one, s, err = readForm(s); err != nil {
				return nil, "", err
			}
			list = append(list, one)
		}
		return list, s[1:], nil
	case strings.HasPrefix(s, `#"`):
		text, after, ok := strings.Cut(s[2:], `"`)
		if !ok {
			return nil, "", errors.New("a regular expression has no end")
		}
		return regex(text), after, nil
	case s[0] == '"':
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return nil, "", err
		}
		text, err := strconv.Unquote(quoted)
		return text, s[len(quoted):], err
	}
	end := strings.IndexFunc(s, func(c rune) bool { return unicode.IsSpace(c) || c == '(' || c == ')' })
	if end <= 0 {
		return nil, "", errors.New("a form is expected at " + s)
	}
	return word(s[:end]), s[end:], nil
}
