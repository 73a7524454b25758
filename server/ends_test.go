package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// TestTheEndOfACallCanFail has tools that leave something to be done at their end, through both ways to a tool.
func TestTheEndOfACallCanFail(t *testing.T) {
	var done []string
	lost := tool.Errorf(tool.Unavailable, "it was not stored")
	tools := []tool.Tool{newTool("ending", tool.Writes, func(ctx context.Context, a textArgs) (tool.Result, error) {
		end := func(name string, err error) {
			tool.AtEnd(ctx, name, func(ctx context.Context) error {
				done = append(done, name)
				return errors.Join(err, ctx.Err())
			})
		}
		end("first", nil)
		end("first", errors.New("a second one with the key")) // is not called
		if strings.Contains(a.Text, "lost") {
			end("second", lost)
		} else {
			end("second", nil)
		}
		tool.Note(ctx, "a note with "+plantedKey())
		switch {
		case strings.Contains(a.Text, "panic"):
			panic("oh no")
		case strings.Contains(a.Text, "wrong"):
			return tool.Result{}, tool.Errorf(tool.Invalid, "it is wrong")
		}
		return tool.Text("the result"), nil
	})}
	b := newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(tools...)
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
	})
	for _, one := range []struct {
		text, want, lacks string
		kind              tool.Kind
	}{
		{"good", "the result\na note with [REDACTED", plantedKey(), ""},
		{"lost", "it was not stored\nThe tool has run, and returned:\nthe result\na note with [REDACTED", plantedKey(), tool.Unavailable},
		{"wrong", "it is wrong; a note with [REDACTED", plantedKey(), tool.Invalid},
		{"wrong and lost", "it is wrong", "the result", tool.Invalid},
		{"panic", "failed unexpectedly", "the result", tool.Internal},
	} {
		t.Run(one.text, func(t *testing.T) {
			args := []byte(`{"text":"` + one.text + `"}`)
			who := Access{Caller: tool.Caller{Agent: "a", User: "u", Session: "s"}}
			ctx, cancel := context.WithCancel(t.Context())
			done = nil
			res := b.Call(ctx, Request{Access: who, Tool: "ending", Args: args}).Result
			cancel()
			if text := res.Text(); !strings.Contains(text, one.want) || strings.Contains(text, one.lacks) || res.Kind != one.kind {
				t.Errorf("the result is %q (%s)", text, res.Kind)
			}
			if !slices.Equal(done, []string{"second", "first"}) {
				t.Errorf("done: %q", done)
			}
			done = nil
			far, err := b.RunRemote(t.Context(), RemoteCall{Caller: who.Caller, Tool: "ending", Args: args, Risk: tool.Writes}, nil)
			if err != nil {
				far = tool.Failure(err)
			}
			if text := far.Text(); far.Kind != one.kind || !strings.Contains(text, strings.TrimSuffix(one.want, "[REDACTED")) {
				t.Errorf("the result of the other replica is %q (%s)", text, far.Kind)
			}
			if !slices.Equal(done, []string{"second", "first"}) {
				t.Errorf("done on the other replica: %q", done)
			}
		})
	}
}
