// Package minimax speaks the API of MiniMax, whose errors come with the status 200. Begin
// with [API].
package minimax

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// URL is the address of MiniMax.
const URL = "https://api.minimax.io/v1"

// voice is the default voice.
const voice = "English_expressive_narrator"

// Provider is the kind minimax.
func Provider() wire.Provider {
	return wire.Provider{Kind: "minimax", URL: URL, Open: func(c *wire.Client) any { return API{c} }}
}

// An API is the API of MiniMax.
type API struct{ *wire.Client }

// statusOf returns the HTTP status that an error of MiniMax amounts to.
func statusOf(code int) (status int, word string) {
	switch code {
	case 1002, 1039, 1041:
		return 429, ""
	case 1004, 2049:
		return 401, ""
	case 1008:
		return 402, ""
	case 1026, 1027:
		return 400, "content_policy"
	case 1001:
		return 408, ""
	case 1000, 1013, 1024, 1033:
		return 500, ""
	}
	return 400, ""
}

// check returns the error in a response.
func (a API) check(body []byte) *api.Error {
	var answer struct {
		Base struct {
			Code    int    `json:"status_code"`
			Message string `json:"status_msg"`
		} `json:"base_resp"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Base.Code == 0 {
		return nil
	}
	status, word := statusOf(answer.Base.Code)
	return a.Refused(status, word, fmt.Sprintf("%d %s", answer.Base.Code, answer.Base.Message))
}

func (a API) call(path string, body any, once bool) wire.Call {
	return wire.Call{Path: path, Body: body, Once: once, Check: a.check}
}

// Photo makes pictures.
func (a API) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, error) {
	body := map[string]any{
		"model": r.Model, "prompt": r.Prompt, "n": min(max(r.Count, 1), 9), "response_format": "base64",
		"aspect_ratio": r.Params.Choose("aspect", r.Aspect),
	}
	var faces []map[string]string
	for _, picture := range r.Pictures {
		faces = append(faces, map[string]string{"type": "character", "image_file": picture.DataURL()})
	}
	if len(faces) > 0 {
		body["subject_reference"] = faces
	}
	var answer struct {
		Data struct {
			Base64 []string `json:"image_base64"`
			URLs   []string `json:"image_urls"`
		} `json:"data"`
	}
	call := a.call("image_generation", body, false)
	if err := a.JSON(ctx, call, &answer); err != nil {
		return nil, err
	}
	made := wire.Made{URLs: answer.Data.URLs}
	for _, text := range answer.Data.Base64 {
		file, err := a.Decode(call, "image/jpeg", text, wire.FromBase64)
		if err != nil {
			return nil, err
		}
		made.Files = append(made.Files, file)
	}
	return a.FetchAll(ctx, made)
}

// Ignores returns the arguments of a request for speech that the API does not have.
func (API) Ignores(r wire.SpeechRequest) (names []string) {
	if r.Language != "" {
		names = append(names, "language")
	}
	if r.Style != "" {
		names = append(names, "style")
	}
	if r.Format == "opus" {
		names = append(names, "format opus")
	}
	return names
}

// Speak reads a text aloud.
func (a API) Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, error) {
	format := "mp3"
	if r.Format == "wav" {
		format = "wav"
	}
	body := map[string]any{
		"model": r.Model, "text": r.Text, "stream": false,
		"voice_setting": map[string]any{"voice_id": cmp.Or(r.Voice, r.Params["voice"], voice),
			"speed": cmp.Or(r.Speed, 1)},
		"audio_setting": map[string]any{"format": format},
	}
	var answer struct {
		Data struct {
			Audio string `json:"audio"`
		} `json:"data"`
	}
	call := a.call("t2a_v2", body, false)
	if err := a.JSON(ctx, call, &answer); err != nil {
		return wire.File{}, err
	}
	return a.Decode(call, map[string]string{"mp3": "audio/mpeg", "wav": "audio/wav"}[format], answer.Data.Audio,
		hex.DecodeString)
}

// Music makes music.
func (a API) Music(ctx context.Context, r wire.MusicRequest) (wire.Made, error) {
	body := map[string]any{
		"model": r.Model, "prompt": r.Prompt, "is_instrumental": r.Instrumental, "output_format": "url",
		"audio_setting": map[string]any{"sample_rate": 44100, "bitrate": 256000, "format": "mp3"},
	}
	if r.Lyrics != "" {
		body["lyrics"] = r.Lyrics
	} else if !r.Instrumental {
		body["lyrics_optimizer"] = true
	}
	var answer struct {
		Data struct {
			Audio string `json:"audio"`
		} `json:"data"`
	}
	if err := a.JSON(ctx, a.call("music_generation", body, true), &answer); err != nil {
		return wire.Made{}, err
	}
	return wire.Made{URLs: []string{answer.Data.Audio}, Ended: true}, nil
}

// Video orders a video.
func (a API) Video(ctx context.Context, r wire.VideoRequest) (wire.Made, error) {
	resolution := r.Params.Choose("resolution", r.Resolution)
	seconds := r.Params.Nearest("seconds", max(r.Seconds, 1))
	if resolution == "1080P" {
		seconds = 6 // the only length of such videos
	}
	body := map[string]any{"model": r.Model, "prompt": r.Prompt, "duration": seconds, "resolution": resolution}
	if r.Picture != nil {
		body["first_frame_image"] = r.Picture.DataURL()
	}
	var answer struct {
		ID string `json:"task_id"`
	}
	if err := a.JSON(ctx, a.call("video_generation", body, true), &answer); err != nil {
		return wire.Made{}, err
	}
	return wire.Made{Ticket: wire.Ticket{ID: answer.ID}}, nil
}

// Check asks for an order.
func (a API) Check(ctx context.Context, t wire.Ticket) (made wire.Made, err error) {
	call := a.call("query/video_generation", nil, false)
	call.Method, call.Query = "GET", url.Values{"task_id": {t.ID}}
	var answer struct {
		Status string `json:"status"`
		File   string `json:"file_id"`
		Base   struct {
			Message string `json:"status_msg"`
		} `json:"base_resp"`
	}
	if err := a.JSON(ctx, call, &answer); err != nil {
		return made, err
	}
	made.Message = answer.Status
	switch answer.Status {
	case "Fail":
		made.Ended = true
		return made, a.Fail(500, "", "the order has failed: "+answer.Base.Message)
	case "Success":
	default:
		return made, nil
	}
	made.Ended = true
	call = a.call("files/retrieve", nil, false)
	call.Method, call.Query = "GET", url.Values{"file_id": {answer.File}}
	var file struct {
		File struct {
			URL string `json:"download_url"`
		} `json:"file"`
	}
	if err := a.JSON(ctx, call, &file); err != nil {
		return wire.Made{}, err // the order has not failed
	}
	made.URLs = []string{file.File.URL}
	return made, nil
}
