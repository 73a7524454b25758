package commands

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

func TestElevatedCommands(t *testing.T) {
	require := []sandbox.Guarantee{sandbox.Files}
	for _, test := range []struct {
		mode    Mode
		allowed bool // by the operator
		runs    bool
	}{
		{Docker, true, true}, {Docker, false, false}, {Off, true, false}, {Off, false, false},
	} {
		c := withFakes(t, Policy{Mode: test.mode, Require: require}, func(o *Options) { o.Elevated = test.allowed },
			newFake("docker"), newFake("host"))
		s, err := c.Site(caller(t), "", true)
		if (err == nil) != test.runs || err == nil && (s.Tier != "host" || s.Isolated || !s.Elevated) {
			t.Errorf("%+v: %+v, %v", test, s, err)
		}
		if s, err := c.Site(caller(t), "", false); err == nil && (s.Tier != "docker" || s.Elevated) {
			t.Errorf("%+v, not elevated: %+v", test, s)
		}
	}
	// Where commands run on the host anyway, nothing is special.
	c := withFakes(t, Policy{Mode: Host}, func(*Options) {}, newFake("host"))
	if s, err := c.Site(caller(t), "", true); err != nil || s.Elevated {
		t.Errorf("%+v, %v", s, err)
	}
}
