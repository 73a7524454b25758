package exec

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

func TestClone(t *testing.T) {
	for command, want := range map[string]bool{
		"git clone https://example.com/a.git":                       true,
		"git clone -q --depth 1 -b main git@example.com:a.git into": true,
		"git clone ./evil into":                                     false,
		"git clone file:///evil":                                    false,
		"git clone ext::sh https://example.com":                     false,
		"git clone -c remote.origin.url=x https://example.com":      false,
		"git clone --template=evil https://example.com":             false,
		"git -C x clone https://example.com":                        false,
		"git pull https://example.com":                              false,
	} {
		v := judge.Verdict{Simple: []judge.Simple{{Argv: strings.Fields(command), Static: true, Program: "git"}}}
		if got := isClone(v); got != want {
			t.Errorf("%s: %t", command, got)
		}
		v.Simple = append(v.Simple, v.Simple[0])
		if isClone(v) {
			t.Errorf("%s, twice", command)
		}
	}
}
