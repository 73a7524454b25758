// Command bare is mcp-go as it comes, with one small tool, for comparisons. It knows nothing of
// limits, policies, secrets or records, and it uses no option of mcp-go that would make it
// faster or slower. Begin at main.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	if err := serve(*address); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	s := server.NewMCPServer("bare", "1", server.WithToolCapabilities(true))
	s.AddTool(datetime(), tell)
	if address == "" {
		return server.ServeStdio(s)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "serving url=http://%s/mcp\n", listener.Addr())
	return http.Serve(listener, server.NewStreamableHTTPServer(s))
}

func datetime() mcp.Tool {
	return mcp.NewTool("datetime",
		mcp.WithDescription("Current or given moment as JSON: UTC, unix ms, weekday, ISO week."),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("at", mcp.Description("moment to look at (RFC 3339); default now")),
		mcp.WithString("timezone", mcp.Description("IANA name such as Europe/Berlin")),
	)
}

type arguments struct {
	At       string `json:"at"`
	Timezone string `json:"timezone"`
}

type moment struct {
	UTC     string `json:"utc"`
	UnixMS  int64  `json:"unix_ms"`
	Weekday string `json:"weekday"`
	ISOWeek string `json:"iso_week"`
}

func tell(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args arguments
	if err := request.BindArguments(&args); err != nil {
		return mcp.NewToolResultErrorFromErr("the arguments", err), nil
	}
	zone, err := time.LoadLocation(args.Timezone)
	if err != nil {
		return mcp.NewToolResultErrorFromErr("the timezone", err), nil
	}
	at := time.Now()
	if args.At != "" {
		if at, err = time.Parse(time.RFC3339, args.At); err != nil {
			return mcp.NewToolResultErrorFromErr("the moment", err), nil
		}
	}
	year, week := at.ISOWeek()
	text, err := json.Marshal(moment{
		UTC: at.UTC().Format(time.RFC3339), UnixMS: at.UnixMilli(),
		Weekday: at.In(zone).Weekday().String(), ISOWeek: fmt.Sprintf("%d-W%02d", year, week),
	})
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(string(text)), nil
}
