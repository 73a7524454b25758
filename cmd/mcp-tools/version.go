package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// development is the version of a binary that knows none.
const development = "dev"

// version is that of the module, as the Go tool wrote it into the binary: a
// release, or the revision that was built.
func version() string {
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

// commit is the revision that was built, "" when the binary does not know. A
// revision with changes that were not committed ends in "-dirty".
func commit() string {
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

// A release says which program this is.
type release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func thisRelease() release {
	return release{Version: version(), Commit: commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

func (r release) String() string {
	return fmt.Sprintf("mcp-tools %s (commit %s, %s, %s/%s)", r.Version, cmp.Or(r.Commit, "unknown"), r.Go, r.OS, r.Arch)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which version this is",
		Long:  "version prints the version, the revision it was built from, and for which system.",
		Example: `  mcp-tools version
  mcp-tools version --output json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			r := thisRelease()
			return a.show(r, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, r)
				return err
			})
		},
	}
}
