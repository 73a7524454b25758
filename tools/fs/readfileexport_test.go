package fs

import "github.com/mcp-tools/mcp-tools/tools"

// ReadFile is the tool, for tests in package fs_test: those that use a real
// workspace cannot be in this package, because the workspace imports it.
func ReadFile(files Files, seen *Seen) tools.Tool { return tools.New(newReadFile(files, seen)) }
