package telemetry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestModelsAreCounted(t *testing.T) {
	c := testCalls(t, Config{})
	page := func() string {
		w := httptest.NewRecorder()
		c.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	if strings.Contains(page(), "mcp_tools_model") {
		t.Error("there are metrics of models without models")
	}
	c.SetModels([]string{"a/x", "a/y"})
	c.Model(ModelUse{Model: "a/x", Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2, Cost: 1_500_000})
	c.Model(ModelUse{Model: "a/x", Failed: true, Input: 1})
	c.Model(ModelUse{Model: "invented", Input: 1})
	got := page()
	for _, line := range []string{
		`mcp_tools_model_cost_dollars_total{model="a/x"} 1.5`, `mcp_tools_model_cost_dollars_total{model="a/y"} 0`,
		`mcp_tools_model_requests_total{model="a/x",outcome="failed"} 1`,
		`mcp_tools_model_requests_total{model="a/x",outcome="ok"} 1`,
		`mcp_tools_model_tokens_total{kind="input",model="a/x"} 11`,
		`mcp_tools_model_tokens_total{kind="output",model="a/x"} 5`,
		`mcp_tools_model_tokens_total{kind="cache_read",model="a/x"} 3`,
		`mcp_tools_model_tokens_total{kind="cache_write",model="a/x"} 2`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(got, "invented") {
		t.Error("a model that does not exist has metrics")
	}
}
