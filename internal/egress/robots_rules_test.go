package egress

import (
	"strings"
	"testing"
	"time"
)

func TestRobotRules(t *testing.T) {
	const groups = "\ufeffUser-Agent: *\nDisallow: /\n\nuser-agent: other # a comment\nUser-agent: MCP-Tools/2.0\nDisallow: /private\nAllow: /private/open\nSitemap: x\nDisallow: /*.pdf$\nDisallow:\nCrawl-delay: 10\nDisallow: /a/*/c\n" +
		"User-agent: foreign\nDisallow: /\nUser-agent: mcp-tools\nDisallow: /more\n"
	tests := []struct{ text, yes, no string }{
		{"", "/ /x", ""},
		{"nonsense\n:::\nDisallow: /x\n", "/ /x", ""},
		{"User-agent: *\nDisallow: /", "", "/ /x /x?y"},
		{"User-agent: *\r\nDisallow: /x\r\n", "/ /y", "/x /xy /x/ /x?y"},
		{"User-agent: *\rDisallow: /x\rAllow: /x/y", "/x/y", "/x"},
		{"User-agent: *\nDisallow: /\nAllow: /$", "/", "/x"},
		{"User-agent: *\nDisallow: /x\nAllow: /x", "/x", ""},
		{"User-agent: mcp\nDisallow: /", "/", ""},
		{"User-agent: mcp-tools-2\nDisallow: /", "/2", ""},
		{"User-agent: mcp-tools\nUser-agent: x\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", "/y", "/x"},
		{"User-agent: mcp-tools\n\nUser-agent: *\nDisallow: /y", "/x", "/y"},
		{"User-agent: mcp-tools\nAllow: /\nUser-agent: *\nDisallow: /y", "/y /x", ""},
		{groups, "/ /x /private/open/x /a.pdf?x /a/c", "/private /private/x /x/y.pdf /a/b/c /a/b/d/c/e /more"},
		{"User-agent: *\nDisallow: /a%3cd.html\nDisallow: /%7Ejoe/\nDisallow: /ü", "/a<d.htm /joe",
			"/a%3Cd.html /~joe/x /%7ejoe/ /%c3%bc"},
		{"User-agent: *\nDisallow: *.php\nDisallow: x", "/y", "/x /a.php /a.php5"},
		{"User-agent: *\nDisallow: /a*b*c$", "/abcd /acb", "/abc /axbxc /abcbc"},
		{"User-agent: *\nDisallow: /**$\nAllow: /okay", "/okay", "/x"},
		{"User-agent: *\nDisallow: $", "/x", "/"},
	}
	for _, test := range tests {
		rules := robotRules{rules: parseRobots(test.text)}
		for i, list := range []string{test.yes, test.no} {
			for _, path := range strings.Fields(list) {
				if rules.allow(path) != (i == 0) {
					t.Errorf("%q: %s is allowed: %t", test.text, path, i != 0)
				}
			}
		}
	}
}

// TestRobotsAreBounded checks that a malicious robots.txt is not slow.
func TestRobotsAreBounded(t *testing.T) {
	rule := "Disallow: /" + strings.Repeat("a*", 500) + "b$\n"
	rules := robotRules{rules: parseRobots("User-agent: *\n" + strings.Repeat(rule, maxRobots/len(rule)))}
	began := time.Now()
	rules.allow("/" + strings.Repeat("a", maxURL))
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if n := len(parseRobots("User-agent: *\n" + strings.Repeat("Disallow: /x\n", 40000))); n > maxRobotRules {
		t.Errorf("%d rules", n)
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /x*y$\nAllow: /%7e", "/x/y?z")
	f.Add("user-agent:mcp-tools\nallow:*\ndisallow:/", "/%")
	f.Fuzz(func(t *testing.T, text, path string) {
		rules := robotRules{rules: parseRobots(text)}
		rules.allow(path)
		if len(rules.rules) > maxRobotRules || rules.size() > int64(len(text)+50*len(rules.rules)+100) {
			t.Errorf("%d rules of %d bytes", len(rules.rules), rules.size())
		}
		if none := (robotRules{}); !none.allow(path) {
			t.Error("no rules refuse")
		}
		if !matchesRule("/*", "/"+path) || !matchesRule(path, path) && !strings.ContainsAny(path, "*$") {
			t.Errorf("%q does not match itself", path)
		}
	})
}
