package approvals

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func serve(s *Store, who Approver) http.Handler {
	mux := http.NewServeMux()
	h := func(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, who) }
	mux.HandleFunc("GET /approvals", h)
	mux.HandleFunc("GET /approvals/{id}", h)
	mux.HandleFunc("POST /approvals/{id}", h)
	return mux
}

func request(h http.Handler, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func testDecidingOverHTTP(t *testing.T, p place) {
	s := p.server(t)
	console := serve(s, Approver{Name: "token:t1", Channel: "http"})
	if code, body := request(console, "GET", "/approvals", ""); code != 200 || body != "{\"approvals\":[]}\n" {
		t.Errorf("nothing waits: %d %s", code, body)
	}
	if there, err := s.Attended(t.Context()); !there || err != nil {
		t.Error("who looks is not there")
	}
	id := mustAsk(t, s, someCall())
	code, body := request(console, "GET", "/approvals", "")
	var list struct{ Approvals []Question }
	if err := json.Unmarshal([]byte(body), &list); err != nil || code != 200 || len(list.Approvals) != 1 ||
		list.Approvals[0].ID != id {
		t.Errorf("%d %s %v", code, body, err)
	}
	late, err := s.Ask(t.Context(), someCall(), in(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Await(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, body string
		code             int
		want             string
	}{
		{"no JSON", id, "yes", 400, "body is invalid"},
		{"an odd word", id, `{"decision":"approve"}`, 400, "must be allow"},
		{"an unknown field", id, `{"decision":"allow","approved":true}`, 400, "unknown object member"},
		{"nothing", id, `{}`, 400, "must be allow"},
		{"two answers", id, `{"decision":"deny"} {"decision":"allow"}`, 400, "body is invalid"},
		{"two words", id, `{"decision":"deny","decision":"allow"}`, 400, "duplicate"},
		{"another spelling", id, `{"Decision":"allow"}`, 400, "unknown object member"},
		{"a pattern without a rule", id, `{"decision":"allow","any":["content"]}`, 400,
			"only for allow_session and allow_always"},
		{"too long", id, `{"decision":"deny","reason":"` + strings.Repeat("x", maxBody) + `"}`, 400, "too large"},
		{"unknown", "aaaaaaaaaaaa", `{"decision":"allow"}`, 404, "no such question"},
		{"too late", late, `{"decision":"allow"}`, 409, "not answered in time"},
		{"a bad end", id, `{"decision":"allow_always","expires":"soon"}`, 400, "RFC"},
		{"an end of once", id, `{"decision":"allow","expires":"2026-01-31T09:00:00Z"}`, 400, "only for allow_always"},
		{"a past end", id, `{"decision":"allow_always","expires":"2001-01-31T09:00:00Z"}`, 400, "within a year"},
		{"a preview", id, `{"decision":"allow_always","any":["content"],"preview":true}`, 200, `"any":["content"]`},
		{"a preview of once", id, `{"decision":"allow","preview":true}`, 400, "make a rule"},
		{"a no", id, `{"decision":"deny","reason":"use the other","any":["content"]}`, 200, `"reason":"use the other"`},
		{"a yes after it", id, `{"decision":"allow"}`, 409, "denied by token:t1 (http)"},
	} {
		if code, body := request(console, "POST", "/approvals/"+test.path, test.body); code != test.code ||
			!strings.Contains(strings.ReplaceAll(body, "2026-01-31T09:00:00Z", "RFC"), test.want) {
			t.Errorf("%s: %d %s", test.name, code, body)
		}
	}
	if rules, err := s.Rules(t.Context()); err != nil || len(rules) != 0 {
		t.Errorf("rules were made: %+v, %v", rules, err)
	}
	if code, body := request(console, "GET", "/approvals/"+late, ""); code != 200 ||
		!strings.Contains(body, `"state":"expired"`) {
		t.Errorf("a late one is %d %s", code, body)
	}
	other := mustAsk(t, s, someCall())
	if code, _ := request(serve(s, Approver{User: "v"}), "POST", "/approvals/"+other,
		`{"decision":"allow"}`); code != 404 {
		t.Errorf("another user's question: %d", code)
	}
	plain := httptest.NewRequest("POST", "/approvals/"+other, strings.NewReader(`{"decision":"allow"}`))
	plain.Header.Set("Content-Type", "text/plain") // what a form in a browser can send
	w := httptest.NewRecorder()
	console.ServeHTTP(w, plain)
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %d", w.Code)
	}
	if q, err := s.Get(t.Context(), other, ann); err != nil || q.State != Open {
		t.Errorf("it is %+v, %v", q, err)
	}
}
