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
