// Command mcp-tools serves a suite of tools for agents over the Model Context
// Protocol: to one client over stdio, or to many over HTTP.
//
// Package cli is its command line, package app opens and joins its parts.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // time zones, for machines that have no database of them

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli"
)

// gcPercent is how much the heap may grow between two collections. It has a few
// megabytes: twice the default costs little and saves a tenth of the time of a call over HTTP.
const gcPercent = 200

func main() {
	if code, child := app.RunChild(os.Args); child {
		os.Exit(code)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	env := app.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ}
	code := cli.Run(ctx, env, os.Args[1:])
	stop()
	os.Exit(code)
}
