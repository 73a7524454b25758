package judge

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func request(command string, sealed bool) Request {
	return Request{Command: command, Dir: "/work/app", Roots: []string{"/work/app"}, Home: "/home/dev", Sealed: sealed}
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
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && !strings.Contains(line, "$") && !strings.HasPrefix(line, "[ ") && !strings.HasPrefix(line, "[["):
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
		for _, sealed := range []bool{true, false} {
			v := Judge(request(command, sealed), Rules{})
			if v.Denied == nil && v.Risk < tool.Destroys {
				t.Errorf("%s sealed %v: %q is only %s (%s)", group, sealed, command, v.Risk, v.Why)
			}
			if v.Why == "" {
				t.Errorf("%s: %q is %s, and nobody says why", group, command, v.Risk)
			}
		}
	})
}

func TestNothingOrdinaryIsDenied(t *testing.T) {
	corpus(t, "ordinary.txt", func(group, command string) {
		for _, sealed := range []bool{true, false} {
			if v := Judge(request(command, sealed), Rules{}); v.Denied != nil {
				t.Errorf("%s sealed %v: %q is denied by %+v", group, sealed, command, *v.Denied)
			}
		}
	})
}
