package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/png"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// contentTools return every kind of content, and take every kind of schema.
func contentTools() []tool.Tool {
	picture := tool.Part{Data: redPixel(), MIME: "image/png"}
	return []tool.Tool{
		says("test_simple_text", tool.Part{Text: "This is a simple text response for testing."}),
		says("test_image_content", picture),
		says("test_audio_content", tool.Part{Data: silence(), MIME: "audio/wav"}),
		says("test_embedded_resource", tool.Part{
			URI: "test://embedded-resource", MIME: "text/plain", Text: "This is an embedded resource content.",
		}),
		says("test_multiple_content_types", tool.Part{Text: "Multiple content types test:"}, picture, tool.Part{
			URI: "test://mixed-content-resource", MIME: "application/json", Text: `{"test":"data","value":123}`,
		}),
		newTool("test_error_handling", tool.Reads, func(context.Context, none) (tool.Result, error) {
			return tool.Result{}, tool.Errorf(tool.Unavailable, "This tool intentionally returns an error for testing")
		}),
		foreign("json_schema_2020_12_tool", `{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"type": "object",
			"$defs": {"address": {"$anchor": "addressDef", "type": "object",
				"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {
				"name": {"type": "string"},
				"address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"},
				"email": {"type": "string"}
			},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]},
			"else": {"required": ["email"]},
			"additionalProperties": false
		}`),
		foreign("test_param_header",
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
	}
}

// says makes a tool that always returns the same parts.
func says(name string, parts ...tool.Part) tool.Tool {
	return newTool(name, tool.Reads, func(context.Context, none) (tool.Result, error) {
		return tool.Result{Parts: parts}, nil
	})
}

// foreign makes a tool with a schema that must stay as it was written.
func foreign(name, schema string) tool.Tool {
	spec := tool.Spec{Name: name, Group: "test", Title: name, Doc: "The test tool " + name + ".", Risk: tool.Reads}
	return tool.NewForeign(spec, json.RawMessage(schema), func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Text("accepted"), nil
	})
}

// redPixel is a PNG of one pixel.
func redPixel() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.NRGBA{R: 255, A: 255})
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// silence is a WAV of eight samples: 8 bit PCM, one channel.
func silence() []byte {
	const rate, samples, headers = 8000, 8, 36
	out := append([]byte("RIFF"), le32(headers+samples)...)
	out = append(append(out, "WAVEfmt "...), le32(16)...)
	out = append(out, 1, 0, 1, 0) // PCM, mono
	out = append(append(out, le32(rate)...), le32(rate)...)
	out = append(out, 1, 0, 8, 0) // bytes in a frame, bits in a sample
	out = append(append(out, "data"...), le32(samples)...)
	return append(out, bytes.Repeat([]byte{128}, samples)...)
}

func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// talkingTools say something besides their result. The suite wants log
// messages and list changes that no tool of the product causes, so these
// reach behind the pipeline for them.
func talkingTools() []tool.Tool {
	return []tool.Tool{
		logs("test_tool_with_logging", "Tool execution started", "Tool processing data", "Tool execution completed"),
		logs("test_logging_tool", "A line that no client gets without asking"),
		newTool("test_tool_with_progress", tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
			for _, done := range []float64{0, 50, 100} {
				tool.Progress(ctx, done, 100, "")
			}
			return tool.Text("done"), nil
		}),
		changes("test_trigger_tool_change", mcp.MethodNotificationToolsListChanged,
			func(f mcp.SubscriptionFilter) bool { return f.ToolsListChanged }),
		changes("test_trigger_prompt_change", mcp.MethodNotificationPromptsListChanged,
			func(f mcp.SubscriptionFilter) bool { return f.PromptsListChanged }),
	}
}

// exchangeOf is the request by which a tool of the fixture was called.
func exchangeOf(ctx context.Context) *rpcRequest { return tool.ReporterFrom(ctx).(*rpcRequest) }

// logs makes a tool that logs lines at level info, to clients that have set a
// level: what modern clients ask for in a request, no tool offers yet.
func logs(name string, lines ...string) tool.Tool {
	return newTool(name, tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
		x := exchangeOf(ctx)
		level, set := levels.Load(x.session)
		if !set || !mcp.LoggingLevelInfo.ShouldSendTo(level.(mcp.LoggingLevel)) {
			return tool.Text("worked in silence"), nil
		}
		for _, line := range lines {
			note := mcp.LoggingMessageNotificationParams{Level: mcp.LoggingLevelInfo, Logger: "fixture", Data: line}
			if err := x.send(jsonrpc.Request(nil, "notifications/message", note)); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("logged"), nil
	})
}

// changes returns a tool that notifies all subscribers that a list changed.
func changes(name, method string, wanted func(mcp.SubscriptionFilter) bool) tool.Tool {
	return newTool(name, tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
		s := exchangeOf(ctx).session.server
		s.mu.Lock()
		defer s.mu.Unlock()
		for listening := range s.sessions {
			if err := listening.announce(method, wanted); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("announced"), nil
	})
}
