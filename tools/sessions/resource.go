package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// URI is the inbox of the session that reads it.
const URI = "inbox://me"

// maxInbox is how many events the resource has.
const maxInbox = 50

// Resources lists the inbox, for callers with a session.
func (s *Sessions) Resources(ctx context.Context) ([]tool.Resource, error) {
	if tool.CallerFrom(ctx).Key() == "" {
		return nil, nil
	}
	return []tool.Resource{{
		URI: URI, Name: "inbox", Title: "Inbox", MIME: "text/plain",
		Description: "Events of this session: messages, and ended work in the background",
	}}, nil
}

// Resource returns the latest events. New events count as delivered when the response is
// written.
func (s *Sessions) Resource(ctx context.Context, uri string) (tool.Part, error) {
	running := tool.RunningFrom(ctx)
	if uri != URI || running.Caller.Key() == "" {
		return tool.Part{}, tool.Errorf(tool.NotFound, "there is no inbox %q", uri)
	}
	fresh := map[string]bool{}
	events, err := s.Inbox.Take(ctx, running.Caller, running.Call, nil)
	if err != nil {
		return tool.Part{}, err
	}
	for _, e := range events {
		fresh[e.ID] = true
	}
	all, err := s.Inbox.List(ctx, running.Caller, maxInbox)
	var b strings.Builder
	for _, e := range all {
		e.Again = false
		mark := ""
		if fresh[e.ID] {
			mark = " new"
		}
		long := e.Text
		e.Text = ""
		fmt.Fprintf(&b, "%s%s %s\n", e.At.UTC().Format(time.RFC3339), mark, e.Line())
		if long != "" {
			b.WriteString(quoted(long) + "\n")
		}
	}
	return tool.Part{URI: URI, Text: b.String(), MIME: "text/plain"}, err
}
