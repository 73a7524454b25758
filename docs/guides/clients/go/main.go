// Command go is the example of a client in Go of docs/guides/clients-in-code.md: it connects
// with a token, lists tools, calls two, and prints their results. A test of cmd/mcp-tools runs
// it.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withToken adds the token to each request.
type withToken struct{ token string }

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return http.DefaultTransport.RoundTrip(r)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   os.Getenv("MCP_TOOLS_URL"), // http://127.0.0.1:8080/mcp/coding
		HTTPClient: &http.Client{Transport: withToken{os.Getenv("MCP_TOOLS_TOKEN")}},
	}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("tools:", len(tools.Tools) > 10)
	for _, path := range []string{"README.md", "gone.txt"} {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: "read_file", Arguments: map[string]any{"path": path},
		})
		if err != nil {
			return err
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if result.IsError {
			kind, _, _ := strings.Cut(text, ":")
			fmt.Println(result.IsError, kind)
			continue
		}
		fmt.Println(text)
	}
	return nil
}
