// Package openrouter speaks the API of OpenRouter, a gateway to many providers. Begin with
// [API].
package openrouter

import (
	"context"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/media/provider/openai"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// URL is the address of OpenRouter.
const URL = "https://openrouter.ai/api/v1"

// Provider is the kind openrouter.
func Provider() wire.Provider {
	return wire.Provider{Kind: "openrouter", URL: URL, Open: func(c *wire.Client) any { return API{openai.API{Client: c}} }}
}

// An API is OpenRouter's. Speech and descriptions are as with OpenAI.
type API struct{ openai.API }

type reference struct {
	Type  string            `json:"type"`
	URL   map[string]string `json:"image_url"`
	Frame string            `json:"frame_type,omitempty"`
}

func refer(file wire.File, frame string) reference {
	return reference{"image_url", map[string]string{"url": file.DataURL()}, frame}
}

// Photo makes pictures.
func (a API) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, error) {
	body := struct {
		Model      string      `json:"model"`
		Prompt     string      `json:"prompt"`
		Count      int         `json:"n"`
		Aspect     string      `json:"aspect_ratio,omitempty"`
		Resolution string      `json:"resolution,omitempty"`
		Inputs     []reference `json:"input_references,omitempty"`
	}{Model: r.Model, Prompt: r.Prompt, Count: max(r.Count, 1), Aspect: r.Aspect}
	if !strings.Contains(r.Size, "x") {
		body.Resolution = r.Size
	}
	for _, picture := range r.Pictures {
		body.Inputs = append(body.Inputs, refer(picture, ""))
	}
	return openai.Pictures(ctx, a.Client, wire.Call{Path: "images", Body: body})
}

// Transcribe returns the words of a recording.
func (a API) Transcribe(ctx context.Context, r wire.TranscriptionRequest) (wire.Transcript, error) {
	format := strings.TrimPrefix(wire.Extension(r.Audio.MIME), ".")
	body := map[string]any{
		"model": r.Model, "input_audio": map[string]string{"data": r.Audio.Base64(), "format": format},
	}
	if r.Language != "" {
		body["language"] = r.Language
	}
	var answer struct {
		Text *string `json:"text"`
	}
	if err := a.JSON(ctx, wire.Call{Path: "audio/transcriptions", Body: body}, &answer); err != nil {
		return wire.Transcript{}, err
	}
	if answer.Text == nil {
		return wire.Transcript{}, a.Fail(0, "", "the response has no text")
	}
	return wire.Transcript{Text: *answer.Text, Language: r.Language}, nil
}

type order struct {
	ID     string   `json:"id"`
	Poll   string   `json:"polling_url"`
	Status string   `json:"status"`
	URLs   []string `json:"urls"`
	Own    []string `json:"unsigned_urls"` // they want the key
	Error  any      `json:"error"`
}

// Video orders a video.
func (a API) Video(ctx context.Context, r wire.VideoRequest) (wire.Made, error) {
	body := struct {
		Model      string      `json:"model"`
		Prompt     string      `json:"prompt"`
		Seconds    int         `json:"duration,omitempty"`
		Resolution string      `json:"resolution,omitempty"`
		Aspect     string      `json:"aspect_ratio,omitempty"`
		Frames     []reference `json:"frame_images,omitempty"`
	}{
		Model: r.Model, Prompt: r.Prompt, Resolution: strings.ToLower(r.Params.Choose("resolution", r.Resolution)),
		Aspect: r.Aspect,
	}
	if r.Seconds > 0 {
		body.Seconds = r.Params.Nearest("seconds", r.Seconds)
	}
	if r.Picture != nil {
		body.Frames = []reference{refer(*r.Picture, "first_frame")}
	}
	var o order
	if err := a.JSON(ctx, wire.Call{Path: "videos", Body: body, Once: true}, &o); err != nil {
		return wire.Made{}, err
	}
	return wire.Made{Ticket: wire.Ticket{ID: o.ID}, Message: o.Status}, nil
}

// Check asks for an order.
func (a API) Check(ctx context.Context, t wire.Ticket) (made wire.Made, err error) {
	var o order
	if err := a.JSON(ctx, wire.Call{Method: "GET", Path: "videos/" + url.PathEscape(t.ID)}, &o); err != nil {
		return made, err
	}
	made.Message = o.Status
	switch o.Status {
	case "completed":
		made.Ended = true
		switch {
		case len(o.URLs) > 0:
			made.URLs = o.URLs[:1]
		case len(o.Own) > 0:
			made.URLs = o.Own[:1]
		default:
			made.URLs = []string{a.At("/api/v1/videos/"+url.PathEscape(t.ID)+"/content") + "?index=0"}
		}
	case "failed", "cancelled", "expired":
		made.Ended = true
		words, _ := o.Error.(string)
		if object, ok := o.Error.(map[string]any); ok {
			words, _ = object["message"].(string)
		}
		return made, a.Fail(500, "", "the order is "+o.Status+": "+words)
	}
	return made, nil
}
