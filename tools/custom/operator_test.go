package custom

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestOperatorsManageToolsOverHTTP adds, tests, disables and removes a tool, as an operator.
func TestOperatorsManageToolsOverHTTP(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		data := t.TempDir()
		records := 0
		api := room.API{
			Rooms: []*room.Room{Room(
				func() (string, error) { return "", nil }, func(name string) bool { return name == "read_file" },
			)},
			Host:   &room.Host{Store: st, Data: func() (string, error) { return data, nil }, Log: slog.New(slog.DiscardHandler)},
			Record: func(context.Context, room.Called) error { records++; return nil },
			Scrub:  func(text string) string { return text },
		}
		mux := http.NewServeMux()
		mux.HandleFunc("POST /operator/{room}/{verb...}", func(w http.ResponseWriter, r *http.Request) {
			api.Call(w, r, room.Person{Name: "console", Channel: "http"})
		})
		const definition = "name: greet\ndescription: Greets.\nparameters: {properties: {who: {type: string}}}\n" +
			"command: [echo, hello, '{{who}}']\n"
		type arguments map[string]any
		for _, step := range []struct {
			verb   string
			args   arguments
			status int
			want   string
		}{
			{"list", nil, 200, `[]`},
			{"show", arguments{"name": "greet"}, 404, "there is no such tool"},
			{"test", arguments{"file": "name: greet"}, 400, "description is missing"},
			{"test", arguments{"file": definition}, 200, `"risk":"runs"`},
			{"test", arguments{"file": definition, "arguments": []string{`{"who":"a; id"}`}}, 200, `runs echo hello \"a; id\"`},
			{"test", arguments{"file": definition, "arguments": []string{"whom=x"}}, 400, "greet"},
			{"add", arguments{"file": strings.Replace(definition, "greet", "read_file", 1)}, 400, "choose another name"},
			{"add", arguments{"file": strings.Repeat("x", maxDefinition+1)}, 400, "at most"},
			{"add", arguments{"file": definition}, 200, `"kind":"command","risk":"runs"`},
			{"show", arguments{"name": "greet"}, 200, `"disabled":false`},
			{"disable", arguments{"name": "greet"}, 200, `"disabled":true`},
			{"list", nil, 200, `"state":"disabled"`},
			{"enable", arguments{"name": "greet"}, 200, `"disabled":false`},
			{"remove", arguments{"name": "greet"}, 200, `"removed":"greet"`},
			{"remove", arguments{"name": "greet"}, 404, "there is no such tool"},
			{"enable", arguments{"name": "greet"}, 404, "there is no such tool"},
		} {
			body, err := json.Marshal(step.args)
			if err != nil {
				t.Fatal(err)
			}
			if step.args == nil {
				body = []byte("{}")
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/operator/custom/"+step.verb,
				strings.NewReader(string(body)))
			r.Header.Set("X-Confirm", "yes")
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			text, err := io.ReadAll(w.Result().Body)
			if err != nil || w.Code != step.status || !strings.Contains(string(text), step.want) {
				t.Errorf("%s %v: %d %s, want %d %s", step.verb, step.args, w.Code, text, step.status, step.want)
			}
		}
		if !Marked(data) {
			t.Error("the data directory does not show that the store has definitions")
		}
		if records == 0 {
			t.Error("nothing was recorded")
		}
	})
}
