package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestKnowledgeFromMemories kills a server while a model reads a memory for it. The next server reads it once more,
// and what it says is in the graph once, until the memory is forgotten.
func TestKnowledgeFromMemories(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); testKnowledge(t, "") })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); testKnowledge(t, storetest.Database(t)) })
}

func testKnowledge(t *testing.T, dsn string) {
	data, ws, model := t.TempDir(), t.TempDir(), llmtest.New(t)
	var hang atomic.Bool
	asked := make(chan struct{}, 100)
	model.Answer(func(llmtest.Request) llmtest.Turn {
		turn := llmtest.Turn{Text: `{"entities": [
			{"name": "Ada Lovelace", "type": "person", "description": "Ada writes programs.", "confidence": 1},
			{"name": "Engine", "type": "project", "description": "A machine.", "confidence": 1}],
			"relations": [{"source": "Ada Lovelace", "type": "works_on", "target": "Engine", "confidence": 1}]}`}
		if hang.Load() {
			turn.Wait = make(chan struct{}) // until the process dies
		}
		asked <- struct{}{}
		return turn
	})
	settings := modelSettings(model, "memory: {knowledge: {model: default}}\n")
	if dsn != "" {
		settings += fmt.Sprintf("store: {dsn: %q}\n", dsn)
	}
	hang.Store(true)
	p := startParent(t, data, ws, settings)
	p.call("memory_store", map[string]any{"key": "ada", "content": "Ada Lovelace works on the Engine."})
	waitFor(t, asked)
	p.kill()
	hang.Store(false)
	p = startParent(t, data, ws, settings)
	p.call("memory_search", map[string]any{"query": "engine"})
	waitFor(t, asked)
	search := func() string { return p.call("knowledge_graph_search", map[string]any{"query": "*"}) }
	eventually(t, "the memory is in the graph", func() bool { return strings.Contains(search(), "works_on") })
	if got := search(); strings.Count(got, "Ada Lovelace [person]") != 1 || !strings.Contains(got, "source memory/ada.md") {
		t.Errorf("the graph is %s", got)
	}
	p.call("memory_forget", map[string]any{"key": "ada"})
	if got := search(); strings.Contains(got, "Ada") {
		t.Errorf("the graph without the memory is %s", got)
	}
	p.kill()
	if dsn != "" {
		return
	}
	log := finish(t, apart(ourselves(t), "--data", data, "audit", "export"))
	for _, kind := range []string{`"kind":"job","tool":"memory.knowledge"`, `"kind":"model","tool":"fake/test"`} {
		if !strings.Contains(log, kind) {
			t.Errorf("the audit log lacks %s: %s", kind, log)
		}
	}
}

func waitFor(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		t.Fatal("the model is not asked")
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not true within %s: %s", hang, what)
		}
	}
}
