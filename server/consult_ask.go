package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// consult asks the library what an inquiry wants to know, and leaves out what
// the caller may not see.
func (c *call) consult(ctx context.Context, q Inquiry) (found Finding, err error) {
	lib := c.server.Library
	switch q.Method {
	case mcp.MethodResourcesList:
		return c.listResources(ctx, q)
	case mcp.MethodResourcesTemplatesList:
		if q.Cursor != "" {
			return found, badCursor(q)
		}
		found.Templates = among(lib.Templates(), func(t Template) bool { return c.sees(Ref{URI: t.URI}) })
	case mcp.MethodResourcesRead:
		found.Parts, err = lib.Read(ctx, c.Caller, q.Ref.URI)
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		err = q.Keep()
	case mcp.MethodPromptsList:
		return c.listPrompts(ctx, q)
	case mcp.MethodPromptsGet:
		found.Filled, err = lib.Prompt(ctx, c.Caller, q.Ref.Prompt, q.Args)
	case mcp.MethodCompletionComplete:
		if q.Ref.Prompt == "" &&
			!slices.ContainsFunc(lib.Templates(), func(t Template) bool { return t.URI == q.Ref.URI }) {
			return found, c.notThere(q)
		}
		found.Values, found.More, err = lib.Complete(ctx, c.Caller, q.Blank)
	default:
		return found, fmt.Errorf("the library has no method %s", q.Method)
	}
	return found, err
}

// listResources finds a page with something on it, or the end.
func (c *call) listResources(ctx context.Context, q Inquiry) (found Finding, err error) {
	place, err := placeIn(q)
	if err != nil {
		return found, err
	}
	for range maxSkipped {
		page, next, err := c.server.Library.Resources(ctx, c.Caller, place)
		if err != nil {
			return found, err
		}
		found.Resources = among(page, func(r Resource) bool { return soundURI(r.URI) && c.sees(Ref{URI: r.URI}) })
		found.Next, err = c.cursor(q, next)
		if err != nil || next == "" || len(found.Resources) > 0 {
			return found, err
		}
		place = next
	}
	return found, nil
}

// listPrompts finds a page of prompts. Its place in the list is a number.
func (c *call) listPrompts(ctx context.Context, q Inquiry) (found Finding, err error) {
	place, err := placeIn(q)
	if err != nil {
		return found, err
	}
	from := 0
	if place != "" {
		if from, err = strconv.Atoi(place); err != nil || from < 0 {
			return found, badCursor(q)
		}
	}
	all, err := c.server.Library.Prompts(ctx, c.Caller)
	if err != nil {
		return found, err
	}
	seen := among(all, func(one Prompt) bool {
		return one.Name != "" && len(one.Name) <= maxURI && c.sees(Ref{Prompt: one.Name})
	})
	from = min(from, len(seen))
	to := c.pageEnd(seen, from)
	if found.Prompts = seen[from:to]; to < len(seen) {
		found.Next, err = c.cursor(q, strconv.Itoa(to))
	}
	return found, err
}

// pageEnd is where a page of prompts is full.
func (c *call) pageEnd(all []Prompt, from int) int {
	room := c.now.Limits.ResultHard / 2 // scrubbing may make a text longer
	for to := from; to < len(all); to++ {
		written, err := jsonrpc.Marshal(all[to])
		if room -= len(written); to > from && (err != nil || to-from == maxPage || room < 0) {
			return to
		}
	}
	return len(all)
}

// among is a list of those for which ok is true. The library's own stays whole.
func among[T any](list []T, ok func(T) bool) []T {
	kept := make([]T, 0, len(list))
	for _, one := range list {
		if ok(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// Cursor is a place in a list as the client gets it. It depends on no process,
// because the next page may be another's to find.
func (c *call) cursor(q Inquiry, place string) (string, error) {
	if place == "" {
		return "", nil
	}
	if len(place) > MaxCursor || c.server.scrub.Text(place) != place { // once encoded, it could not be scrubbed
		return "", fmt.Errorf("the library's cursor is longer than %d bytes, or has a secret in it", MaxCursor)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(string(q.Method) + " " + place)), nil
}

// placeIn reads the cursor of an inquiry.
func placeIn(q Inquiry) (string, error) {
	if q.Cursor == "" {
		return "", nil
	}
	if len(q.Cursor) > 2*(MaxCursor+jsonrpc.MaxQuoted) {
		return "", badCursor(q)
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	place, ours := strings.CutPrefix(string(plain), string(q.Method)+" ")
	if err != nil || !ours || place == "" || len(place) > MaxCursor || !utf8.ValidString(place) {
		return "", badCursor(q)
	}
	return place, nil
}

func badCursor(q Inquiry) error {
	return tool.Errorf(tool.Invalid, "that is no cursor of %s", q.Method).Try("begin again without a cursor")
}
