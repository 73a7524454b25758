package browser

import (
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// dontWait has nothing to do: what is opened here is a file.
const dontWait = 0

func ours(fs.FileInfo) bool { return true }

// run refuses: DevTools would have to be on handles of which this system hands
// on all or none.
func (p *program) run(start) error {
	return tool.Errorf(tool.Unavailable, "browsers are not driven on this system").Try("use web_fetch")
}
