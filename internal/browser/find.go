package browser

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// candidates returns the names and paths of Chromium, the preferred first. The absolute
// paths are the executables themselves: the program on the PATH may be a script that
// adds flags and extensions.
func candidates() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{
			"/Applications/Chromium.app/Contents/MacOS/Chromium",
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
			"chromium",
		}
	case "linux":
		return []string{
			"/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser",
			"/usr/lib/chromium-browser/chromium-browser",
			"/opt/google/chrome/chrome",
			"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		}
	}
	return []string{"chromium", "chrome"}
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
	for _, place := range all {
		found, err := exec.LookPath(place)
		if err == nil {
			return found, nil
		}
		if path != "" && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
			return "", notInstalled().Because(err)
		}
	}
	return "", notInstalled()
}

func notInstalled() *tool.Error {
	try := "use web_fetch, or ask the user to install Chromium"
	if _, err := os.Stat("/etc/debian_version"); err == nil {
		try += ": apt-get install chromium"
	}
	return tool.Errorf(tool.Unavailable, "Chromium is not installed").Try("%s", try)
}
