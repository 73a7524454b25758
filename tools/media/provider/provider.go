// Package provider has media made and read by the providers that the operator has set
// up: pictures, speech, sound, music and video, transcripts and descriptions.
//
// For each task there is a chain of models. The first one is asked; if it cannot, because
// it has ended, is too busy or fails, the next one is, and the answer says so. What a
// provider refuses because of its content is not tried elsewhere. Before each request the
// highest price that it can have is taken from the budgets of the models; [Providers.Ask]
// says what a person must approve because of its price.
//
// The table of models in models.txt is data: names, prices and the days on which they
// end. The package knows no workspace and no tool. Begin with [New] and [Providers.Photo];
// the APIs are in the packages below, over package wire.
package provider

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// Providers are the providers that the operator has set up. The methods may be called
// concurrently, and on nil, which has none.
type Providers struct{}

// By says who has answered a request.
type By struct {
	Model string    // PROVIDER/MODEL
	Cost  llm.Money // an estimate; 0 if no price is known
	Notes []string  // in a sentence each: who was asked before, and why it did not answer
}

// Can reports whether there is a model for a task.
func (p *Providers) Can(wire.Task) bool { return false }

// Photo makes pictures.
func (p *Providers) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, By, error) {
	return nil, By{}, none(wire.Photo)
}

// Speak reads a text aloud.
func (p *Providers) Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, By, error) {
	return wire.File{}, By{}, none(wire.Speech)
}

// Transcribe returns what is said in a recording.
func (p *Providers) Transcribe(ctx context.Context, r wire.TranscriptionRequest) (wire.Transcript, By, error) {
	return wire.Transcript{}, By{}, none(wire.Transcription)
}

// Describe answers a question about files.
func (p *Providers) Describe(ctx context.Context, r wire.DescriptionRequest) (string, By, error) {
	return "", By{}, none(wire.Description)
}

// Ask returns what a person must approve because of the price of a request, or "". It is
// the Ask of a [tool.Plan].
func (p *Providers) Ask(r wire.Request) string { return "" }

func none(t wire.Task) error {
	return tool.Errorf(tool.Unavailable, "no provider for %s is set up", t).
		Try("do without it, or ask the operator to add one to media.providers")
}
