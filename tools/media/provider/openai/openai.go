// Package openai speaks the API of OpenAI for pictures, speech, transcripts and descriptions.
// Local servers have this API too. The package knows no model; begin with [API].
package openai

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// URL is the address of OpenAI.
const URL = "https://api.openai.com/v1"

// Provider is the kind openai.
func Provider() wire.Provider {
	return wire.Provider{Kind: "openai", URL: URL, Open: func(c *wire.Client) any { return API{Client: c} }}
}

// An API is OpenAI's, or one like it.
type API struct {
	*wire.Client
	Chat string // the path of chat completions; "" is the usual one
}

// Photo makes pictures, or changes the pictures of the request.
func (a API) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, error) {
	size := "auto"
	if r.Aspect != "" || r.Size != "" {
		width, height := wire.Size(r.Aspect, r.Size, wire.Pixels(r.Size, 1<<20), 16)
		size = nearest(r.Params.List("sizes"), width, height)
	}
	call := wire.Call{Path: "images/generations"}
	if len(r.Pictures) == 0 {
		call.Body = photo{
			r.Model, r.Prompt, max(r.Count, 1), size, r.Quality, r.Background, cmp.Or(r.Format, "png"),
		}
	} else {
		form := outbound.NewForm()
		for name, value := range map[string]string{
			"model": r.Model, "prompt": r.Prompt, "n": fmt.Sprint(max(r.Count, 1)), "size": size, "quality": r.Quality,
			"background": r.Background, "output_format": cmp.Or(r.Format, "png"),
		} {
			form.Set(name, value)
		}
		for _, picture := range r.Pictures {
			picture.AddTo(form, "image[]")
		}
		call.Path, call.Body = "images/edits", form
	}
	return Pictures(ctx, a.Client, call)
}

type photo struct {
	Model      string `json:"model"`
	Prompt     string `json:"prompt"`
	Count      int    `json:"n"`
	Size       string `json:"size"`
	Quality    string `json:"quality,omitempty"`
	Background string `json:"background,omitempty"`
	Format     string `json:"output_format"`
}

// nearest returns the size of a list that has the most similar shape. Without a list each
// size is possible.
func nearest(list []string, width, height int) string {
	if len(list) == 0 {
		return fmt.Sprintf("%dx%d", width, height)
	}
	best, least := list[0], 0.0
	for i, one := range list {
		var w, h int
		if n, err := fmt.Sscanf(one, "%dx%d", &w, &h); err != nil || n != 2 || h == 0 {
			continue
		}
		ratio := float64(w) * float64(height) / float64(h) / float64(width)
		if off := max(ratio, 1/ratio); i == 0 || off < least {
			best, least = one, off
		}
	}
	return best
}

// Pictures sends a call whose response has pictures, as base64 or links.
func Pictures(ctx context.Context, c *wire.Client, call wire.Call) ([]wire.File, error) {
	var answer struct {
		Data []struct {
			Base64 string `json:"b64_json"`
			URL    string `json:"url"`
		} `json:"data"`
	}
	if err := c.JSON(ctx, call, &answer); err != nil {
		return nil, err
	}
	var made wire.Made
	for _, one := range answer.Data {
		if one.Base64 == "" {
			made.URLs = append(made.URLs, one.URL)
			continue
		}
		file, err := c.Decode(call, "", one.Base64, wire.FromBase64)
		if err != nil {
			return nil, err
		}
		made.Files = append(made.Files, file)
	}
	return c.FetchAll(ctx, made)
}

// Ignores returns the arguments of a request for speech that the API does not have.
func (API) Ignores(r wire.SpeechRequest) (names []string) {
	if r.Language != "" {
		names = append(names, "language")
	}
	return names
}

// Speak reads a text aloud.
func (a API) Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, error) {
	return a.File(ctx, wire.Call{Path: "audio/speech", Body: struct {
		Model        string  `json:"model"`
		Input        string  `json:"input"`
		Voice        string  `json:"voice"`
		Format       string  `json:"response_format"`
		Speed        float64 `json:"speed,omitempty"`
		Instructions string  `json:"instructions,omitempty"`
	}{r.Model, r.Text, cmp.Or(r.Voice, r.Params["voice"], "alloy"), cmp.Or(r.Format, "mp3"), r.Speed, r.Style}})
}

// Transcribe returns the words of a recording.
func (a API) Transcribe(ctx context.Context, r wire.TranscriptionRequest) (t wire.Transcript, err error) {
	form := outbound.NewForm()
	form.Set("model", r.Model)
	form.Set("prompt", r.Hint)
	form.Set(cmp.Or(r.Params["language"], "language"), r.Language)
	r.Audio.AddTo(form, "file")
	var answer struct {
		Text     *string `json:"text"`
		Language string  `json:"language"`
	}
	if err := a.JSON(ctx, wire.Call{Path: "audio/transcriptions", Body: form}, &answer); err != nil {
		return t, err
	}
	if answer.Text == nil {
		return t, a.Fail(0, "", "the response has no text")
	}
	return wire.Transcript{Text: *answer.Text, Language: cmp.Or(answer.Language, r.Language)}, nil
}

// Describe answers a question about pictures and, with models that take it, sound.
func (a API) Describe(ctx context.Context, r wire.DescriptionRequest) (string, error) {
	parts := []any{map[string]any{"type": "text", "text": r.Prompt}}
	for _, file := range r.Files {
		kind, format, _ := strings.Cut(file.MIME, "/")
		switch {
		case kind == "image":
			parts = append(parts, map[string]any{"type": "image_url",
				"image_url": map[string]string{"url": file.DataURL()}})
		case kind == "audio" && r.Params["sound"] != "" && wire.OneOf(format, "mpeg", "wav"):
			parts = append(parts, map[string]any{"type": "input_audio", "input_audio": map[string]string{
				"data": file.Base64(), "format": map[string]string{"mpeg": "mp3", "wav": "wav"}[format],
			}})
		default:
			return "", a.Fail(400, "", "the model "+r.Model+" reads no "+file.MIME)
		}
	}
	body := map[string]any{
		"model": r.Model, "messages": []any{map[string]any{"role": "user", "content": parts}},
	}
	if r.MaxTokens > 0 {
		body[cmp.Or(r.Params["limit"], "max_tokens")] = r.MaxTokens
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
				Refusal string `json:"refusal"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := a.JSON(ctx, wire.Call{Path: cmp.Or(a.Chat, "chat/completions"), Body: body}, &answer); err != nil {
		return "", err
	}
	switch {
	case len(answer.Choices) == 0:
		return "", a.Fail(0, "", "the response is empty")
	case answer.Choices[0].Message.Refusal != "":
		return "", a.Fail(0, "content_policy", answer.Choices[0].Message.Refusal)
	case answer.Choices[0].Finish == "content_filter":
		return "", a.Fail(0, "content_filter", "")
	case answer.Choices[0].Message.Content == "":
		return "", a.Fail(0, "", "the response is empty")
	}
	return answer.Choices[0].Message.Content, nil
}
