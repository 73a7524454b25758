package tool

import "testing"

func TestOwnerFrom(t *testing.T) {
	for name, test := range map[string]struct {
		caller Caller
		want   Owner
		fails  bool
	}{
		"a user":        {caller: Caller{Agent: "a", User: "u", Session: "s"}, want: Owner{"a", "u"}},
		"no user":       {caller: Caller{Agent: "a"}, want: Owner{Agent: "a"}},
		"no caller":     {fails: true},
		"a zero byte":   {caller: Caller{Agent: "a\x00"}, fails: true},
		"invalid UTF-8": {caller: Caller{Agent: "a", User: "\xff"}, fails: true},
	} {
		got, err := OwnerFrom(With(t.Context(), &Running{Caller: test.caller}))
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestKeysOfSessions(t *testing.T) {
	for want, c := range map[string]Caller{
		"agent:main:stdio:7-ab":  {User: "ada", Channel: "stdio", Session: "stdio-7-ab"},
		"agent:coder:http:t1/ab": {Agent: "coder", Channel: "http", Session: "t1/ab"},
		"agent:a%3Ab%25:http:s":  {Agent: "a:b%", Channel: "http", Session: "s"},
		"agent:coder:local:s":    {Agent: "coder", Session: "s"},
		"agent:coder:telegram:group:-7": {Agent: "coder", Channel: "telegram", Session: "s", PeerKind: "group",
			ChatID: "-7"},
		"agent:coder:t:direct:1:topic:2":    {Agent: "coder", Channel: "t", ChatID: "1", Topic: "2"},
		"agent:coder:telegram:direct:a%3Ab": {Agent: "coder", Channel: "telegram", ChatID: "a:b"},
		"agent:coder:subagent:sub-1": {Agent: "coder", Channel: "telegram", ChatID: "-7", Session: "sub-1",
			Depth: 1},
		"": {Agent: "coder", Channel: "http"},
	} {
		if got := c.Key(); got != want {
			t.Errorf("the key of %+v is %q, want %q", c, got, want)
		}
	}
}
