// Package dashscope speaks the API of Alibaba Cloud's Model Studio. Its address and keys
// belong to a region or a workspace, so there is no address that all use. Begin with [API].
package dashscope

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/mcp-tools/mcp-tools/tools/media/provider/openai"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// pixels is how many pixels pictures have: the models want 1280² to 1440².
const pixels = 1328 * 1328

// Provider is the kind dashscope.
func Provider() wire.Provider {
	return wire.Provider{
		Kind: "dashscope", URLs: "each region of DashScope has its own, such as https://dashscope-intl.aliyuncs.com",
		Open: func(c *wire.Client) any { return API{c} },
	}
}

// An API is the API of DashScope. Its URL is the host, without a path.
type API struct{ *wire.Client }

// Photo makes pictures, or changes the pictures of the request.
func (a API) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, error) {
	content := []map[string]string{{"text": r.Prompt}}
	model := r.Model
	for _, picture := range r.Pictures {
		content = append(content, map[string]string{"image": picture.DataURL()})
		model = cmp.Or(r.Params["picture"], r.Model)
	}
	width, height := wire.Size(r.Aspect, "", pixels, 16)
	var answer struct {
		Output struct {
			Choices []struct {
				Message struct {
					Content []struct {
						Image string `json:"image"`
					} `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		} `json:"output"`
	}
	if err := a.JSON(ctx, wire.Call{
		Path: "api/v1/services/aigc/multimodal-generation/generation",
		Body: map[string]any{
			"model": model,
			"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}},
			"parameters": map[string]any{
				"n": max(r.Count, 1), "size": fmt.Sprintf("%d*%d", width, height), "prompt_extend": true,
				"watermark": false,
			},
		},
	}, &answer); err != nil {
		return nil, err
	}
	var made wire.Made
	for _, choice := range answer.Output.Choices {
		for _, one := range choice.Message.Content {
			if one.Image != "" {
				made.URLs = append(made.URLs, one.Image)
			}
		}
	}
	return a.FetchAll(ctx, made)
}

// Describe answers a question about pictures.
func (a API) Describe(ctx context.Context, r wire.DescriptionRequest) (string, error) {
	return openai.API{Client: a.Client, Chat: "compatible-mode/v1/chat/completions"}.Describe(ctx, r)
}

type task struct {
	Output struct {
		ID      string `json:"task_id"`
		Status  string `json:"task_status"`
		Video   string `json:"video_url"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"output"`
}

// Video orders a video.
func (a API) Video(ctx context.Context, r wire.VideoRequest) (wire.Made, error) {
	input, model := map[string]any{"prompt": r.Prompt}, r.Model
	parameters := map[string]any{
		"resolution": r.Params.Choose("resolution", r.Resolution), "prompt_extend": true, "watermark": false,
	}
	if r.Seconds > 0 {
		parameters["duration"] = r.Params.Nearest("seconds", r.Seconds)
	}
	if r.Picture != nil {
		model = cmp.Or(r.Params["picture"], r.Model)
		input["media"] = []map[string]string{{"type": "first_frame", "url": r.Picture.DataURL()}}
	} else if r.Aspect != "" {
		parameters["ratio"] = r.Aspect
	}
	var answer task
	if err := a.JSON(ctx, wire.Call{
		Path: "api/v1/services/aigc/video-generation/video-synthesis", Once: true,
		Header: map[string]string{"X-DashScope-Async": "enable"},
		Body:   map[string]any{"model": model, "input": input, "parameters": parameters},
	}, &answer); err != nil {
		return wire.Made{}, err
	}
	return wire.Made{Ticket: wire.Ticket{ID: answer.Output.ID}, Message: answer.Output.Status}, nil
}

// Check asks for an order.
func (a API) Check(ctx context.Context, t wire.Ticket) (made wire.Made, err error) {
	var answer task
	if err := a.JSON(ctx, wire.Call{Method: "GET", Path: "api/v1/tasks/" + url.PathEscape(t.ID)}, &answer); err != nil {
		return made, err
	}
	o := answer.Output
	made.Message = o.Status
	switch o.Status {
	case "SUCCEEDED":
		made.Ended, made.URLs = true, []string{o.Video}
	case "FAILED", "CANCELED", "UNKNOWN":
		made.Ended = true
		return made, a.Fail(500, o.Code, cmp.Or(o.Message, "the order is "+o.Status))
	}
	return made, nil
}

// Cancel ends an order that has not begun.
func (a API) Cancel(ctx context.Context, t wire.Ticket) error {
	return a.JSON(ctx, wire.Call{Path: "api/v1/tasks/" + url.PathEscape(t.ID) + "/cancel"}, &json.RawMessage{})
}
