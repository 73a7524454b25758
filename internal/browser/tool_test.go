package browser_test

import (
	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

var _ = browser.UseTool(func(b *browser.Browsers) tool.Tool {
	for _, t := range web.Tools(web.Options{Browser: b, Marks: tool.NewMarks()}) {
		if t.Spec.Name == "browser" {
			return t
		}
	}
	panic("package web has no tool for the browser")
})
