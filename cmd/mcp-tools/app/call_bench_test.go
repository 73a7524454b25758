package app

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// maxBytesOfCall is how many bytes a call of datetime may allocate in the whole server: from
// reading the request to writing the response and the audit log. It allocates 9.5 KB; with
// the race detector pools forget a part of what they hold.
const maxBytesOfCall = 12 << 10

// TestBytesOfACall bounds what one small call allocates. Time in calls is mostly spent there,
// and bytes do not depend on how busy the machine is.
func TestBytesOfACall(t *testing.T) {
	const calls = 2000
	call := newCaller(t)
	for range calls { // fills caches and pools
		call()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		call()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > maxBytesOfCall {
		t.Errorf("a call allocates %d bytes, the maximum is %d", each, maxBytesOfCall)
	}
}

// BenchmarkCall measures one caller of datetime over pipes, in this process.
func BenchmarkCall(b *testing.B) {
	call := newCaller(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// newCaller starts the whole server over stdio, and returns a function that makes one call.
func newCaller(tb testing.TB) (call func()) {
	tb.Helper()
	dir := tb.TempDir()
	settings := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(settings, []byte("limits:\n  calls_per_minute: 1000000\n  repeat_warn: 0\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	serverIn, toServer, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	fromServer, serverOut, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	env := &Env{
		In: serverIn, Out: serverOut, Err: io.Discard, Getenv: func(string) string { return "" },
		Environ: func() []string { return nil }, Data: filepath.Join(dir, "data"), ConfigFile: settings,
	}
	a, err := env.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- a.Serve(tb.Context(), true) }()
	tb.Cleanup(func() {
		toServer.Close()
		if err := <-served; err != nil {
			tb.Error(err)
		}
		a.Close()
	})
	answers, n := bufio.NewReader(fromServer), 0
	send := func(format string) {
		n++
		if _, err := fmt.Fprintf(toServer, format+"\n", n); err != nil {
			tb.Fatal(err)
		}
		answer, err := answers.ReadSlice('\n')
		if err != nil || bytes.Contains(answer, []byte(`"error"`)) || bytes.Contains(answer, []byte(`"isError"`)) {
			tb.Fatalf("the answer is %s, %v", answer, err)
		}
	}
	send(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	return func() {
		send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"datetime","arguments":{"timezone":"UTC"}}}`)
	}
}
