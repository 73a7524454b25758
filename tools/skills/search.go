package skills

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// skillSearch finds skills.
type skillSearch struct{ skills Skills }

type skillSearchArgs struct {
	Query string `json:"query,omitempty" jsonschema:"the task in a few words; empty lists all" alias:"q,text,name"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 8" alias:"max_results,count,top_k"`
}

const (
	usualHits    = 8
	mostHits     = 100
	longestShown = 300 // bytes of a description
)

func (skillSearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "skill_search", Group: group, Title: "Search skills", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:      "Finds skills: tested instructions for kinds of tasks. Then call use_skill.",
		Also:     []string{"skills_search", "find_skills", "list_skills", "skills_list", "search_skills", "tool::skill_search"},
		Keywords: "instructions howto playbook workflow capability",
	}
}

func (t skillSearch) Do(ctx context.Context, a skillSearchArgs) (tool.Result, error) {
	limit := usualHits
	if a.Limit > 0 {
		limit = min(a.Limit, mostHits)
	}
	found, err := t.skills.Search(ctx, a.Query, limit)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showFound(found, a.Query)), nil
}

func showFound(found Found, query string) string {
	if found.Total == 0 {
		return "there are no skills yet; publish_skill keeps a directory with a SKILL.md as one"
	}
	if len(found.Hits) == 0 {
		return fmt.Sprintf("no skill is about %q; there are: %s", clip(oneLine(query), 80), strings.Join(found.Names, ", "))
	}
	var b strings.Builder
	for _, h := range found.Hits {
		fmt.Fprintf(&b, "%s (%s", h.Name, versioned(h.Source, h.Version))
		if h.Uses > 0 {
			fmt.Fprintf(&b, ", used %s", counted(int(h.Uses), "time"))
		}
		b.WriteString("): ")
		if h.Problem != "" {
			b.WriteString("cannot be used: " + oneLine(h.Problem) + "\n")
			continue
		}
		b.WriteString(clip(oneLine(h.Description), longestShown))
		if len(h.Tags) > 0 {
			b.WriteString(" [" + clip(oneLine(strings.Join(h.Tags, ", ")), 80) + "]")
		}
		b.WriteByte('\n')
	}
	if found.More {
		fmt.Fprintf(&b, "[there are more of %d; ask more exactly, or for a higher limit]", found.Total)
	} else {
		b.WriteString("[use_skill shows the instructions of one]")
	}
	return b.String()
}

// clip cuts a text between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return strings.TrimRight(text[:most], " ") + "…"
}
