package box_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// victim is a server with a command under way, to be killed.
func victim(args []string) int {
	link, err := host.Launcher{}.Launch(context.Background(), sandbox.Spec{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	b, err := box.Open(context.Background(), link)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s := newSink()
	body := wire.StartBody{Argv: []string{"sh", "-c", args[0]}, Env: []string{path}}
	if _, err := b.Start(context.Background(), body, s); err != nil {
		fmt.Println(err)
		return 1
	}
	for s.stdout() == "" {
		<-s.wrote
	}
	fmt.Println("agent", b.PID())
	time.Sleep(time.Hour)
	fmt.Fprintln(os.Stderr, "nobody killed it")
	return 1
}
