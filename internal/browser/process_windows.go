package browser

import (
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// openNonblock has nothing to do: what is opened here is a file.
const openNonblock = 0

func ownedByUser(fs.FileInfo) bool { return true }

// run refuses: DevTools would have to be on handles of which this system hands
// on all or none.
func (p *program) run(startOptions) error {
	return tool.Errorf(tool.Unavailable, "browsers are not driven on this system").Try("use web_fetch")
}
