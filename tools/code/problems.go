package code

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

const (
	problemsTime  = 300 * time.Millisecond
	problemsLines = 5
	problemsFiles = 10
)

// Problems returns the problems that a change has made in its files, in at most five lines; "" for none, and if no
// server runs that knows the files. It takes 300 ms at most.
func (r *Room) Problems(ctx context.Context, changed []workspace.Changed) string {
	if r == nil || len(changed) > problemsFiles {
		return ""
	}
	r.mu.Lock()
	running := len(r.servers)
	r.mu.Unlock()
	if running == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, problemsTime)
	defer cancel()
	c := tool.CallerFrom(ctx)
	secrets := r.o.Secrets.For(scrub.Session{Agent: c.Agent, User: c.User, ID: c.Session})
	var lines []string
	more := 0
	for _, file := range changed {
		l := of(r.languages, file.Name)
		if l == nil || file.Removed {
			continue
		}
		s := r.warm(ctx, l)
		if s == nil {
			continue
		}
		for _, line := range s.problems(ctx, file.Name, secrets.Text) {
			if len(lines) == problemsLines-1 {
				more++
				continue
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	answer := "problems after this change:\n" + strings.Join(lines[:min(len(lines), problemsLines-2)], "\n")
	if rest := more + max(0, len(lines)-(problemsLines-2)); rest > 0 {
		answer += fmt.Sprintf("\n[%s more; code diagnostics shows all]", text.Plural(rest, "problem"))
	}
	return answer
}

// problems returns the errors and warnings of a changed file that it did not have before, if that is known.
func (s *server) problems(ctx context.Context, name string, scrub func(string) string) (lines []string) {
	uri, err := s.uriOf(ctx, name)
	if err != nil {
		return nil // another workspace
	}
	before, known := s.conn.Reports(uri)
	s.mu.Lock()
	former := s.files[name]
	s.mu.Unlock()
	if former != nil && before.Version == nil && before.Number == former.reports {
		// The report about the former text may come only now, and does not name its version.
		_, _ = s.file(ctx, name) // the next change tries again
		return nil
	}
	f, err := s.file(ctx, name)
	if err != nil {
		return nil
	}
	now := before
	s.conn.Await(ctx, func(reports map[string]lsp.Report, _ bool) bool {
		now = reports[uri]
		return now.Number > before.Number && isAbout(now, f)
	})
	if now.Number == before.Number {
		return nil
	}
	for _, d := range now.Diagnostics {
		old := known && slices.ContainsFunc(before.Diagnostics, func(b lsp.Diagnostic) bool {
			return b.Message == d.Message && b.Severity == d.Severity
		})
		if d.Severity <= 2 && !old {
			lines = append(lines, f.name+":"+problemLine(scrub, f.text, d))
		}
	}
	return lines
}
