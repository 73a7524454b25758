package app

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		module          string
		settings        []debug.BuildSetting
		version, commit string
	}{
		{"v1.2.3", nil, "v1.2.3", ""},
		{"v1.2.3", []debug.BuildSetting{revision}, "v1.2.3", "0123456789abcdef0123"},
		{"(devel)", nil, "dev", ""},
		{"", []debug.BuildSetting{dirty}, "dev", ""},
		{"(devel)", []debug.BuildSetting{revision, dirty}, "dev-0123456789ab", "0123456789abcdef0123-dirty"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
		if version, commit := versionOf(info, true); version != c.version || commit != c.commit {
			t.Errorf("%q with %v is %q, %q; want %q, %q", c.module, c.settings, version, commit, c.version, c.commit)
		}
	}
}
