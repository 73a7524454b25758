// Package version knows the release that runs, and asks for the newest one. Begin with This.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// String returns the version of the module that the Go tool wrote into the
// binary: a release, or "dev" with the revision that was built.
func String() string { return This().Version }

// Commit returns the revision that was built, "" if unknown. It ends in "-dirty"
// if there were uncommitted changes.
func Commit() string { return This().Commit }

func versionOf(info *debug.BuildInfo, ok bool) (version, commit, date string) {
	if !ok {
		return "dev", "", ""
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version, commit = info.Main.Version, settings["vcs.revision"]
	switch {
	case version != "" && version != "(devel)":
	case commit == "":
		version = "dev"
	default:
		version = "dev-" + commit[:min(len(commit), 12)]
	}
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += "-dirty"
	}
	date, _, _ = strings.Cut(settings["vcs.time"], "T")
	return version, commit, date
}

// A Release describes the program.
type Release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// This returns the release that runs.
func This() Release { return this() }

var this = sync.OnceValue(func() Release {
	version, commit, date := versionOf(debug.ReadBuildInfo())
	return Release{
		Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
})

func (r Release) String() string {
	return fmt.Sprintf("mcp-tools %s (commit %s, %s, %s, %s/%s)", r.Version, cmp.Or(r.Commit, "unknown"),
		cmp.Or(r.Date, "date unknown"), r.Go, r.OS, r.Arch)
}
