package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools"
)

func TestZZ(t *testing.T) {
	var log bytes.Buffer
	b := newTestServer(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Settings.AuditArgs = true
	})
	key := plantedKey()
	w := dial(t, b)
	w.send(handshake("2025-06-18", `{}`)...)
	t.Log(w.next())
	pad := strings.Repeat("x", 60) + " "
	for i, line := range []string{
		callLine("1", key, `{}`),
		callLine("2", pad+key, `{}`),
		callLine("3", "echo", `{"`+key+`":1}`),
		callLine("4", "echo", `{"n":"`+strings.Repeat("x", 40)+" "+key+`"}`),
		callLine(`"`+key+`"`, "echo", `{}`),
		`{"jsonrpc":"2.0","id":6,"method":"` + key + `"}`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"` + key + `"}}`,
		`{"jsonrpc":"2.0","id":8,"Method":"` + key + `"}`,
		`{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"` + key + `"}}`,
		`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"leaks","_meta":{"traceparent":"` + key + `","progressToken":"` + key + `"}}}`,
		`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"chatty","arguments":{"text":"` + key + `"},"_meta":{"progressToken":"` + key + `"}}}`,
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":[ "` + key + `"]}}`,
		`{"jsonrpc":"2.0","id":13,"method":"logging/setLevel","params":{"level":"` + key + `"}}`,
		`{"jsonrpc":"2.0","id":14,"method":"completion/complete","params":{"ref":{"type":"` + key + `"}}}`,
		`{"jsonrpc":"2.0","id":15,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + key + `"}}}`,
		`{"jsonrpc":"2.0","id":16,"method":"ping","` + key + ` x`,
	} {
		w.send(line)
		for {
			got := w.next()
			leak := strings.Contains(got, key) || strings.Contains(got, key[:12])
			t.Logf("%d leak=%v %.300s", i+1, leak, got)
			if !strings.Contains(got, "notifications/") {
				break
			}
		}
	}
	for _, e := range b.journal.all() {
		raw, _ := json.Marshal(e)
		if strings.Contains(string(raw), key[:12]) {
			t.Logf("JOURNAL LEAK %s", raw)
		}
	}
	for _, l := range strings.Split(log.String(), "\n") {
		if strings.Contains(l, key[:12]) {
			t.Logf("LOG LEAK %s", l)
		}
	}
	_ = context.Background
	_ = tools.Reads
}
