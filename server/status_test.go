package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
)

// meta returns what a request of the stateless era contains about its client. The arguments are JSON; "" leaves
// a member out.
func meta(version, capabilities string) string {
	members := []string{fmt.Sprintf(`%q:{"name":"t","version":"1"}`, mcp.MetaKeyClientInfo)}
	if version != "" {
		members = append(members, fmt.Sprintf("%q:%s", mcp.MetaKeyProtocolVersion, version))
	}
	if capabilities != "" {
		members = append(members, fmt.Sprintf("%q:%s", mcp.MetaKeyClientCapabilities, capabilities))
	}
	return `"_meta":{` + strings.Join(members, ",") + `}`
}

const (
	newest  = `"2026-07-28"`
	allCaps = `{"elicitation":{},"sampling":{},"roots":{}}`
)

// stateless is a request of that era. extra members of params end with a comma.
func stateless(method, extra string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{%s%s}}`, method, extra, meta(newest, allCaps))
}

// A statusCase is a request of the stateless era and what comes back.
type statusCase struct {
	header map[string]string
	body   string
	status int
	code   int // 0: a result
	data   any
}

// checkStatuses holds status, code and data of answers: programs act on them,
// and what stands between us and them decides by the headers.
func checkStatuses(t *testing.T, cases map[string]statusCase) {
	v := caller(t, serveFixture(t, newFixture(t)), "/mcp")
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			w := *v
			w.header = test.header
			a := w.post(test.body)
			code, _ := at(t, a.body, "error", "code").(float64)
			if a.status != test.status || int(code) != test.code || at(t, a.body, "id") != "x" {
				t.Errorf("got %d, %v: %s", a.status, code, a.body)
			}
			if test.data != nil {
				if diff := cmp.Diff(test.data, at(t, a.body, "error", "data")); diff != "" {
					t.Error(diff)
				}
			}
			if strings.Contains(strings.TrimSpace(a.body), "\n") {
				t.Errorf("more than one line: %q", a.body)
			}
		})
	}
}

// heading is what a request of the stateless era says in its headers.
func heading(method string, pairs ...string) map[string]string {
	h := map[string]string{mcp.HeaderProtocolVersion: "2026-07-28", mcp.HeaderMethod: method}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1]
	}
	return h
}

// calling is the heading of a call.
func calling(tool string, pairs ...string) map[string]string {
	return heading("tools/call", append([]string{mcp.HeaderName, tool}, pairs...)...)
}

func TestHeadersAndBodiesAgree(t *testing.T) {
	discover, list := heading("server/discover"), heading("tools/list")
	noMethod := map[string]string{mcp.HeaderProtocolVersion: "2026-07-28"}
	bare := func(meta string) string {
		return `{"jsonrpc":"2.0","id":"x","method":"server/discover","params":{` + meta + `}}`
	}
	checkStatuses(t, map[string]statusCase{
		"discover": {discover, bare(meta(newest, "{}")), 200, 0, nil},
		"discover without client info": {discover, bare(fmt.Sprintf("%q:{%q:%s,%q:{}}", "_meta",
			mcp.MetaKeyProtocolVersion, newest, mcp.MetaKeyClientCapabilities)), 200, 0, nil},
		"no params":              {discover, bare(""), 400, mcp.INVALID_PARAMS, nil},
		"no version in the body": {discover, bare(meta("", "{}")), 400, mcp.INVALID_PARAMS, nil},
		"no capabilities":        {discover, bare(meta(newest, "")), 400, mcp.INVALID_PARAMS, nil},
		"no version in the header": {map[string]string{mcp.HeaderMethod: "server/discover"}, bare(meta(newest, "{}")),
			400, mcp.HEADER_MISMATCH, nil},
		"two versions": {discover, bare(meta(`"v999.0.0"`, "{}")), 400, mcp.HEADER_MISMATCH, nil},
		"an unknown version": {heading("server/discover", mcp.HeaderProtocolVersion, "v999.0.0"),
			bare(meta(`"v999.0.0"`, "{}")), 400, mcp.UNSUPPORTED_PROTOCOL_VERSION,
			map[string]any{"requested": "v999.0.0", "supported": allRevisions()}},
		"no method in the header": {noMethod, stateless("tools/list", ""), 400, mcp.HEADER_MISMATCH, nil},
		"another method":          {list, stateless("prompts/list", ""), 400, mcp.HEADER_MISMATCH, nil},
		"a method in capitals": {heading("TOOLS/LIST"), stateless("tools/list", ""), 400, mcp.HEADER_MISMATCH,
			nil},
		"no name in the header": {heading("tools/call"), stateless("tools/call", `"name":"test_simple_text",`), 400,
			mcp.HEADER_MISMATCH, nil},
		"another name": {calling("test_image_content"), stateless("tools/call", `"name":"test_simple_text",`), 400,
			mcp.HEADER_MISMATCH, nil},
		"resuming a stream": {heading("tools/list", mcp.HeaderLastEventID, "7"), stateless("tools/list", ""), 400,
			mcp.HEADER_MISMATCH, nil},
	})
}

// TestStatelessNotificationsNeedNoMeta accepts a cancellation without _meta: a client could take a refusal for
// a broken connection.
func TestStatelessNotificationsNeedNoMeta(t *testing.T) {
	v := caller(t, serveFixture(t, newFixture(t)), "/mcp").modern("notifications/cancelled", "")
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	} {
		if a := v.post(body); a.status != http.StatusAccepted || a.body != "" {
			t.Errorf("%s got %d %s", body, a.status, a.body)
		}
	}
	if a := v.post(`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}`); a.status != http.StatusBadRequest {
		t.Errorf("a request without it got %d %s", a.status, a.body)
	}
}

func TestStatelessStatuses(t *testing.T) {
	checkStatuses(t, map[string]statusCase{
		"an unknown method": {heading("unknown/method"), stateless("unknown/method", ""), 404, mcp.METHOD_NOT_FOUND,
			nil},
		"initialize": {heading("initialize"), stateless("initialize", ""), 404, mcp.METHOD_NOT_FOUND, nil},
		"ping":       {heading("ping"), stateless("ping", ""), 404, mcp.METHOD_NOT_FOUND, nil},
		"logging/setLevel": {heading("logging/setLevel"), stateless("logging/setLevel", `"level":"info",`), 404,
			mcp.METHOD_NOT_FOUND, nil},
		"resources/subscribe": {heading("resources/subscribe"),
			stateless("resources/subscribe", `"uri":"test://static-text",`), 404, mcp.METHOD_NOT_FOUND, nil},
		"a tool": {calling("test_simple_text"), stateless("tools/call", `"name":"test_simple_text",`), 200,
			0, nil},
		"a tool that fails": {calling("test_error_handling"), stateless("tools/call", `"name":"test_error_handling",`),
			200, 0, nil},
		"an unknown tool": {calling("nothing"), stateless("tools/call", `"name":"nothing",`), 400, mcp.INVALID_PARAMS,
			nil},
		"a capability that is missing": {calling("test_missing_capability"),
			`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"test_missing_capability",` +
				meta(newest, "{}") + `}}`,
			400, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY,
			map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}}},
		"an unknown resource": {heading("resources/read", mcp.HeaderName, "test://nothing"),
			stateless("resources/read", `"uri":"test://nothing",`), 400, mcp.INVALID_PARAMS,
			map[string]any{"uri": "test://nothing"}},
		"a made-up state": {calling("test_simple_text"),
			stateless("tools/call", `"name":"test_simple_text","requestState":"bm8",`), 400, mcp.INVALID_PARAMS, nil},
	})
}

// TestArgumentsAndTheirHeadersAgree compares arguments with the headers that routers read.
func TestArgumentsAndTheirHeadersAgree(t *testing.T) {
	region := stateless("tools/call", `"name":"test_param_header","arguments":{"region":"eu-west"},`)
	checkStatuses(t, map[string]statusCase{
		"an argument and its header": {calling("test_param_header", "Mcp-Param-Region", "eu-west"), region, 200, 0,
			nil},
		"an argument and its header, b64": {calling("test_param_header", "Mcp-Param-Region", "=?base64?ZXUtd2VzdA==?="),
			region, 200, 0, nil},
		"an argument without its header": {calling("test_param_header"), region, 400, mcp.HEADER_MISMATCH, nil},
		"an argument with another header": {calling("test_param_header", "Mcp-Param-Region", "us"), region, 400,
			mcp.HEADER_MISMATCH, nil},
		"an argument, bad base64": {calling("test_param_header", "Mcp-Param-Region", "=?base64?!?="), region, 400,
			mcp.HEADER_MISMATCH, nil},
		"a header without its argument": {calling("test_param_header", "Mcp-Param-Region", "eu"),
			stateless("tools/call", `"name":"test_param_header","arguments":{},`), 400, mcp.HEADER_MISMATCH, nil},
	})
}

func allRevisions() []any {
	var all []any
	for _, v := range mcp.ValidProtocolVersions {
		all = append(all, v)
	}
	return all
}

func TestOldStatuses(t *testing.T) {
	base := serveFixture(t, newFixture(t))
	open, gone := caller(t, base, "/mcp").hello(t, "2025-11-25"), caller(t, base, "/mcp").hello(t, "2025-11-25")
	if a := gone.do(t.Context(), http.MethodDelete, ""); a.status/100 != 2 {
		t.Fatalf("DELETE got %d %s", a.status, a.body)
	}
	ping := `{"jsonrpc":"2.0","id":"x","method":"ping"}`
	made := *open
	made.session = "made-up"
	none := *open
	none.session = ""
	odd := *open
	odd.version = "1999-01-01"
	for name, test := range map[string]struct {
		from   *visitor
		body   string
		status int
		code   int // 0: a result, or nothing
	}{
		"a request":                {open, ping, 200, 0},
		"a notification":           {open, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, 202, 0},
		"an unexpected response":   {open, `{"jsonrpc":"2.0","id":77,"result":{}}`, 202, 0},
		"no session":               {&none, ping, 400, mcp.INVALID_REQUEST},
		"a made-up session":        {&made, ping, 404, mcp.INVALID_REQUEST},
		"a session that has ended": {gone, ping, 404, mcp.INVALID_REQUEST},
		"an unknown version":       {&odd, ping, 400, mcp.INVALID_REQUEST},
		"no JSON":                  {open, `{"jsonrpc":`, 400, mcp.PARSE_ERROR},
		"an unknown method": {open, `{"jsonrpc":"2.0","id":"x","method":"unknown/method"}`, 200,
			mcp.METHOD_NOT_FOUND},
		"an unknown tool": {open, callLine(`"x"`, "nothing", "{}"), 200, mcp.INVALID_PARAMS},
		"an unknown resource": {open,
			`{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"test://no"}}`, 200,
			mcp.RESOURCE_NOT_FOUND},
		"a level": {open, `{"jsonrpc":"2.0","id":"x","method":"logging/setLevel","params":{"level":"info"}}`,
			200, 0},
		"a subscription": {open,
			`{"jsonrpc":"2.0","id":"x","method":"resources/subscribe","params":{"uri":"test://watched-resource"}}`, 200,
			0},
	} {
		t.Run(name, func(t *testing.T) {
			a := test.from.post(test.body)
			code := 0.0
			if a.body != "" {
				code, _ = at(t, a.body, "error", "code").(float64)
			}
			if a.status != test.status || int(code) != test.code {
				t.Errorf("got %d, %v: %s", a.status, code, a.body)
			}
		})
	}
}

// TestDNSRebinding sends foreign Host and Origin headers, in both eras.
func TestDNSRebinding(t *testing.T) {
	base := serveFixture(t, newFixture(t))
	own := strings.TrimPrefix(base, "http://")
	for _, body := range []string{handshake("2025-11-25", "{}")[0], modernLine("1", "server/discover", "")} {
		v := caller(t, base, "/mcp")
		if strings.Contains(body, "discover") {
			v = v.modern("server/discover", "")
		}
		for _, test := range []struct {
			host, origin string
			want         int
		}{
			{own, "http://" + own, 200},
			{own, "", 200},
			{"evil.example.com", "", 403},
			{own, "http://evil.example.com", 403},
			{own, "null", 403},
		} {
			w := *v
			w.header = map[string]string{"Host": test.host}
			for name, value := range v.header {
				w.header[name] = value
			}
			if test.origin != "" {
				w.header["Origin"] = test.origin
			}
			if a := w.post(body); a.status != test.want {
				t.Errorf("host %q, origin %q: got %d %s", test.host, test.origin, a.status, a.body)
			}
		}
	}
}

// TestRoundTrips answers a call that asks: it runs only with the answers and the state.
func TestRoundTrips(t *testing.T) {
	v := caller(t, serveFixture(t, newFixture(t)), "/mcp")
	call := func(tool, more string) string {
		t.Helper()
		return v.modern("tools/call", tool).post(stateless("tools/call",
			fmt.Sprintf(`"name":%q,"arguments":{},%s`, tool, more))).body
	}
	ask := func(tool, more string) (state string) {
		t.Helper()
		answer := call(tool, more)
		if state, _ = at(t, answer, "result", "requestState").(string); state == "" ||
			at(t, answer, "result", "resultType") != "input_required" {
			t.Fatalf("%s asked nothing: %s", tool, answer)
		}
		return state
	}
	reply := func(name, content, state string) string {
		return fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":%s},"unknown":{"action":"accept"}},"requestState":%q,`, name, content, state)
	}
	const name, rounds = "test_input_required_result_elicitation", "test_input_required_result_multi_round"

	state := ask(name, "")
	answered := reply("user_name", `{"name":"Ann"}`, state)
	if got := call(name, answered); !strings.Contains(read(t, got).text(), "Ann") {
		t.Errorf("answered, and got %s", got)
	}
	for what, got := range map[string]string{
		"the same state again": call(name, answered),
		"a changed state":      call(name, reply("user_name", `{"name":"Ann"}`, ask(name, "")+"-TAMPERED")),
		"another tool's state": call("test_simple_text", reply("user_name", `{"name":"Ann"}`, ask(name, ""))),
	} {
		if at(t, got, "error", "code") != float64(mcp.INVALID_PARAMS) {
			t.Errorf("%s: got %s", what, got)
		}
	}
	// Answers without a state are to no question
	ask(name, `"inputResponses":{"user_name":{"action":"accept","content":{"name":"Ann"}}},`)
	ask(name, `"inputResponses":{"user_name":12345},`)
	ask(name, reply("wrong_key", `{}`, ask(name, "")))

	first := ask(rounds, "")
	second := ask(rounds, reply("step1", `{"name":"Ann"}`, first))
	if first == second {
		t.Error("both rounds have the same state")
	}
	got := read(t, call(rounds, reply("step2", `{"color":"green"}`, second))).text()
	if !strings.Contains(got, "Ann") || !strings.Contains(got, "green") {
		t.Errorf("after two rounds: %q", got)
	}
}

func TestStatelessRevisionHasOnlyPost(t *testing.T) {
	v := caller(t, serveFixture(t, newFixture(t)), "/mcp")
	v.version = "2026-07-28"
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if a := v.do(t.Context(), method, ""); a.status != http.StatusMethodNotAllowed ||
			a.header.Get("Allow") != http.MethodPost {
			t.Errorf("%s got %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
	}
}

// TestSubscriptionFilters checks that a subscriber first gets the acknowledged filter, then only what the
// filter names.
func TestSubscriptionFilters(t *testing.T) {
	v := caller(t, serveFixture(t, newFixture(t)), "/mcp")
	stream := v.modern("subscriptions/listen", "").
		listen(t, modernLine("5", "subscriptions/listen", `"notifications":{"promptsListChanged":true}`))
	expect := func(method string) {
		t.Helper()
		got := expect(t, stream.data, method)
		if at(t, got, "method") != method || at(t, got, "params", "_meta", mcp.MetaKeySubscriptionID) != 5.0 {
			t.Errorf("wanted %s, heard %s", method, got)
		}
	}
	expect("notifications/subscriptions/acknowledged")
	for _, tool := range []string{"test_trigger_tool_change", "test_trigger_prompt_change"} {
		if a := v.modern("tools/call", tool).post(modernLine("5", "tools/call",
			fmt.Sprintf(`"name":%q`, tool))); a.status != http.StatusOK {
			t.Fatalf("%s got %d %s", tool, a.status, a.body)
		}
	}
	expect("notifications/prompts/list_changed")
}
