package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// addFixturePrompts offers the prompts that the suite gets.
func addFixturePrompts(s *mcpserver.MCPServer) {
	add := func(name string, do mcpserver.PromptHandlerFunc, arguments ...string) {
		options := []mcp.PromptOption{mcp.WithPromptDescription("The test prompt " + name + ".")}
		for _, argument := range arguments {
			options = append(options, mcp.WithArgument(argument, mcp.ArgumentDescription("some text"), mcp.RequiredArgument()))
		}
		s.AddPrompt(mcp.NewPrompt(name, options...), do)
	}
	add("test_simple_prompt", func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return fromUser(mcp.NewTextContent("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		a := r.Params.Arguments
		return fromUser(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])))
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return fromUser(
			mcp.NewEmbeddedResource(mcp.TextResourceContents{
				URI: r.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing.",
			}),
			mcp.NewTextContent("Please process the embedded resource above."))
	}, "resourceUri")
	add("test_prompt_with_image", func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return fromUser(mcp.NewImageContent(base64.StdEncoding.EncodeToString(redPixel()), "image/png"),
			mcp.NewTextContent("Please analyze the image above."))
	})
	add("test_input_required_result_prompt", asksContext)
}

func fromUser(contents ...mcp.Content) (*mcp.GetPromptResult, error) {
	result := &mcp.GetPromptResult{}
	for _, c := range contents {
		result.Messages = append(result.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
	}
	return result, nil
}

func asksContext(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	answer := mcpserver.ElicitationResponse(r.Params.InputResponses, "user_context")
	if answer == nil {
		schema := json.RawMessage(`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`)
		question := mcp.ElicitationParams{Message: "What context should the prompt use?", RequestedSchema: schema}
		return mcpserver.NewInputRequestBuilder("").Elicit("user_context", question).PromptResult(), nil
	}
	return fromUser(mcp.NewTextContent(fmt.Sprintf("Use this context: %v", answer.Content)))
}

// addFixtureResources offers the resources that the suite reads.
func addFixtureResources(s *mcpserver.MCPServer) {
	add := func(name, mime string, contents mcp.ResourceContents) {
		s.AddResource(mcp.NewResource("test://"+name, name, mcp.WithResourceDescription("The test resource "+name+"."), mcp.WithMIMEType(mime)),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{contents}, nil
			})
	}
	add("static-text", "text/plain", mcp.TextResourceContents{
		URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource.",
	})
	add("static-binary", "image/png", mcp.BlobResourceContents{
		URI: "test://static-binary", MIMEType: "image/png", Blob: base64.StdEncoding.EncodeToString(redPixel()),
	})
	add("watched-resource", "text/plain", mcp.TextResourceContents{
		URI: "test://watched-resource", MIMEType: "text/plain", Text: "Nothing has happened yet.",
	})
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template",
		mcp.WithTemplateDescription("The test template."), mcp.WithTemplateMIMEType("application/json")), readFixtureTemplate)
}

func readFixtureTemplate(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
	text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}, nil
}
