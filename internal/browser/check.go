package browser

import (
	"context"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Check looks for the browser, and finds out whether it can be isolated. It starts no
// page. settings returns the path, "" for the browser that is found, and whether the
// browser may run without isolation.
func Check(tiers sandbox.Tiers, settings func() (path string, insecure bool)) room.Check {
	return room.Check{Name: "browser", Run: func(ctx context.Context, f *room.Findings) {
		wanted, insecure := settings()
		switch path, version, err := Find(ctx, wanted); {
		case err != nil && path == "" && wanted != "":
			f.Advise("correct web.browser.path, or remove it to use the browser that is found; the other tools work without",
				"there is no program %s", wanted)
		case err != nil:
			f.Advise("install Chromium (apt-get install chromium), or set web.browser.path; the other tools work without",
				"%s", tool.AsError(err).What)
		default:
			f.OK("%s at %s", terminal.OneLine(version), path)
			checkIsolation(ctx, f, tiers, insecure)
		}
	}}
}

func checkIsolation(ctx context.Context, f *room.Findings, tiers sandbox.Tiers, insecure bool) {
	err := CheckIsolation(ctx, tiers)
	known := (*tool.Error)(nil)
	switch {
	case err == nil:
	case !errors.As(err, &known):
		f.Advise("fix the cause; the other tools work without", "it is unknown whether a browser can be isolated: %v", err)
	case insecure:
		f.Advise(known.Next, "%s; it is started without, because of web.browser.without_sandbox", known.What)
	default:
		f.Advise(known.Next+"; or set web.browser.without_sandbox, for trusted pages", "%s; no browser is started",
			known.What)
	}
}
