// Package discovery holds the tools that find and call tools outside a short list. It knows the
// tools of the caller, and of other tools only the words that users have for their work. Begin
// with search.go. Requests that do not find their tool need words: in the Keywords of the tool,
// in words.txt, or in synonyms.txt, which holds for tools of other servers too.
package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "discovery"

// Tools returns the tools of the group. others are the tools of all other groups.
func Tools(others []tool.Tool) []tool.Tool {
	return []tool.Tool{
		tool.New(toolSearch{subjects(others), &recent{}}),
		tool.New(toolCall{}),
	}
}

// subjects lists the subjects of the groups of tools, in words.
func subjects(all []tool.Tool) string {
	words := map[string]string{
		"fs": "files", "runtime": "commands", "automation": "time",
		"messaging": "chat", "teams": "agents", "media_gen": "media",
		"media_read": "documents",
	}
	var names []string
	for _, t := range all {
		if name := cmp.Or(words[t.Spec.Group], t.Spec.Group); t.Spec.Group != "results" && t.Spec.Group != "script" &&
			t.Spec.Group != "data" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
