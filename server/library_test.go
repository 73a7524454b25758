package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// withLibrary makes a server of testTools and a library.
func withLibrary(tb testing.TB, lib Library, change ...func(*Config)) *testServer {
	tb.Helper()
	return newTestServer(tb, append([]func(*Config){func(c *Config) { c.Library = lib }}, change...)...)
}

// A reader is a client in one era over one transport. It returns the result or
// the error of a request, as it came.
type reader func(method, params string) (result map[string]any, failed *jsonrpc.Error)

func unpack(tb testing.TB, line string) (map[string]any, *jsonrpc.Error) {
	tb.Helper()
	var r struct {
		Result map[string]any
		Error  *jsonrpc.Error
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || (r.Result == nil) == (r.Error == nil) {
		tb.Fatalf("the server wrote %q: %v", line, err)
	}
	return r.Result, r.Error
}

// readers are clients of b of all kinds, each of which is alice, or on stdio u.
func readers(t *testing.T, b *testServer) map[string]reader {
	t.Helper()
	all := map[string]reader{}
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		w := dial(t, b)
		w.send(handshake(version, "{}")...)
		w.next()
		all["stdio "+version] = func(method, params string) (map[string]any, *jsonrpc.Error) {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params))
			return unpack(t, w.next())
		}
	}
	w := dial(t, b)
	all["stdio 2026-07-28"] = func(method, params string) (map[string]any, *jsonrpc.Error) {
		w.send(modernLine("1", method, params))
		return unpack(t, w.next())
	}
	s := openSiteOf(t, b)
	v := s.visitor("alice").hello(t, "2025-11-25")
	all["http 2025-11-25"] = func(method, params string) (map[string]any, *jsonrpc.Error) {
		return unpack(t, v.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)).body)
	}
	all["http 2026-07-28"] = modernReader(t, s.visitor("alice"))
	return all
}

func modernReader(tb testing.TB, v *visitor) reader {
	return func(method, params string) (map[string]any, *jsonrpc.Error) {
		var given struct{ URI, Name string }
		if err := json.Unmarshal([]byte("{"+params+"}"), &given); err != nil {
			tb.Fatal(err)
		}
		return unpack(tb, v.modern(method, given.URI+given.Name).post(modernLine("1", method, params)).body)
	}
}

func plain(tb testing.TB, v any) string {
	tb.Helper()
	b, err := text.JSON(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// TestTheLibraryInAllEras asks for everything that there is.
func TestTheLibraryInAllEras(t *testing.T) {
	noLeaks(t)
	for era, ask := range readers(t, withLibrary(t, testShelf())) {
		me := "u"
		if strings.HasPrefix(era, "http") {
			me = "alice"
		}
		modern := strings.HasSuffix(era, "2026-07-28")
		for _, test := range []struct{ method, params, want, ttl string }{
			{"resources/templates/list", ``,
				`{"resourceTemplates":[{"description":"What is remembered.","mimeType":"text/markdown","name":"memory","title":"Memory","uriTemplate":"memory:///{path}"},{"description":"Context files.","name":"file","uriTemplate":"file:///{name}"}]}`, "60000"},
			{"resources/list", ``,
				`{"resources":[{"mimeType":"text/markdown","name":"AGENTS.md","size":7,"uri":"file:///AGENTS.md"},` +
					`{"mimeType":"text/markdown","name":"today.md","uri":"memory:///ME/today.md"},` +
					`{"mimeType":"text/markdown","name":"tea.md","uri":"memory:///ME/tea.md"},` +
					`{"mimeType":"text/markdown","name":"work.md","uri":"memory:///ME/work.md"}]}`, "60000"},
			{"resources/read", `"uri":"memory:///ME/tea.md"`,
				`{"contents":[{"mimeType":"text/markdown","text":"what ME knows of tea.md","uri":"memory:///ME/tea.md"}]}`, "0"},
			{"prompts/list", ``,
				`{"prompts":[{"arguments":[{"description":"a name","name":"whom","required":true},{"name":"how"}],"description":"Greets somebody.","name":"greet-ME","title":"Greet"}]}`, "60000"},
			{"prompts/get", `"name":"greet-ME","arguments":{"whom":"bob"}`,
				`{"description":"A greeting.","messages":[{"content":{"text":"Greet bob!","type":"text"},"role":"user"},{"content":{"text":"Hello.","type":"text"},"role":"assistant"}]}`, ""},
			{"completion/complete",
				`"ref":{"type":"ref/resource","uri":"memory:///{path}"},"argument":{"name":"path","value":"ME/t"}`,
				`{"completion":{"values":["ME/today.md","ME/tea.md"]}}`, ""},
			{"completion/complete",
				`"ref":{"type":"ref/prompt","name":"greet-ME"},"argument":{"name":"how","value":"oh "},"context":{"arguments":{"whom":"bob"}}`, `{"completion":{"values":["oh bob!"]}}`, ""},
		} {
			fill := strings.NewReplacer("ME", me).Replace
			got, failed := ask(test.method, fill(test.params))
			if failed != nil {
				t.Errorf("%s: %s failed: %v", era, test.method, failed)
				continue
			}
			if modern {
				ttl, scope := "", ""
				if test.ttl != "" {
					ttl, scope = plain(t, got["ttlMs"]), plain(t, got["cacheScope"])
				}
				if ttl != test.ttl || test.ttl != "" && scope != `"private"` || got["resultType"] != "complete" ||
					got["_meta"] == nil {
					t.Errorf("%s: %s is stamped %v", era, test.method, got)
				}
				for _, stamp := range []string{"ttlMs", "cacheScope", "resultType", "_meta"} {
					delete(got, stamp)
				}
			}
			if diff := cmp.Diff(fill(test.want), plain(t, got)); diff != "" {
				t.Errorf("%s: %s: %s", era, test.method, diff)
			}
		}
	}
}

// everything lists the URIs of all resources.
func everything(tb testing.TB, ask reader) (uris []string) {
	tb.Helper()
	page, failed := ask("resources/list", "")
	if failed != nil {
		tb.Fatal(failed)
	}
	for _, one := range page["resources"].([]any) {
		uris = append(uris, one.(map[string]any)["uri"].(string))
	}
	return uris
}

// TestLibraryIsSeparateForEachCaller lets two callers of one server look for what the
// other has, in every way that there is.
func TestLibraryIsSeparateForEachCaller(t *testing.T) {
	b := withLibrary(t, testShelf())
	s := openSiteOf(t, b)
	for token, others := range map[string]string{"alice": "bob", "alice2": "bob", "bob": "alice"} {
		ask := modernReader(t, s.visitor(token))
		if got := everything(t, ask); len(got) != 4 || strings.Contains(plain(t, got), others) {
			t.Errorf("%s lists %v", token, got)
		}
		for _, test := range []struct{ method, params, nothing string }{
			{"resources/read", `"uri":"memory:///%s/tea.md"`, `"uri":"memory:///%s/xxx.md"`},
			{"prompts/get", `"name":"greet-%s","arguments":{"whom":"x"}`, `"name":"gree-%s","arguments":{"whom":"x"}`},
		} {
			_, theirs := ask(test.method, fmt.Sprintf(test.params, others))
			_, none := ask(test.method, fmt.Sprintf(test.nothing, others))
			if theirs == nil || none == nil || theirs.Code != none.Code ||
				strings.ReplaceAll(theirs.Message, "tea", "xxx") != strings.ReplaceAll(none.Message, "gree-",
					"greet-") {
				t.Errorf("%s: %s of %s says %v, of nothing %v", token, test.method, others, theirs, none)
			}
		}
		for _, value := range []string{"", others, others + "/t"} {
			got, failed := ask("completion/complete",
				fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"memory:///{path}"},"argument":{"name":"path","value":%q}`, value))
			if failed != nil || strings.Contains(plain(t, got["completion"]), others) {
				t.Errorf("%s completes %q to %v, %v", token, value, got, failed)
			}
		}
		got, _ := ask("prompts/list", "")
		if strings.Contains(plain(t, got), others) {
			t.Errorf("%s is offered %v", token, got)
		}
	}
}

// TestThePolicyHidesTheLibrary denies a tool, or lets it ask. Either way what
// it governs looks missing, and the library gets no request for it.
func TestThePolicyHidesTheLibrary(t *testing.T) {
	lib := testShelf()
	b := withLibrary(t, lib, func(c *Config) {
		c.Settings = testSettings(t, c.Tools, policy.Rules{Deny: policy.List{"echo", "long"}})
	})
	for era, ask := range readers(t, b) {
		me := map[bool]string{true: "alice", false: "u"}[strings.HasPrefix(era, "http")]
		if got := everything(t, ask); !cmp.Equal(got, []string{"file:///AGENTS.md"}) {
			t.Errorf("%s: it lists %v", era, got)
		}
		if got, _ := ask("resources/templates/list", ""); strings.Count(plain(t, got), "uriTemplate\"") != 1 {
			t.Errorf("%s: it has the templates %v", era, got)
		}
		if got, _ := ask("prompts/list", ""); len(got["prompts"].([]any)) != 0 {
			t.Errorf("%s: it offers %v", era, got)
		}
		for _, test := range []struct{ method, params, name string }{
			{"resources/read", `"uri":%q`, "memory:///" + me + "/tea.md"},
			{"resources/read", `"uri":%q`, "secret:///plan"},
			{"resources/subscribe", `"uri":%q`, "memory:///" + me + "/tea.md"},
			{"prompts/get", `"name":%q,"arguments":{"whom":"x"}`, "greet-" + me},
			{"completion/complete", `"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"path","value":""}`,
				"memory:///{path}"},
			{"completion/complete", `"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"path","value":""}`,
				"secret:///{path}"},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":%q},"argument":{"name":"how","value":""}`,
				"greet-" + me},
		} {
			if test.method == "resources/subscribe" && strings.HasSuffix(era, "2026-07-28") {
				continue
			}
			_, hidden := ask(test.method, fmt.Sprintf(test.params, test.name))
			odd := "nowhere:///x"
			if strings.HasPrefix(test.name, "greet") {
				odd = "nowhere"
			}
			_, none := ask(test.method, fmt.Sprintf(test.params, odd))
			if hidden == nil || none == nil || hidden.Code != none.Code ||
				strings.ReplaceAll(hidden.Message, test.name, odd) != none.Message {
				t.Errorf("%s: %s of %s says %v, of nothing %v", era, test.method, test.name, hidden, none)
			}
		}
	}
	for _, one := range lib.asked() {
		if what := one[strings.Index(one, " ")+1:]; what != "list" && what != "prompts" {
			t.Errorf("the library was asked %q", one)
		}
	}
}

// TestNarrowedRequestsReadLess takes a tool away with a header.
func TestNarrowedRequestsReadLess(t *testing.T) {
	s := openSiteOf(t, withLibrary(t, testShelf()))
	v := s.visitor("alice")
	v.header = map[string]string{"X-MCP-Exclude-Tools": "echo"}
	if got := everything(t, modernReader(t, v)); !cmp.Equal(got, []string{"file:///AGENTS.md"}) {
		t.Errorf("it lists %v", got)
	}
	if _, failed := modernReader(t, v)("resources/read", `"uri":"memory:///alice/tea.md"`); failed == nil {
		t.Error("it reads what the request gave up")
	}
}

// TestFailuresAreWorded compares the codes of failures with the protocol, and checks that
// their texts say what to do instead.
func TestFailuresAreWorded(t *testing.T) {
	for era, ask := range readers(t, withLibrary(t, testShelf())) {
		notThere := mcp.RESOURCE_NOT_FOUND
		if strings.HasSuffix(era, "2026-07-28") {
			notThere = mcp.INVALID_PARAMS
		}
		for _, test := range []struct {
			method, params string
			code           int
			says           string
		}{
			{"resources/read", `"uri":"memory:///no"`, notThere,
				`not_found: there is no resource "memory:///no" here; call resources/list`},
			{"resources/read", `"uri":"nothing"`, mcp.INVALID_PARAMS, "invalid: params.uri must be"},
			{"prompts/get", `"name":"no"`, mcp.INVALID_PARAMS, `there is no prompt "no" here; call prompts/list`},
			{"prompts/get", `"name":"greet-u"`, mcp.INVALID_PARAMS, ""},
			{"prompts/get", `"name":"greet-u","arguments":{"whom":1}`, mcp.INVALID_PARAMS, "params.arguments"},
			{"resources/templates/list", `"cursor":"x"`, mcp.INVALID_PARAMS, "one page; call it without a cursor"},
			{"completion/complete", `"ref":{"type":"ref/tool","name":"x"},"argument":{"name":"a","value":""}`,
				mcp.INVALID_PARAMS, "ref/prompt"},
			{"completion/complete",
				`"ref":{"type":"ref/resource","uri":"memory:///{other}"},"argument":{"name":"a","value":""}`,
				mcp.INVALID_PARAMS, "no resource template"},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"value":""}`,
				mcp.INVALID_PARAMS, "argument.name is missing"},
		} {
			_, failed := ask(test.method, test.params)
			if failed == nil || failed.Code != test.code || !strings.Contains(failed.Message, test.says) {
				t.Errorf("%s: %s %s got %+v", era, test.method, test.params, failed)
			}
		}
		_, failed := ask("resources/read", `"uri":"memory:///no"`)
		if plain(t, failed.Data) != `{"uri":"memory:///no"}` {
			t.Errorf("%s: the data is %v", era, failed.Data)
		}
	}
}

// TestWithoutALibraryThereIsNone holds on to what is said where there is none.
func TestWithoutALibraryThereIsNone(t *testing.T) {
	b := newTestServer(t)
	for era, ask := range readers(t, b) {
		for _, method := range []string{"resources/list", "resources/read", "prompts/list", "completion/complete"} {
			params := map[string]string{
				"resources/read":      `"uri":"memory:///x"`,
				"completion/complete": `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`,
			}[method]
			if _, failed := ask(method, params); failed == nil || failed.Code != mcp.METHOD_NOT_FOUND {
				t.Errorf("%s: %s got %v", era, method, failed)
			}
		}
	}
	for has, b := range map[bool]*testServer{false: b, true: withLibrary(t, testShelf())} {
		w := dial(t, b)
		w.send(handshake("2025-11-25", "{}")...)
		old, _ := unpack(t, w.next())
		w.send(modernLine("1", "server/discover", ""))
		discovered, _ := unpack(t, w.next())
		for _, from := range []map[string]any{old, discovered} {
			want := `{"tools":{"listChanged":true}}`
			if has {
				want = `{"completions":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`
			}
			if got := plain(t, from["capabilities"]); got != want {
				t.Errorf("library %v: it can %s", has, got)
			}
		}
	}
	b.Changed(Change{})
	if _, err := b.QueryLibrary(t.Context(), LibraryRequest{Access: testAccess(),
		Method: mcp.MethodResourcesList}); tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("consulting nothing got %v", err)
	}
}

func TestStatusesOfTheLibrary(t *testing.T) {
	s := openSiteOf(t, withLibrary(t, testShelf()))
	for uri, status := range map[string]int{"memory:///alice/tea.md": http.StatusOK,
		"memory:///no": http.StatusBadRequest} {
		a := s.visitor("alice").modern("resources/read",
			uri).post(modernLine("1", "resources/read", `"uri":`+strconv.Quote(uri)))
		if a.status != status {
			t.Errorf("%s got %d %s", uri, a.status, a.body)
		}
	}
	a := s.visitor("alice").modern("resources/read",
		"memory:///alice/tea.md").post(modernLine("1", "resources/read", `"uri":"memory:///alice/work.md"`))
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, strconv.Itoa(mcp.HEADER_MISMATCH)) {
		t.Errorf("another name in the header got %d %s", a.status, a.body)
	}
}
