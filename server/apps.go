package server

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file serves MCP Apps: clients that declare the extension show the results of some tools with a page of
// the server. The page is one resource, and is the same for all callers. Its data beyond the text of a result is
// in the result's _meta; models do not get that. Calls of the page come through the client like every other
// call, and so they have the same rights and the same approvals.

const (
	// appsExtension is the name of the extension among the capabilities.
	appsExtension = "io.modelcontextprotocol/ui"
	// appMIME is the type of the page.
	appMIME = "text/html;profile=mcp-app"
	// PageURI is the resource with the page.
	PageURI = "ui://mcp-tools/results.html"
	// viewKey is the member of _meta with the View of a result.
	viewKey = "mcp-tools/view"
)

// appsSupport is the value of the extension: the types of pages.
type appsSupport struct {
	MIMETypes []string `json:"mimeTypes"`
}

// showsApps reports whether the client has declared that it shows pages of our type, and there is a page.
func (x *rpcRequest) showsApps() bool {
	s := x.session.server
	if s.AppPage == nil || s.Library == nil {
		return false
	}
	declared, _ := x.clientInfo().capabilities.Extensions[appsExtension].(map[string]any)
	types, _ := declared["mimeTypes"].([]any)
	return slices.Contains(types, any(appMIME))
}

// shownByPage returns the description of a tool whose results the page shows.
func shownByPage(d mcp.Tool) mcp.Tool {
	meta := map[string]any{"ui": map[string]string{"resourceUri": PageURI}}
	if d.Meta != nil {
		for name, value := range d.Meta.AdditionalFields {
			meta[name] = value
		}
	}
	d.Meta = mcp.NewMetaFromMap(meta)
	return d
}

// forPage reports whether the request reads the page, for a client that shows it.
func (q LibraryRequest) forPage() bool {
	return q.apps && q.Method == mcp.MethodResourcesRead && q.Ref.URI == PageURI
}

func (s *Server) page() tool.Part { return tool.Part{URI: PageURI, MIME: appMIME, Text: s.AppPage()} }

// pageMeta returns the _meta of a resource: for the page, that it needs no other origin.
func pageMeta(mime string) map[string]any {
	if mime != appMIME {
		return nil
	}
	none := []string{}
	return map[string]any{"ui": map[string]any{
		"csp":           map[string][]string{"connectDomains": none, "resourceDomains": none},
		"prefersBorder": true,
	}}
}

// withView adds a View to the _meta of a written result, without the end of its message.
func withView(result []byte, view any, modern bool) []byte {
	if view == nil {
		return result
	}
	written, err := text.JSON(view)
	if err != nil { // it was JSON before
		return result
	}
	member := append(append([]byte(`"`+viewKey+`":`), written...), "}}"...)
	if modern { // the result ends with _meta
		return append(append(result[:len(result)-len("}}")], ','), member...)
	}
	return append(append(result[:len(result)-len("}")], `,"_meta":{`...), member...)
}
