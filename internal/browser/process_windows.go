package browser

import (
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// openNonblock is not needed on Windows, which has no named pipes in directories.
const openNonblock = 0

func ownedByUser(fs.FileInfo) bool { return true }

// run fails: Windows cannot pass single handles for DevTools to the browser.
func (p *program) run(startOptions) error {
	return tool.Errorf(tool.Unavailable, "the browser is not supported on this system").Try("use web_fetch")
}
