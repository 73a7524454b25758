package fs

import "github.com/mcp-tools/mcp-tools/tools"

// EditFile is the tool, for tests that need a real workspace, which imports
// this package.
func EditFile(files Files, seen *Seen) tools.Tool { return tools.New(editFile{files, seen}) }
