// Package gemini speaks the API of Google's Gemini for pictures, speech, videos and descriptions. It knows no model.
// Begin with [API].
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// URL is the address of Gemini.
const URL = "https://generativelanguage.googleapis.com/v1beta"

const (
	// maxInline is the total size of files within a request; larger files are uploaded first.
	maxInline = 70 << 20
	// uploadPoll is the time between two questions whether an uploaded file is ready.
	uploadPoll = 2 * time.Second
	speechRate = 24000
)

// Provider is the kind gemini.
func Provider() wire.Provider {
	return wire.Provider{Kind: "gemini", URL: URL, Attach: api.Header("x-goog-api-key", ""), Open: func(c *wire.Client) any { return API{c} }}
}

// An API is Gemini's.
type API struct{ *wire.Client }

type part struct {
	Text   string  `json:"text,omitempty"`
	Inline *inline `json:"inlineData,omitempty"`
	File   *link   `json:"fileData,omitempty"`
}

type inline struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type link struct {
	MIME string `json:"mimeType"`
	URI  string `json:"fileUri"`
}

// generate sends a request to a model, and returns the parts of its answer.
func (a API) generate(ctx context.Context, model string, parts []part, config map[string]any) ([]part, error) {
	var answer struct {
		Candidates []struct {
			Content struct {
				Parts []part `json:"parts"`
			} `json:"content"`
			Finish  string `json:"finishReason"`
			Message string `json:"finishMessage"`
		} `json:"candidates"`
		Feedback struct {
			Reason string `json:"blockReason"`
		} `json:"promptFeedback"`
	}
	body := map[string]any{
		"contents": []any{map[string]any{"role": "user", "parts": parts}}, "generationConfig": config,
	}
	call := wire.Call{Path: "models/" + url.PathEscape(model) + ":generateContent", Body: body}
	if err := a.JSON(ctx, call, &answer); err != nil {
		return nil, err
	}
	if answer.Feedback.Reason != "" {
		return nil, a.Fail(0, "content_policy", "the prompt is blocked: "+answer.Feedback.Reason)
	}
	var out []part
	for _, c := range answer.Candidates {
		out = append(out, c.Content.Parts...)
		if len(c.Content.Parts) == 0 && c.Finish != "" && c.Finish != "STOP" && c.Finish != "MAX_TOKENS" {
			return nil, a.Fail(0, "content_policy", strings.TrimSpace(c.Finish+" "+c.Message))
		}
	}
	if len(out) == 0 {
		return nil, a.Fail(500, "", "the response is empty")
	}
	return out, nil
}

func inlined(files []wire.File) (parts []part) {
	for _, f := range files {
		parts = append(parts, part{Inline: &inline{f.MIME, f.Base64()}})
	}
	return parts
}

// Photo makes pictures. The API makes one at a time.
func (a API) Photo(ctx context.Context, r wire.PhotoRequest) (files []wire.File, err error) {
	config := map[string]any{"responseModalities": []string{"IMAGE"}}
	picture := map[string]string{}
	if r.Aspect != "" {
		picture["aspectRatio"] = r.Aspect
	}
	if r.Size != "" && !strings.Contains(r.Size, "x") {
		picture["imageSize"] = strings.ToUpper(r.Size)
	}
	if len(picture) > 0 {
		config["imageConfig"] = picture
	}
	for range max(r.Count, 1) {
		parts, err := a.generate(ctx, r.Model, append(inlined(r.Pictures), part{Text: r.Prompt}), config)
		if err != nil {
			return nil, err
		}
		words := ""
		for _, p := range parts {
			if p.Inline == nil {
				words += p.Text
				continue
			}
			file, err := a.Decode(wire.Call{}, p.Inline.MIME, p.Inline.Data, wire.FromBase64)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		if len(files) == 0 {
			return nil, a.Fail(500, "", "it answered without a picture: "+words)
		}
	}
	return files, nil
}

// Ignores returns the arguments of a request for speech that the API does not have.
func (API) Ignores(r wire.SpeechRequest) (names []string) {
	if r.Speed != 0 && r.Speed != 1 {
		names = append(names, "speed")
	}
	if r.Language != "" {
		names = append(names, "language")
	}
	return names
}

// Speak reads a text aloud.
func (a API) Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, error) {
	words := r.Text
	if r.Style != "" {
		words = r.Style + ":\n" + words
	}
	parts, err := a.generate(ctx, r.Model, []part{{Text: words}}, map[string]any{
		"responseModalities": []string{"AUDIO"},
		"speechConfig": map[string]any{"voiceConfig": map[string]any{"prebuiltVoiceConfig": map[string]string{
			"voiceName": cmp.Or(r.Voice, r.Params["voice"], "Kore"),
		}}},
	})
	if err != nil {
		return wire.File{}, err
	}
	for _, p := range parts {
		if p.Inline == nil {
			continue
		}
		kind, _, _ := strings.Cut(strings.ToLower(p.Inline.MIME), ";")
		bare := wire.OneOf(kind, "audio/l16", "audio/pcm")
		file, err := a.Decode(wire.Call{Sound: bare}, kind, p.Inline.Data, wire.FromBase64)
		if err == nil && bare {
			file = wire.WAV(file.Data, rate(p.Inline.MIME))
		}
		return file, err
	}
	return wire.File{}, a.Fail(500, "", "it answered without speech")
}

// rate returns the samples per second of a type such as audio/L16;codec=pcm;rate=24000.
func rate(kind string) int {
	n := speechRate
	if _, after, ok := strings.Cut(kind, "rate="); ok {
		if _, err := fmt.Sscanf(after, "%d", &n); err != nil || n <= 0 {
			n = speechRate
		}
	}
	return n
}

// Describe answers a question about files.
func (a API) Describe(ctx context.Context, r wire.DescriptionRequest) (string, error) {
	size := 0
	for _, f := range r.Files {
		size += len(f.Data)
	}
	var parts []part
	if size <= maxInline {
		parts = inlined(r.Files)
	} else {
		for _, f := range r.Files {
			uploaded, err := a.upload(ctx, f)
			if uploaded.Name != "" {
				defer a.remove(ctx, uploaded)
			}
			if err != nil {
				return "", err
			}
			parts = append(parts, part{File: &link{f.MIME, uploaded.URI}})
		}
	}
	config := map[string]any{}
	if r.MaxTokens > 0 {
		config["maxOutputTokens"] = r.MaxTokens
	}
	parts, err := a.generate(ctx, r.Model, append(parts, part{Text: r.Prompt}), config)
	if err != nil {
		return "", err
	}
	words := ""
	for _, p := range parts {
		words += p.Text
	}
	if words == "" {
		return "", a.Fail(500, "", "it answered without text")
	}
	return words, nil
}

type upload struct {
	Name  string `json:"name"`
	URI   string `json:"uri"`
	State string `json:"state"`
}

// upload stores a file at the provider until it is removed.
func (a API) upload(ctx context.Context, f wire.File) (upload, error) {
	header, err := a.Send(ctx, wire.Call{
		Path: a.At("/upload/v1beta/files"), Body: map[string]any{"file": map[string]string{"display_name": "file"}},
		Header: map[string]string{
			"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
			"X-Goog-Upload-Header-Content-Length": fmt.Sprint(len(f.Data)),
			"X-Goog-Upload-Header-Content-Type":   f.MIME,
		},
	})
	if err != nil {
		return upload{}, err
	}
	var answer struct {
		File upload `json:"file"`
	}
	if err := a.JSON(ctx, wire.Call{
		Path: header.Get("X-Goog-Upload-Url"), Body: f.Data,
		Header: map[string]string{"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"},
	}, &answer); err != nil {
		return upload{}, err
	}
	for answer.File.State == "PROCESSING" {
		if err := a.Pause(ctx, uploadPoll); err != nil {
			return answer.File, err
		}
		if err := a.JSON(ctx, wire.Call{Method: "GET", Path: answer.File.Name}, &answer.File); err != nil {
			return answer.File, err
		}
	}
	if answer.File.State != "ACTIVE" {
		return answer.File, a.Fail(500, "", "it cannot read the file that was uploaded: "+answer.File.State)
	}
	return answer.File, nil
}

// remove removes an uploaded file. The provider removes it after two days itself.
func (a API) remove(ctx context.Context, u upload) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	_, _ = a.Send(ctx, wire.Call{Method: "DELETE", Path: u.Name})
}

type interaction struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Video  *video `json:"output_video"`
	Error  struct {
		Message string `json:"message"`
	} `json:"error"`
}

type video struct {
	Data string `json:"data"`
	URI  string `json:"uri"`
	MIME string `json:"mime_type"`
}

// Video orders a video. The provider may make it at once. Wishes about it are part of the
// prompt: the API has no parameters for it.
func (a API) Video(ctx context.Context, r wire.VideoRequest) (wire.Made, error) {
	words := r.Prompt
	if r.Seconds > 0 {
		words += fmt.Sprintf("\nLength: %d seconds.", r.Params.Nearest("seconds", r.Seconds))
	}
	if r.Aspect != "" {
		words += "\nAspect ratio: " + r.Aspect + "."
	}
	input := []map[string]string{{"type": "text", "text": words}}
	if r.Picture != nil {
		input = slices.Insert(input, 0,
			map[string]string{"type": "image", "data": r.Picture.Base64(), "mime_type": r.Picture.MIME})
	}
	var answer interaction
	call := wire.Call{Path: "interactions", Body: map[string]any{"model": r.Model, "input": input}, Once: true}
	if err := a.JSON(ctx, call, &answer); err != nil {
		return wire.Made{}, err
	}
	made, err := a.made(answer)
	if !made.Ended && made.Ticket.ID == "" {
		return made, a.Fail(500, "", "the response has neither a video nor an id")
	}
	return made, err
}

func (a API) made(i interaction) (wire.Made, error) {
	made := wire.Made{Ticket: wire.Ticket{ID: i.ID}, Message: i.Status}
	switch {
	case i.Video != nil && i.Video.Data != "":
		made.Ended = true
		file, err := a.Decode(wire.Call{Once: true}, i.Video.MIME, i.Video.Data, wire.FromBase64)
		made.Files = []wire.File{file}
		return made, err
	case i.Video != nil && i.Video.URI != "":
		made.Ended = true
		made.URLs = []string{i.Video.URI}
	case wire.OneOf(i.Status, "failed", "cancelled", "incomplete", "completed"):
		made.Ended = true
		return made, a.Fail(500, "", cmp.Or(i.Error.Message, "the order is "+i.Status+" without a video"))
	}
	return made, nil
}

// Check asks for an order.
func (a API) Check(ctx context.Context, t wire.Ticket) (wire.Made, error) {
	var answer interaction
	if err := a.JSON(ctx, wire.Call{Method: "GET", Path: "interactions/" + url.PathEscape(t.ID)}, &answer); err != nil {
		return wire.Made{}, err
	}
	return a.made(answer)
}

// Cancel ends an order.
func (a API) Cancel(ctx context.Context, t wire.Ticket) error {
	return a.JSON(ctx, wire.Call{Path: "interactions/" + url.PathEscape(t.ID) + "/cancel"}, &json.RawMessage{})
}
