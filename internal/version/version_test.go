package version

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	committed := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T15:05:00Z"}
	for _, c := range []struct {
		module          string
		settings        []debug.BuildSetting
		version, commit string
		date            string
	}{
		{"v1.2.3", nil, "v1.2.3", "", ""},
		{"v1.2.3", []debug.BuildSetting{revision, committed}, "v1.2.3", "0123456789abcdef0123", "2026-11-22"},
		{"(devel)", nil, "dev", "", ""},
		{"", []debug.BuildSetting{dirty}, "dev", "", ""},
		{"(devel)", []debug.BuildSetting{revision, dirty}, "dev-0123456789ab", "0123456789abcdef0123-dirty", ""},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
		version, commit, date := versionOf(info, true)
		if version != c.version || commit != c.commit || date != c.date {
			t.Errorf("%q with %v is %q, %q, %q; want %q, %q, %q", c.module, c.settings, version, commit, date, c.version,
				c.commit, c.date)
		}
	}
}
