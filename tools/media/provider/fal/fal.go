// Package fal speaks the API of fal's queue. A model is the path of its app. Begin with
// [API].
package fal

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// URL is the address of fal's queue.
const URL = "https://queue.fal.run"

const poll = 2 * time.Second

// Provider is the kind fal.
func Provider() wire.Provider {
	return wire.Provider{Kind: "fal", URL: URL, Attach: api.Header("Authorization", "Key "), Open: func(c *wire.Client) any { return API{c} }}
}

// An API is the API of fal.
type API struct{ *wire.Client }

// submit puts a request into the queue of an app.
func (a API) submit(ctx context.Context, app string, input map[string]any, once bool) (wire.Made, error) {
	for name, value := range input {
		if value == "" || value == 0 || value == 0.0 || value == false {
			delete(input, name)
		}
	}
	var answer struct {
		ID     string `json:"request_id"`
		Status string `json:"status_url"`
		Result string `json:"response_url"`
		Cancel string `json:"cancel_url"`
	}
	if err := a.JSON(ctx, wire.Call{Path: app, Body: input, Once: once}, &answer); err != nil {
		return wire.Made{}, err
	}
	return wire.Made{
		Ticket: wire.Ticket{ID: answer.ID, Status: answer.Status, Result: answer.Result, Cancel: answer.Cancel},
	}, nil
}

// app returns the app for a request with or without a picture.
func app(to wire.To, picture bool) string {
	if other := to.Params["picture"]; picture && other != "" {
		return other
	}
	return to.Model
}

// Photo makes pictures.
func (a API) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, error) {
	input := map[string]any{"prompt": r.Prompt, "num_images": max(r.Count, 1), "output_format": r.Format}
	if r.Aspect != "" || r.Size != "" {
		width, height := wire.Size(r.Aspect, r.Size, wire.Pixels(r.Size, 1<<20), 16)
		input["image_size"] = map[string]int{"width": width, "height": height}
	}
	var pictures []string
	for _, picture := range r.Pictures {
		pictures = append(pictures, picture.DataURL())
	}
	if len(pictures) > 0 {
		input["image_urls"] = pictures
	}
	made, err := a.submit(ctx, app(r.To, len(pictures) > 0), input, false)
	if err != nil {
		return nil, err
	}
	files, err := a.Await(ctx, poll, func() (wire.Made, error) { return a.Check(ctx, made.Ticket) })
	if err != nil && ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = a.Cancel(ctx, made.Ticket) // the call that wanted it has ended
	}
	return files, err
}

// Video orders a video.
func (a API) Video(ctx context.Context, r wire.VideoRequest) (wire.Made, error) {
	input := map[string]any{
		"prompt": r.Prompt, "aspect_ratio": r.Aspect, "resolution": r.Params.Choose("resolution", r.Resolution),
	}
	if r.Seconds > 0 {
		input["duration"] = r.Params.Nearest("seconds", r.Seconds)
	}
	if r.Picture != nil {
		input["image_url"] = r.Picture.DataURL()
	}
	return a.submit(ctx, app(r.To, r.Picture != nil), input, true)
}

// Sound orders a sound effect.
func (a API) Sound(ctx context.Context, r wire.SoundRequest) (wire.Made, error) {
	return a.submit(ctx, r.Model, map[string]any{
		"text": r.Prompt, "duration_seconds": r.Seconds, "loop": r.Loop,
	}, true)
}

// Music orders music.
func (a API) Music(ctx context.Context, r wire.MusicRequest) (wire.Made, error) {
	prompt := r.Prompt
	if r.Lyrics != "" {
		prompt += "\n\nLyrics:\n" + r.Lyrics
	}
	return a.submit(ctx, r.Model, map[string]any{
		"prompt": prompt, "music_length_ms": r.Seconds * 1000, "force_instrumental": r.Instrumental,
	}, true)
}

// Check asks for an order.
func (a API) Check(ctx context.Context, t wire.Ticket) (made wire.Made, err error) {
	var status struct {
		Status   string `json:"status"`
		Position *int   `json:"queue_position"`
		Error    string `json:"error"`
		Kind     string `json:"error_type"`
	}
	if err := a.JSON(ctx, wire.Call{Method: "GET", Path: t.Status}, &status); err != nil {
		return made, err
	}
	made.Message = strings.ToLower(strings.ReplaceAll(status.Status, "_", " "))
	if status.Status != "COMPLETED" {
		return made, nil
	}
	made.Ended = true
	if status.Error != "" {
		return made, a.Fail(500, status.Kind, status.Error)
	}
	type file struct {
		URL string `json:"url"`
	}
	var result struct {
		Images []file `json:"images"`
		Image  file   `json:"image"`
		Video  file   `json:"video"`
		Audio  file   `json:"audio"`
		Sound  file   `json:"audio_file"`
	}
	if err := a.JSON(ctx, wire.Call{Method: "GET", Path: t.Result}, &result); err != nil {
		return made, err
	}
	for _, f := range append(result.Images, result.Image, result.Video, result.Audio, result.Sound) {
		if f.URL != "" {
			made.URLs = append(made.URLs, f.URL)
		}
	}
	if len(made.URLs) == 0 {
		return made, a.Fail(500, "", "the result has no file")
	}
	return made, nil
}

// Cancel ends an order.
func (a API) Cancel(ctx context.Context, t wire.Ticket) error {
	return a.JSON(ctx, wire.Call{Method: "PUT", Path: t.Cancel}, &json.RawMessage{})
}
