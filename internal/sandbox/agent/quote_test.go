package agent

import (
	"strings"
	"testing"
)

func TestShellLine(t *testing.T) {
	const start = `cmd.exe /d /v:off /s /c "`
	for _, tt := range []struct {
		program string
		argv    []string
		want    string // or a part of the error
	}{
		{`C:\Program Files\nodejs\node.exe`, []string{"node", "a b"}, ""},
		{`C:\Program Files\nodejs\npm.CMD`, []string{"npm", "run", "a b", "x&calc", `C:\dir\`, ""}, start +
			`"C:\Program Files\nodejs\npm.CMD" "run" "a b" "x&calc" "C:\dir\\" """`},
		{`C:\x.bat`, []string{"x", `"&calc`}, `cannot get the character '"'`},
		{`C:\x.bat`, []string{"x", "%PATH%"}, "cannot get the character '%'"},
		{`C:\x.bat`, []string{"x", "a\nb"}, `cannot get the character '\n'`},
		{`C:\a%b\x.bat`, []string{"x"}, "cannot get the character '%'"},
		{`C:\Windows\System32\cmd.exe`, []string{"cmd", "/d", "/C", `echo "a  b" & dir "C:\x y"`}, start + `echo "a  b" & dir "C:\x y""`},
		{`C:\Windows\System32\cmd.exe`, []string{"cmd", "/c", "echo", "a"}, start + `echo a"`},
		{`C:\Windows\System32\cmd.exe`, []string{"cmd"}, ""},
		{`C:\Windows\System32\cmd.exe`, []string{"cmd", "/c"}, start + `"`},
	} {
		got, err := shellLine(tt.program, tt.argv)
		if err == nil && got != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %s, %v", tt.program, tt.argv, got, err)
		}
	}
}

// FuzzShellLine checks that no argument of a batch file leaves its quotes.
func FuzzShellLine(f *testing.F) {
	f.Add("a b", `c\`)
	f.Add(`"&calc`, "%x%")
	f.Fuzz(func(t *testing.T, a, b string) {
		line, err := shellLine(`C:\x.cmd`, []string{"x", a, b})
		if err != nil {
			return
		}
		if n := strings.Count(line, `"`); n != 8 {
			t.Errorf("%q and %q: %d quotes in %s", a, b, n, line)
		}
		if strings.ContainsAny(line, "%\r\n") {
			t.Errorf("%q and %q: %s", a, b, line)
		}
	})
}
