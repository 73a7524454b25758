package tool

import "fmt"

// A Part is one piece of a result: text, or data with a MIME type, such as an image
// or audio for the model. With a URI it is a resource, or a link if it has neither
// text nor data.
type Part struct {
	Text string
	Data []byte
	MIME string
	URI  string
	Name string // of a link
	// For is the reader of the part; "" is both.
	For Audience
}

// An Audience is the reader of a part of a result.
type Audience string

// The audiences.
const (
	ForPerson Audience = "user"
	ForModel  Audience = "assistant"
)

// ResultScheme begins the URI of a result that was kept because it is long.
const ResultScheme = "result:///"

// LinkToResult returns a link to a kept result, for the person. The text says to the
// model how to read on.
func LinkToResult(handle string) Part {
	return Part{URI: ResultScheme + handle, Name: "the whole result", MIME: "text/plain", For: ForPerson}
}

// A Result is the result of a call. Text is for the model; Data goes to programs as structured content and is never a
// second copy of the text. Make one with [Text], and add parts with [Result.Add]. A tool does not scrub or cut its
// result: the server does both after the call, and keeps a long text for read_result.
type Result struct {
	Parts []Part
	Data  any
	// View is the part of the page of an MCP App beyond the text; see [Viewed]. Models do not get it.
	View any
	// Failed marks a result that describes a failure.
	Failed bool
	// Kind of the failure, "" for none.
	Kind Kind
	// ExitCode is the exit code of the command of the call. Only the command line uses it.
	ExitCode int
	// End is how the work of the call ended or that it continues, in a few words, such as "exit code 1".
	// Only the audit log has it.
	End string
	// Task is the work that continues after the call, or nil.
	Task *Task
}

// Text returns a result with one text.
func Text(text string) Result { return Result{Parts: []Part{{Text: text}}} }

// Textf is Text with formatting.
func Textf(format string, args ...any) Result { return Text(fmt.Sprintf(format, args...)) }

// Failure returns the result that describes err to the model.
func Failure(err error) Result {
	known := AsError(err)
	r := Text(known.Error())
	r.Failed, r.Kind = true, known.Kind
	return r
}

// With returns r with structured content, a struct or a map of the type of
// Spec.Output. Clients get it if they ask for it.
func (r Result) With(data any) Result {
	r.Data = data
	return r
}

// Showing returns r with data for the page of an MCP App.
func (r Result) Showing(view any) Result {
	r.View = view
	return r
}

// Add returns r with more parts.
func (r Result) Add(parts ...Part) Result {
	r.Parts = append(r.Parts[:len(r.Parts):len(r.Parts)], parts...)
	return r
}

// Text joins the text parts with newlines.
func (r Result) Text() string {
	text := ""
	for _, p := range r.Parts {
		if p.Text == "" {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += p.Text
	}
	return text
}

// Map returns r with f applied to every text that a reader could see, and value to
// the structured content.
func (r Result) Map(f func(string) string, value func(any) any) Result {
	parts := make([]Part, len(r.Parts))
	for i, p := range r.Parts {
		p.Text, p.URI, p.Name = f(p.Text), f(p.URI), f(p.Name)
		parts[i] = p
	}
	r.Parts = parts
	if r.Data != nil {
		r.Data = value(r.Data)
	}
	if r.View != nil {
		r.View = value(r.View)
	}
	return r
}

// Size returns the number of bytes of text and data in r, without structured
// content.
func (r Result) Size() int {
	n := 0
	for _, p := range r.Parts {
		n += len(p.Text) + len(p.Data)
	}
	return n
}
