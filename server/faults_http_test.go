package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func foreignCancel(t *testing.T, g *target) error {
	alice := g.visitor("alice").modern("tools/call", "slow")
	called := make(chan answer, 1)
	go func() { called <- alice.post(modernLine("7", "tools/call", `"name":"slow","arguments":{"text":"x"}`)) }()
	if _, err := await(g.patience, g.started); err != nil {
		return err
	}
	bob := g.visitor("bob").modern("notifications/cancelled", "")
	cancel := strings.Replace(modernLine("7", "notifications/cancelled", `"requestId":7`), `"id":7,`, "", 1)
	if a := bob.post(cancel); a.err != nil {
		return a.err
	}
	if err := quiet(g.silence, g.stopped); err != nil {
		return fmt.Errorf("the other's call was stopped: %w", err)
	}
	g.release <- struct{}{}
	a, err := await(g.patience, called)
	if err == nil && !strings.Contains(a.body, "done x") {
		return fmt.Errorf("the call got %d %s", a.status, a.body)
	}
	return err
}

func progressCall(id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"chatty","arguments":{"text":%q},"_meta":{"progressToken":%s}}}`, id, text, id)
}

func progressLost(t *testing.T, g *target) error {
	v := g.visitor("alice").hello(t, "2025-11-25")
	a := v.post(progressCall("1", "m"))
	if a.err != nil || len(a.messages) != 4 || read(t, a.messages[len(a.messages)-1]).Method != "" {
		return fmt.Errorf("got %q, %w", a.messages, a.err)
	}
	return nil
}

func progressAstray(t *testing.T, g *target) error {
	v := g.visitor("alice").hello(t, "2025-11-25")
	var all sync.WaitGroup
	found := make(chan error, 8)
	stream := v.listen(t, "") // so that the session is one that the server keeps
	defer stream.close()
	for i := range 8 {
		all.Go(func() {
			text := fmt.Sprintf("m%d", i)
			for _, line := range v.post(progressCall(fmt.Sprint(i+1), text)).messages {
				if r := read(t, line); r.Method != "" && !strings.Contains(string(r.Params), text) {
					found <- fmt.Errorf("call %d got %s", i+1, line)
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-found:
		return err
	default:
	}
	if len(stream.data) > 0 {
		return fmt.Errorf("the session's own stream got %s", <-stream.data)
	}
	return nil
}

func endlessBody(t *testing.T, g *target) error {
	v := g.visitor("alice").hello(t, "2025-11-25")
	a := v.post(strings.Repeat(" ", 2<<20) + ping("1"))
	if a.err == nil && a.status == http.StatusOK {
		return errors.New("a body of 2 MiB was taken")
	}
	return nil
}

func anyOrigin(t *testing.T, g *target) error {
	v := g.visitor("alice")
	v.header = map[string]string{"Origin": evil}
	if a := v.post(handshake("2025-11-25", "{}")[0]); a.err != nil || a.status != http.StatusForbidden {
		return fmt.Errorf("a page of %s got %d %w", evil, a.status, a.err)
	}
	return nil
}

func elsewhere(t *testing.T, g *target, change func(*visitor)) error {
	v := g.visitor("alice").hello(t, "2025-11-25")
	change(v)
	if a := v.post(ping("1")); a.err != nil || a.status != http.StatusNotFound {
		return fmt.Errorf("it got %d %w", a.status, a.err)
	}
	return nil
}

func sessionOnOtherPath(t *testing.T, g *target) error {
	return elsewhere(t, g, func(v *visitor) { v.path = "/mcp/readonly" })
}

func sessionOfOther(t *testing.T, g *target) error {
	return elsewhere(t, g, func(v *visitor) { v.token = "bob" })
}

func sessionMadeUp(t *testing.T, g *target) error {
	return elsewhere(t, g, func(v *visitor) { v.session = "mcp-session-5f0ef3cb-6a4f-4c12-a0c0-5d6ac3aca4a5" })
}

func shutdownHangs(t *testing.T, g *target) error {
	v := g.visitor("alice").modern("subscriptions/listen", "")
	e := v.listen(t, modernLine("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
	if _, err := await(g.patience, e.data); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), g.patience)
	defer cancel()
	return g.shutdown(ctx)
}

// memoryLost counts what a thousand clients leave behind that shake hands and
// are never seen again.
func memoryLost(_ *testing.T, g *target) error {
	const clients, perClient = 1000, 2 << 10
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	v := g.visitor("alice")
	shake := func(n int) error {
		for range n {
			if a := v.post(handshake("2025-11-25", "{}")[0]); a.status != http.StatusOK {
				return fmt.Errorf("initialize got %d %w", a.status, a.err)
			}
		}
		return nil
	}
	if err := shake(100); err != nil { // whatever is made once
		return err
	}
	before := heap()
	if err := shake(clients); err != nil {
		return err
	}
	if after := heap(); after > before+clients*perClient {
		return fmt.Errorf("%d bytes for each client", (after-before)/clients)
	}
	return nil
}

// oldStream opens an HTTP+SSE stream.
func oldStream(t *testing.T, g *target) (*events, *visitor, error) {
	v := g.visitor("alice")
	v.path = "/sse"
	e := v.listen(t, "")
	address, err := await(g.patience, e.data)
	poster := *v
	poster.path = strings.TrimPrefix(address, v.base)
	return e, &poster, err
}

func everyPageReads(t *testing.T, g *target) error {
	v := g.visitor("alice")
	v.path, v.header = "/sse", map[string]string{"Origin": evil}
	e := v.listen(t, "")
	defer e.close()
	if allowed := e.header.Get("Access-Control-Allow-Origin"); allowed != "" {
		return fmt.Errorf("%d, allowed to %q", e.status, allowed)
	}
	return nil
}

func plainTextTaken(t *testing.T, g *target) error {
	e, v, err := oldStream(t, g)
	if err != nil {
		return err
	}
	defer e.close()
	v.header = map[string]string{"Content-Type": "text/plain"}
	if a := v.post(ping("1")); a.status != http.StatusUnsupportedMediaType {
		return fmt.Errorf("it got %d %w", a.status, a.err)
	}
	return nil
}

func callOutlivesClient(t *testing.T, g *target) error {
	e, v, err := oldStream(t, g)
	if err != nil {
		return err
	}
	v.post(callLine("1", "slow", `{"text":"x"}`))
	if _, err := await(g.patience, g.started); err != nil {
		return err
	}
	e.close()
	_, err = await(g.patience, g.stopped)
	return err
}

func cannotAsk(t *testing.T, g *target) error {
	e, v, err := oldStream(t, g)
	if err != nil {
		return err
	}
	defer e.close()
	for _, line := range handshake("2025-06-18", `{"elicitation":{}}`) {
		v.post(line)
	}
	v.post(callLine("1", "launch", "{}"))
	for {
		line, err := await(g.patience, e.data)
		if err != nil {
			return err
		}
		switch r := read(t, line); {
		case r.Method == string(mcp.MethodElicitationCreate):
			return nil
		case string(r.ID) == "1":
			return fmt.Errorf("instead of a question came %s", line)
		}
	}
}
