package server

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Library is what callers read without a tool: resources and prompts. It
// answers for one caller and shows only what that caller owns. It does not decide
// whether a caller may ask: [Server.QueryLibrary] decides that by the policy of the
// tool that Tool names.
//
// Its methods are called concurrently. Cursors, URIs, names and arguments come from
// clients and are not trusted. Errors are made with [tool.Errorf]; what does not
// exist and what belongs to another caller are both [tool.NotFound].
type Library interface {
	// Tools lists the names of all tools that Tool may return.
	Tools() []string
	// Tool returns the name of the tool whose policy decides about ref, also if
	// ref does not exist; "" if it cannot exist. It depends on nothing but ref.
	Tool(ref Ref) string
	// Templates lists the forms that URIs of resources have.
	Templates() []Template
	// Resources lists a page of what c can read, from cursor on, which is ""
	// or a next that was returned before, to any caller at any time. The client
	// can decode next, so next may not name what c may not see;
	// "" ends the list. It has at most [MaxCursor] bytes.
	Resources(ctx context.Context, c tool.Caller, cursor string) (page []Resource, next string, err error)
	// Read returns what a resource holds: text, or data with its type.
	Read(ctx context.Context, c tool.Caller, uri string) ([]tool.Part, error)
	// Prompts lists all that c can get, always in the same order.
	Prompts(ctx context.Context, c tool.Caller) ([]Prompt, error)
	// Prompt fills in a prompt.
	Prompt(ctx context.Context, c tool.Caller, name string, args map[string]string) (FilledPrompt, error)
	// Complete proposes values for an argument, the best first.
	Complete(ctx context.Context, c tool.Caller, about CompletionRequest) (values []string, more bool, err error)
}

// A Ref names one thing in a library: a resource by its URI, a template by its
// own, or a prompt by its name.
type Ref struct{ URI, Prompt string }

// A Resource is something that can be read.
type Resource struct {
	URI, Name, Title, Description, MIME string
	Size                                int64     // in bytes; 0: unknown
	Modified                            time.Time // zero: unknown
}

// A Template is the form of the URIs of resources that are alike.
type Template struct{ URI, Name, Title, Description, MIME string }

// A Prompt is a template for the first messages of a conversation.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
}

// An Argument is a parameter of a prompt.
type Argument struct {
	Name, Title, Description string
	Required                 bool
}

// A FilledPrompt is a prompt with its arguments inserted.
type FilledPrompt struct {
	Description string
	Messages    []Message
}

// A Message is one turn of a conversation.
type Message struct {
	Assistant bool // the model's; otherwise it is the user's
	Part      tool.Part
}

// A CompletionRequest asks for values of an argument of a prompt or a template.
type CompletionRequest struct {
	Of    Ref
	Name  string
	Value string            // the part that the user has typed
	Given map[string]string // the other arguments that are already set
}

const (
	// MaxCursor bounds the cursor that a Library returns, in bytes.
	MaxCursor = 1024
	// maxURI bounds the URI of a resource; longer ones do not exist.
	maxURI = 2048
	// maxPage is how many prompts are listed at once, and how many resources a
	// Library should.
	maxPage = 200
	// maxSkipped is how many pages without anything that the caller may see are
	// skipped in one request.
	maxSkipped = 20
	// maxCompletions is how many values a completion may have, by the protocol.
	maxCompletions = 100
)

// governingTool returns the tool whose policy decides about ref, if there is one. If the
// library panics there is none.
func (s *Server) governingTool(ref Ref) (t tool.Tool, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			_ = s.panicked("the library", r) // is in the log
			t, ok = tool.Tool{}, false
		}
	}()
	if s.Library == nil {
		return t, false
	}
	if name := s.Library.Tool(ref); name != "" {
		return s.Config.Tools.Lookup(name)
	}
	return t, false
}
