package app

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// development is the version of a binary without version information.
const development = "dev"

// Version returns the version of the module that the Go tool wrote into the
// binary: a release, or the revision that was built.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return development
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if revision := commitOf(info); revision != "" {
		return development + "-" + revision[:min(len(revision), 12)]
	}
	return development
}

// Commit returns the revision that was built, "" if unknown. It ends in "-dirty"
// if there were uncommitted changes.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return commitOf(info)
}

func commitOf(info *debug.BuildInfo) string {
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

// A Release describes the program.
type Release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func ThisRelease() Release {
	return Release{Version: Version(), Commit: Commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

func (r Release) String() string {
	return fmt.Sprintf("mcp-tools %s (commit %s, %s, %s/%s)", r.Version, cmp.Or(r.Commit, "unknown"), r.Go, r.OS,
		r.Arch)
}
