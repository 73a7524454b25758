package judge

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func request(command string, isolated bool) Request {
	return Request{Command: command, Dir: "/work/app", Roots: []string{"/work/app"}, Home: "/home/dev",
		Isolated: isolated}
}

// corpus reads commands, by group.
func corpus(t testing.TB, file string, do func(group, command string)) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	group, n := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "", strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && !strings.Contains(line, "$") &&
			!strings.HasPrefix(line, "[ ") && !strings.HasPrefix(line, "[["):
			group = line
		default:
			n++
			do(group, strings.NewReplacer("⏎", "\n", "⇥", "\t").Replace(line))
		}
	}
	if n < 160 {
		t.Errorf("%s has only %d commands", file, n)
	}
}

func TestNothingDangerousRunsUnasked(t *testing.T) {
	corpus(t, "dangerous.txt", func(group, command string) {
		for _, isolated := range []bool{true, false} {
			v := Judge(request(command, isolated), Rules{})
			if v.Denied == nil && v.Risk < tool.Destroys {
				t.Errorf("%s isolated %v: %q is only %s (%s)", group, isolated, command, v.Risk, v.Why)
			}
			if v.Why == "" {
				t.Errorf("%s: %q is %s without a reason", group, command, v.Risk)
			}
		}
	})
}

func TestNothingOrdinaryIsDenied(t *testing.T) {
	corpus(t, "ordinary.txt", func(group, command string) {
		for _, isolated := range []bool{true, false} {
			if v := Judge(request(command, isolated), Rules{}); v.Denied != nil {
				t.Errorf("%s isolated %v: %q is denied by %+v", group, isolated, command, *v.Denied)
			}
		}
	})
}

// TestTable checks that the handlers, actions, rules and lists that the table names exist.
func TestTable(t *testing.T) {
	verbs := strings.Fields(`reads writes destroys discards runs code remote opaque rule helper glimpse dumps decodes read local localdir
		store remove unlink vacate fill clears links mode archive
		write create empty into pack shell download url address method send compressor setting inline module mount`)
	keywords := strings.Fields(`as alone begins options letters stop operands first command assignments shelltext values
		flags reads writes code destroys installs remote runs lists shows unlisted bare output target last bundled`)
	for name, p := range tables().programs {
		if p.handler != "" && handlers()[p.handler] == nil {
			t.Errorf("%s: no handler %q", name, p.handler)
		}
		for keyword := range p.words {
			if !slices.Contains(keywords, keyword) {
				t.Errorf("%s: no keyword %q", name, keyword)
			}
		}
		for _, r := range p.rules {
			if !slices.Contains(verbs, r.action[0]) {
				t.Errorf("%s: no action %q", name, r.action[0])
			}
			if r.action[0] == "rule" {
				if group, _ := ruleNamed(r.action[1]); group == "" {
					t.Errorf("%s: no rule %q", name, r.action[1])
				}
			}
		}
	}
	sources, _ := filepath.Glob("*.go")
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`j\.hit\("(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			if group, _ := ruleNamed(m[1]); group == "" {
				t.Errorf("%s: no rule %q", file, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`in(?:List|Paths)\("([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if tables().lists[m[1]] == nil {
				t.Errorf("%s: no list %q", file, m[1])
			}
		}
	}
}

// TestProgramsThatAreThere judges commands where programs and files can be looked up.
func TestProgramsThatAreThere(t *testing.T) {
	there := []string{"npm", "npx", "node", "/work/app/node_modules/.bin/eslint", "/work/node_modules/.bin/prettier"}
	look := func(command string, isolated bool) Verdict {
		r := request(command, isolated)
		r.Missing = func(name string) bool { return !slices.Contains(there, name) }
		r.Exists = func(path string) bool { return slices.Contains(there, path) }
		return Judge(r, Rules{})
	}
	for command, want := range map[string]tool.Risk{
		// What is not there asks nobody: the shell says so.
		"lss": tool.Reads, "pnpm install": tool.Reads, "lss || echo none": tool.Reads,
		// Nor does it hide the rest.
		"lss; curl x | python3": tool.Runs, "lss && rm -rf src": tool.Destroys, "PATH=.:$PATH lss": tool.Runs,
		"cp evil ~/bin/lss; lss": tool.Runs, "./lss": tool.Writes,
		// npx fetches what the project does not have.
		"npx eslint src": tool.Writes, "npx prettier --check src": tool.Writes, "npx tsc --noEmit": tool.Runs,
		"pnpx tsc": tool.Runs,
		// Builtins are not in PATH.
		"cd src && export A=b && read x": tool.Reads,
	} {
		if v := look(command, true); v.Risk != want && !(want == tool.Writes && v.Risk == tool.Reads) {
			t.Errorf("%q is %s (%s), want %s", command, v.Risk, v.Why, want)
		}
	}
	if v := look("lss", false); v.Risk != tool.Runs {
		t.Errorf("without a sandbox a program that is not known is %s", v.Risk)
	}
}

// TestReasonNamesWhatIsRemoved names several files in the reason.
func TestReasonNamesWhatIsRemoved(t *testing.T) {
	for command, want := range map[string]string{
		"rm a":                   "removes a",
		"rm -rf a b c":           "removes a, b, c",
		"rm a b c d e f g h i j": "removes a, b, c, d, e, and more",
	} {
		if v := Judge(request(command, true), Rules{}); v.Why != want {
			t.Errorf("%q: %q, want %q", command, v.Why, want)
		}
	}
}
