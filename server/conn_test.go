package server

import (
	"fmt"
	"strings"
	"testing"
)

// TestRequestsRightAfterInitialize sends requests without waiting for the response to initialize: they know
// what the client can do.
func TestRequestsRightAfterInitialize(t *testing.T) {
	for i := range 50 {
		w := dial(t, newTestServer(t))
		lines := append(handshake("2025-11-25", `{"elicitation":{}}`),
			callLine("1", "launch", fmt.Sprintf(`{"n":%d}`, i)))
		w.send(strings.Join(lines, "\n"))
		if first := read(t, w.next()); string(first.ID) != `"init"` {
			t.Fatalf("the first answer is %s", first.ID)
		}
		if question := read(t, w.next()); question.Method != "elicitation/create" {
			t.Fatalf("round %d: instead of a question came %q", i, question.text())
		}
	}
}
