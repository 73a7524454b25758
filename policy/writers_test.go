package policy

import "testing"

// TestWriters asks for people in and outside of a chat with file writers.
func TestWriters(t *testing.T) {
	rules := Rules{Writers: map[string][]string{"team": {"ann"}, "*": {"root"}}}
	p := compile(t, rules)
	in := func(chat, person string, group bool) Subject {
		return Subject{Group: chat, Person: person, InGroup: group}
	}
	for name, test := range map[string]struct {
		who   Subject
		tool  string
		rated Risk
		want  Verdict
	}{
		"a writer":                         {in("team", "ann", true), "write_file", Writes, Allow},
		"another person":                   {in("team", "bob", true), "write_file", Writes, Deny},
		"nobody":                           {in("team", "", true), "write_file", Writes, Deny},
		"another person reads":             {in("team", "bob", true), "read_file", Reads, Allow},
		"a command that reads":             {in("team", "bob", true), "exec", Reads, Allow},
		"a command that writes":            {in("team", "bob", true), "exec", Writes, Deny},
		"not about files":                  {in("team", "bob", true), "message", Runs, Ask},
		"the chat is known by its id":      {in("team", "bob", false), "write_file", Writes, Deny},
		"in another group":                 {in("else", "ann", true), "write_file", Writes, Deny},
		"a writer of all groups":           {in("else", "root", true), "write_file", Writes, Allow},
		"a list of its own counts alone":   {in("team", "root", true), "write_file", Writes, Deny},
		"in a direct chat":                 {in("else", "bob", false), "write_file", Writes, Allow},
		"outside of any chat":              {in("", "bob", false), "write_file", Writes, Allow},
		"a writer needs an approval still": {in("team", "ann", true), "exec", Runs, Ask},
	} {
		if got := p.For(test.who, test.tool, test.rated); got != test.want {
			t.Errorf("%s: %s of %s is %s, want %s", name, test.rated, test.tool, got, test.want)
		}
	}
	bob := in("team", "bob", true)
	if got := p.Verdict(bob, "exec"); got != Allow {
		t.Errorf("a tool that can read is %s for who may only read", got)
	}
	if got := p.Verdict(bob, "write_file"); got != Deny {
		t.Errorf("a tool that only writes is %s", got)
	}
	d := p.Explain(bob, "write_file")
	if last := d.Steps[len(d.Steps)-3]; d.Verdict != Deny || last.Name != "file writers" || last.Effect != Removes {
		t.Errorf("explained as %s", d)
	}
}
