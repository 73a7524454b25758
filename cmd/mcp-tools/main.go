// Command mcp-tools serves a suite of tools for agents over the Model Context
// Protocol: to one client over stdio, or to many over HTTP.
//
// This package joins the parts and decides nothing: commands and flags come in
// (one file for each command), wire.go is where everything meets.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // so that timezones work on machines that have no database of them
)

func main() {
	if code, mine := behindWalls(os.Args); mine {
		os.Exit(code)
	}
	os.Exit(run())
}

// run is main with an exit code: 0 for success, 1 for a failure, 2 for a
// command line or a configuration that is wrong.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, environ: os.Environ}
	err := a.command().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "mcp-tools:", forReader(os.Stderr, text))
	}
	return exitCode(err)
}
