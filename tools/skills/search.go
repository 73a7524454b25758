package skills

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// skillSearch is the tool that finds skills.
type skillSearch struct{ library *Library }

type skillSearchArgs struct {
	Query string `json:"query,omitempty" jsonschema:"the task in a few words; empty or * lists all" alias:"q,text,name"`
	Limit int    `json:"limit,omitempty" jsonschema:"skills to return" alias:"max_results,count,top_k"`
}

const (
	defaultHits         = 8
	maxHits             = 100
	maxShownDescription = 300 // bytes
	maxOthers           = 100 // skills that did not match, returned if nothing matches well
	maxDescribed        = 30  // of these, with a description
	maxOtherDescription = 120 // bytes
	wellCovered         = 0.7 // share of a query's word weight in a hit that matches well
)

func (skillSearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "skill_search", Group: group, Title: "Search skills",
		Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc: `Finds skills: instructions for kinds of tasks. Returns names and descriptions.
To get the instructions use use_skill.`,
		Also: []string{
			"skills_search", "find_skills", "list_skills", "skills_list", "search_skills", "tool::skill_search",
		},
		Keywords: "instructions howto guide recipe style how should playbook workflow capability which list do we " +
			"have expertise template",
		Output: Found{},
	}
}

func (t skillSearch) Do(ctx context.Context, a skillSearchArgs) (tool.Result, error) {
	found, err := t.library.Search(ctx, a.Query, a.limit())
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(formatFound(found, a.Query)).With(found), nil
}

func (a skillSearchArgs) limit() int {
	if a.Limit <= 0 {
		return defaultHits
	}
	return min(a.Limit, maxHits)
}

// Found is the result of [Library.Search], the best first, also for programs.
type Found struct {
	Hits   []Hit   `json:"skills"`
	Total  int     `json:"total"` // number of skills that the caller sees
	More   bool    `json:"more"`
	Others []Other `json:"others,omitempty"` // skills that are not hits, if nothing matches well
}

// An Other is a skill that has none of the words of a query: only its description tells a reader whether it fits.
type Other struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // shortened; only the first have one
}

// A Hit is a skill in short.
type Hit struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags,omitempty"`
	Source      string   `json:"source"`
	Version     int64    `json:"version,omitempty"` // 0 for a skill in a directory
	Problem     string   `json:"problem,omitempty"` // why it cannot be used; "" if it can
}

func formatFound(found Found, query string) string {
	if found.Total == 0 {
		return "there are no skills yet; to publish a directory with a SKILL.md use publish_skill"
	}
	if len(found.Hits) == 0 {
		return fmt.Sprintf("no skill has the words of %q; these exist:\n%s",
			text.Clip(oneLine(query), 80), strings.TrimSuffix(formatOthers(found.Others), "\n"))
	}
	var b strings.Builder
	if len(found.Others) > 0 {
		b.WriteString("[weak match: these have only a part of the query's words]\n")
	}
	for _, h := range found.Hits {
		fmt.Fprintf(&b, "%s (%s): ", h.Name, withVersion(h.Source, h.Version))
		if h.Problem != "" {
			b.WriteString("cannot be used: " + oneLine(h.Problem) + "\n")
			continue
		}
		b.WriteString(text.Clip(oneLine(h.Description), maxShownDescription))
		if len(h.Tags) > 0 {
			b.WriteString(" [" + text.Clip(oneLine(strings.Join(h.Tags, ", ")), 80) + "]")
		}
		b.WriteByte('\n')
	}
	if len(found.Others) > 0 {
		b.WriteString("[the other skills]\n" + formatOthers(found.Others))
	}
	if found.More {
		fmt.Fprintf(&b, "[more results of %d skills; use a narrower query or a higher limit]", found.Total)
	} else {
		b.WriteString("[to get the instructions of one use use_skill]")
	}
	return b.String()
}

// formatOthers writes skills with a description on a line each, then the names of the rest.
func formatOthers(others []Other) string {
	var b strings.Builder
	var names []string
	for _, o := range others {
		if o.Description == "" {
			names = append(names, o.Name)
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", o.Name, oneLine(o.Description))
	}
	if len(names) > 0 {
		b.WriteString(strings.Join(names, ", ") + "\n")
	}
	return b.String()
}

// Search finds skills by their words, and by their meaning if there is an encoder. The queries "" and "*" list all.
func (l *Library) Search(ctx context.Context, query string, limit int) (found Found, err error) {
	err = l.withView(ctx, func(v *view, _ tool.Owner) error {
		found.Hits, found.Total = []Hit{}, len(v.items)
		if q := strings.TrimSpace(query); q == "" || q == "*" {
			list := v.sorted()
			found.More = len(list) > limit
			for _, i := range list[:min(limit, len(list))] {
				found.Hits = append(found.Hits, i.hit())
			}
			return nil
		}
		result := v.search(query, limit)
		var slugs []string
		for _, h := range result.Hits {
			slugs = append(slugs, h.ID)
		}
		byMeaning := l.byMeaning(ctx, v, query)
		slugs = fuse(slugs, byMeaning)
		found.More = result.More || len(slugs) > limit
		slugs = slugs[:min(len(slugs), limit)]
		for _, slug := range slugs {
			found.Hits = append(found.Hits, v.items[slug].hit())
		}
		weak := len(result.Hits) == 0 || v.words.Coverage(query, result.Hits[0]) < wellCovered
		if weak && len(byMeaning) == 0 {
			found.Others = v.others(slugs)
		}
		return nil
	})
	return found, err
}

// others returns the skills besides hits.
func (v *view) others(hits []string) (others []Other) {
	for _, i := range v.sorted() {
		if slices.Contains(hits, i.slug) || len(others) == maxOthers {
			continue
		}
		o := Other{Name: i.slug}
		if i.problem == "" && len(others) < maxDescribed {
			o.Description = text.Clip(i.meta.Description, maxOtherDescription)
		}
		others = append(others, o)
	}
	return others
}

func (i item) hit() Hit {
	return Hit{
		Name: i.slug, Description: i.meta.Description, Tags: i.meta.Tags, Source: i.source(), Version: i.version.Number,
		Problem: i.problem,
	}
}
