package custom

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestOperatorsManageToolsOverHTTP adds, tests, disables and removes a tool, as an operator.
func TestOperatorsManageToolsOverHTTP(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		added, asked := 0, 0
		mux := http.NewServeMux()
		API{
			Rows: Rows{Store: st}, Log: slog.New(slog.DiscardHandler),
			Taken: func(name string) bool { return name == "read_file" },
			Added: func() error { added++; return nil },
		}.Routes(mux, func(serve http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { asked++; serve(w, r) }
		})
		const definition = "name: greet\ndescription: Greets.\nparameters: {properties: {who: {type: string}}}\n" +
			"command: [echo, hello, '{{who}}']\n"
		for i, step := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"GET", "/custom", "", 200, `{"tools":[]}`},
			{"GET", "/custom/greet", "", 404, "there is no such tool"},
			{"POST", "/custom/test", "name: greet", 400, "description is missing"},
			{"POST", "/custom/test", definition, 200, `"name_taken":false`},
			{"POST", "/custom/test?arguments=" + url.QueryEscape(`{"who":"a; id"}`), definition, 200,
				`runs echo hello \"a; id\"`},
			{"POST", "/custom/test?arguments=" + url.QueryEscape(`{"whom":"x"}`), definition, 400, "greet"},
			{"POST", "/custom", strings.Replace(definition, "greet", "read_file", 1), 400, "choose another name"},
			{"POST", "/custom", strings.Repeat("x", maxDefinition+1), 400, "at most"},
			{"POST", "/custom", definition, 200, `"kind":"command","risk":"runs"`},
			{"GET", "/custom/greet", "", 200, `"disabled":false`},
			{"POST", "/custom/greet/disable", "", 200, `"disabled":true`},
			{"GET", "/custom", "", 200, `"disabled":true`},
			{"POST", "/custom/greet/enable", "", 200, `"disabled":false`},
			{"DELETE", "/custom/greet", "", 200, `"removed":"greet"`},
			{"DELETE", "/custom/greet", "", 404, "there is no such tool"},
			{"POST", "/custom/greet/enable", "", 404, "there is no such tool"},
		} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), step.method, step.path,
				strings.NewReader(step.body)))
			text, err := io.ReadAll(w.Result().Body)
			if err != nil || w.Code != step.status || !strings.Contains(string(text), step.want) {
				t.Errorf("%s %s: %d %s, want %d %s", step.method, step.path, w.Code, text, step.status, step.want)
			}
			if asked != i+1 {
				t.Fatalf("%s %s was not checked", step.method, step.path)
			}
		}
		if added != 1 {
			t.Errorf("%d definitions were added", added)
		}
	})
}
