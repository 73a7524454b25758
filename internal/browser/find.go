package browser

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// candidates returns the names and paths of Chromium, the preferred first. The absolute
// paths are the executables themselves: the program on the PATH may be a script that
// adds flags and extensions.
func candidates() []string {
	return []string{
		"/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser",
		"/usr/lib/chromium-browser/chromium-browser", "/opt/google/chrome/chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	}
}

// Find returns the path and the version of Chromium. If path is empty, Find searches the
// usual places. The error contains advice for the operator.
func Find(ctx context.Context, path string) (found, version string, err error) {
	if found, err = findExecutable(path); err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, found, "--version").Output()
	if err != nil {
		return found, "", tool.Errorf(tool.Unavailable, "Chromium is installed but does not start").
			Try("ask the user to run chromium --version to see why").Because(err)
	}
	version, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return found, version, nil
}

func findExecutable(path string) (string, error) {
	all := candidates()
	if path != "" {
		all = []string{path}
	}
	var err error
	for _, place := range all {
		var found string
		if found, err = exec.LookPath(place); err == nil {
			return found, nil
		}
	}
	try := "use web_fetch, or ask the user to install Chromium"
	if _, err := os.Stat("/etc/debian_version"); err == nil {
		try += ": apt-get install chromium"
	}
	return "", tool.Errorf(tool.Unavailable, "Chromium is not installed").Try("%s", try).Because(err)
}
