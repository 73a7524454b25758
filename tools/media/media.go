// Package media has the tools that read documents and media, and make them. It knows the
// arguments and results of these tools. Package internal/document reads documents.
//
// Begin with Tools.
package media

import (
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// The groups of the tools, by what they do.
const groupRead = "media_read"

// Options are the dependencies of the tools. Without them the tools can only be listed.
type Options struct {
	Files     workspace.Files
	Client    outbound.Client
	Documents *document.Service
}

// Tools returns the tools of the group.
func Tools(o Options) []tool.Tool {
	return []tool.Tool{
		tool.New(readDocument{o}),
	}
}
