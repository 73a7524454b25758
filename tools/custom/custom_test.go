package custom

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// parameters declares text arguments.
func parameters(names ...string) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]any{}
	}
	return map[string]any{"type": "object", "properties": properties}
}

// hostile are values that break out of a template which is filled carelessly.
func hostile() []string {
	return []string{
		"x; id", "x && id", "x | id", "x || id", "$(id)", "`id`", "x\nid", "x & id", "x > /tmp/y", "x < /etc/passwd",
		"'; id; '", `"; id; "`, `'$(id)'`, `"$(id)"`, `\'; id; \'`, `\"; id; \"`, "'\\''; id; '\\''", "${IFS}id",
		"$HOME", "~root",
		"*", "?", "[a-z]", "{a,b}", "x #", "!!", "x\tid", "x\rid", "%0aid", "\\nid",
		"{{b}}", "{{.b}}", "{{secret:key}}", "{{ b }}", "}}{{b", "'{{b}}'", `"{{b}}"`, "{{a}}", "\u2019; id; \u2019",
		"$'\\x3b id'", "a b", "",
	}
}

func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

// TestValuesStayWithinTheirWord fills templates with hostile values.
func TestValuesStayWithinTheirWord(t *testing.T) {
	for _, value := range hostile() {
		for _, test := range []struct {
			command []Words
			want    []string
		}{
			{[]Words{{"p"}, {"{{a}}"}, {"{{b}}"}}, []string{"p", value, "second"}},
			{[]Words{{"p"}, {"--a={{a}}"}, {"x{{b}}y"}}, []string{"p", "--a=" + value, "xsecondy"}},
			{[]Words{{"p"}, {"'{{a}}'"}, {"{{a}}{{b}}"}}, []string{"p", "'" + value + "'", value + "second"}},
			{[]Words{{"sh"}, {"-c"}, {`echo "$1"`}, {"sh"}, {"{{a}}"}}, []string{"sh", "-c", `echo "$1"`, "sh", value}},
		} {
			raw, err := json.Marshal(map[string]any{"a": value, "b": "second"})
			if err != nil {
				t.Fatal(err)
			}
			v, err := arguments(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, err := argv(test.command, v)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q in %v: got %q, %v", value, test.command, got, err)
			}
		}
		v := values{args: map[string]any{"a": value}}
		to, err := address("http://host/x/{{a}}/y?q={{a}}&z=1", v)
		if value == "" {
			if tool.AsError(err) == nil {
				t.Errorf("an empty part of a path: %q", to)
			}
			continue
		}
		if strings.Count(to, "/") != 5 || strings.Count(to, "?") != 1 || strings.Count(after(to, "?"), "&") != 1 ||
			strings.Contains(to, "#") {
			t.Errorf("%q: got %q, %v", value, to, err)
		}
		sent, _, err := body(map[string]any{"x": "{{a}}", "y": []any{"-{{a}}-"}}, v)
		text, _ := json.Marshal(sent)
		want, _ := json.Marshal(map[string]any{"x": value, "y": []any{"-" + value + "-"}})
		if string(text) != string(want) || err != nil {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

func TestWords(t *testing.T) {
	command := []Words{{"p"}, {"-n", "{{n}}"}, {"{{flag}}"}, {"--x={{x}}"}, {"--"}, {"{{files}}"}, {"{{last}}"}}
	for raw, want := range map[string]string{
		`{}`:                               "p|--",
		`{"n":-5}`:                         "p|-n|-5|--",
		`{"n":1e3,"x":"-y"}`:               "p|-n|1e3|--x=-y|--",
		`{"files":["a","-b"],"last":"-c"}`: "p|--|a|-b|-c",
		`{"files":[],"last":null}`:         "p|--",
		`{"x":{"a":[1]}}`:                  `p|--x={"a":[1]}|--`,
		`{"flag":"-x"}`:                    "flag begins with -",
		`{"flag":["a","--exec"]}`:          "flag begins with -",
		`{"n":"-rf"}`:                      "n begins with -",
		`{"x":"a\u0000b"}`:                 "zero byte",
		`{"files":["a\u0000"]}`:            "zero byte",
		`{"flag":true}`:                    "p|true|--",
	} {
		v, err := arguments([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		words, err := argv(command, v)
		if got := strings.Join(words, "|"); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %q, %v, want %q", raw, got, err, want)
		}
	}
}

// TestEndOfOptionsIsLeftOut: a -- that is left out with a value ends no options.
func TestEndOfOptionsIsLeftOut(t *testing.T) {
	command := []Words{{"p"}, {"--", "{{a}}"}, {"{{b}}"}}
	for raw, want := range map[string]string{`{"a":"-x","b":"-y"}`: "p|--|-x|-y", `{"b":"y"}`: "p|y", `{"b":"-y"}`: ""} {
		v, err := arguments([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		words, err := argv(command, v)
		if got := strings.Join(words, "|"); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", raw, got, err, want)
		}
	}
}

// TestHeadersWithCredentials: a definition may have a header with a credential, which no argument of a call may set.
func TestHeadersWithCredentials(t *testing.T) {
	d, err := Parse([]byte("name: x\ndescription: d\nrequest: {url: 'https://h.test/x', headers: {Authorization: " +
		"'Bearer {{secret:tok}}', X-Key: plain}}"))
	if err != nil {
		t.Fatal(err)
	}
	to := new(recorder)
	call, err := Tools([]Definition{d}, Options{Client: to, Marks: tool.NewMarks(),
		Secret: func(name string) ([]byte, error) { return []byte("value of " + name), nil },
		Mask:   func(string, ...string) error { return nil }})[0].Bind([]byte(`{}`), tool.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := to.sent.Header; got.Get("Authorization") != "" || got.Get("X-Key") != "plain" {
		t.Errorf("the header is %v", got)
	}
	r := &http.Request{Header: http.Header{}}
	if ok, err := to.sent.Secret.Attach(t.Context(), r); !ok || err != nil ||
		r.Header.Get("Authorization") != "Bearer value of tok" {
		t.Errorf("with the credential it is %v, %v", r.Header, err)
	}
}

// TestWarnings: a command that may run an argument as code is warned about.
func TestWarnings(t *testing.T) {
	for word, warned := range map[string]bool{"make": true, "cat": false} {
		d := Definition{Command: []Words{{word}, {"{{a}}"}}}
		if got := d.Warning(); (got != "") != warned {
			t.Errorf("%s: %q", word, got)
		}
	}
}

// TestHiddenCharactersInDescriptions: models and terminals get none.
func TestHiddenCharactersInDescriptions(t *testing.T) {
	d := Definition{Name: "x", Title: "t\x1b[31m", Description: "d\u200be\a", Command: []Words{{"p"}}}
	if got := Tools([]Definition{d}, Options{})[0].Spec; got.Doc != "de" || got.Title != "t[31m" {
		t.Errorf("the title is %q, the description %q", got.Title, got.Doc)
	}
}

// commands are commands of callers, in the sandbox unless they are elevated.
type commands struct{}

func (commands) Site(_ context.Context, _ string, elevated bool) (sandbox.Site, error) {
	return sandbox.Site{Elevated: elevated}, nil
}

func (commands) Start(context.Context, sandbox.Command) (sandbox.Process, error) { return nil, nil }

// TestCommandsOnTheHostAreAskedAbout: also those of a definition that says that it only reads.
func TestCommandsOnTheHostAreAskedAbout(t *testing.T) {
	for where, ask := range map[string]string{"": "", "host": "elevated"} {
		d := Definition{Name: "x", Description: "d", Risk: "reads", Command: []Words{{"id"}}, Sandbox: where}
		call, err := Tools([]Definition{d}, Options{Commands: commands{}})[0].Bind([]byte(`{}`), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := call.Prepare(t.Context()); err != nil || plan.Ask != ask {
			t.Errorf("sandbox %q: asks %q, %v", where, plan.Ask, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for a, want := range map[string]string{
		"b c": "https://h/b%20c/x?q=b+c&k=1", "../..": "https://h/..%2F../x?q=..%2F..&k=1", "..": "", ".": "",
		"//evil/": "https://h/%2F%2Fevil%2F/x?q=%2F%2Fevil%2F&k=1",
		"?a=b#c":  "https://h/%3Fa=b%23c/x?q=%3Fa%3Db%23c&k=1",
	} {
		got, err := address("https://h/{{a}}/x?q={{a}}&none={{b}}&k=1", values{args: map[string]any{"a": a}})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", a, got, err, want)
		}
	}
}

func TestDefinitionsAreChecked(t *testing.T) {
	const right = "name: x\ndescription: d\n"
	for text, want := range map[string]string{
		right + "command: [p]": "",
		right + "command: [p, '{{a}}']\nparameters: {properties: {a: {type: string}}}": "",
		right + "script: return 1": "",
		right + "command: [sh, -c, 'echo \"$1\"', sh, '{{a}}']\nparameters: {properties: {a: {}}}": "",
		right + "command: [python3, x.py, -c, '{{a}}']\nparameters: {properties: {a: {}}}":         "",
		right + "command: [/bin/sh, -c, 'echo {{a}}']\nparameters: {properties: {a: {}}}":          "runs \"echo {{a}}\" as code",
		right + "command: [bash, -eu, -ec, 'echo {{a}}']\nparameters: {properties: {a: {}}}":       "as code",
		right + "command: [node, --eval, '{{a}}']\nparameters: {properties: {a: {}}}":              "as code",
		right + "command: [python3.12, -Ic, 'print({{a}})']\nparameters: {properties: {a: {}}}":    "as code",
		right + "command: [p]\n---\nname: y\n":                                                     "second document",
		right + "request: {url: 'https://h/x', method: \"GET\\nX\"}":                               "request.method",
		right + "request: {url: 'https://h/x'}":                                                    "",
		"command: [p]\ndescription: d":                                                             `name is ""`,
		"name: Bad-Name\ndescription: d\ncommand: [p]":                                             `name is "Bad-Name"`,
		"name: x\ncommand: [p]":                                          "description is missing",
		right:                                                            "one of command, request and script",
		right + "command: [p]\nscript: x":                                "one of command, request and script",
		right + "comand: [p]":                                            "comand",
		right + "command: ['{{a}}']":                                     "the first word is the program",
		right + "command: [p, '{{a}}']":                                  "{{a}} is not one of parameters.properties",
		right + "command: [p, '{{secret:k}}']":                           "only for env and request.headers",
		right + "command: [p, '{{.a}}']":                                 "is not a placeholder",
		right + "command: [p, '{{a']":                                    "is not a placeholder",
		right + "command: [p]\nenv: {T: '{{secret:k}}'}":                 "needs its whole path",
		right + "command: [p]\ndir: ../x":                                "in the workspace",
		right + "command: [p]\nsandbox: none":                            "sandbox is",
		right + "command: [p]\nrisk: low":                                "risk is",
		right + "command: [p]\ntimeout: 2h":                              "timeout is",
		right + "command: [p]\nparameters: {type: array}":                "parameters",
		right + "script: x\nstdin: y":                                    "only for a command",
		right + "request: {url: 'https://{{a}}/x'}":                      "without placeholders",
		right + "request: {url: 'https://h{{a}}/x'}":                     "without placeholders",
		right + "request: {url: 'https://u:p@h/x'}":                      "without placeholders",
		right + "request: {url: 'file:///etc/passwd'}":                   "http(s)",
		right + "request: {url: 'https://h/x', headers: {\"A\\nB\": c}}": "is not a header",
		right +
			"request: {url: 'https://h/x', method: POST, body: '{\"a\": \"{{a}}\"}'}\nparameters: {properties: {a: {}}}": "write JSON as a YAML value",
	} {
		_, err := Parse([]byte(text))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
}

// TestConversion converts shell templates in which a value could break out, or refuses them.
func TestConversion(t *testing.T) {
	for command, want := range map[string]string{
		"curl {{.a}}":                         "curl|{{a}}",
		"curl -s '{{.a}}'":                    "curl|-s|{{a}}",
		`curl "{{.a}}" --max-time 5`:          "curl|{{a}}|--max-time|5",
		"curl https://h/{{ .a }}/x":           "curl|https://h/{{a}}/x",
		`grep -- "x {{.a}}" '{{.b}}'`:         "grep|--|x {{a}}|{{b}}",
		`echo a\ b\\c "d\"e"`:                 `echo|a b\c|d"e`,
		"python3 tool.py {{.a}}":              "python3|tool.py|{{a}}",
		"sed -n p":                            "sed|-n|p",
		"jq .name {{.a}}":                     "jq|.name|{{a}}",
		"git log {{.a}}":                      "git|log|{{a}}",
		"":                                    "!0 commands",
		"{{.a}}":                              "!chooses the program",
		"{{.a}} x":                            "!chooses the program",
		"/bin/{{.a}}":                         "!chooses the program",
		"echo {{.a}} | sh":                    "!needs a shell",
		"echo {{.a}} && id":                   "!needs a shell",
		"echo {{.a}}; id":                     "!2 commands",
		"echo {{.a}}\nid":                     "!2 commands",
		"echo {{.a}} &":                       "!background",
		"echo x > {{.a}}":                     "!redirects",
		"cat <<E\n{{.a}}\nE":                  "!redirects",
		"cat <<< {{.a}}":                      "!redirects",
		"A={{.a}} prog":                       "!use env",
		"echo $({{.a}})":                      "!needs a shell",
		"echo `{{.a}}`":                       "!needs a shell",
		`echo "$({{.a}})"`:                    "!needs a shell",
		"echo ${x:-{{.a}}}":                   "!needs a shell",
		"echo $(( {{.a}} ))":                  "!needs a shell",
		"echo $HOME/{{.a}}":                   "!needs a shell",
		"echo $'{{.a}}'":                      "!is not read",
		"echo {{.a}}*":                        "!pattern",
		"ls ~/{{.a}}":                         "!pattern",
		"if {{.a}}; then id; fi":              "!needs a shell",
		"for x in {{.a}}; do echo $x; done":   "!needs a shell",
		"f() { {{.a}}; }":                     "!needs a shell",
		"( echo {{.a}} )":                     "!needs a shell",
		"! echo {{.a}}":                       "!negates",
		"[[ {{.a}} == x ]]":                   "!needs a shell",
		"sh -c '{{.a}}'":                      "!as code",
		`bash -lc "echo {{.a}}"`:              "!as code",
		"/usr/bin/python3 -c 'print({{.a}})'": "!as code",
		"python3 {{.a}}":                      "!as code",
		"perl -e '{{.a}}'":                    "!as code",
		"awk '{{.a}}' file":                   "!as code",
		"sed {{.a}} file":                     "!as code",
		"jq {{.a}}":                           "!as code",
		"eval {{.a}}":                         "!as code",
		"xargs -I% sh {{.a}}":                 "!as code",
		"env X=1 {{.a}}":                      "!as code",
		"ssh host {{.a}}":                     "!as code",
		"find . -exec {{.a}} +":               "!as code",
		"tar --to-command={{.a}} -xf x":       "!as code",
		"git -c core.pager={{.a}} log":        "!as code",
		"echo {{if .a}}x{{end}}":              "!is not {{.key}}",
		"echo {{.a.b}}":                       "!is not {{.key}}",
		"echo {{printf .a}}":                  "!is not {{.key}}",
		"echo {{secret:k}}":                   "!is not {{.key}}",
		"echo {{.secret:k}}":                  "!is not {{.key}}",
		"echo {{.a":                           "!is not {{.key}}",
		"echo {{.unknown}}":                   "!{{unknown}} is not one of",
		"echo 'unclosed {{.a}}":               "!cannot be read",
		"echo \uE000a\uE001":                  "!private use",
	} {
		d, _, err := Convert(Seed{Name: "x", Description: "d", Command: command, Parameters: parameters("a", "b")})
		var words []string
		for _, w := range d.Command {
			words = append(words, w...)
		}
		reason, refused := strings.CutPrefix(want, "!")
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), reason) ||
			!refused && strings.Join(words, "|") != want {
			t.Errorf("%q: got %q, %v, want %q", command, words, err, want)
		}
	}
}

func TestConversionOfTheRest(t *testing.T) {
	no := false
	d, secrets, err := Convert(Seed{
		Name: "x", Description: "d", Command: "/usr/bin/prog", Seconds: 5, Dir: "sub", Agent: "ann", Enabled: &no,
		Env: map[string]string{"TOKEN": "abc"},
	})
	if err != nil || d.Timeout != "5s" || d.Dir != "sub" || d.Agent != "ann" || !d.Disabled ||
		d.Env["TOKEN"] != "{{secret:x_token}}" || !slices.Equal(secrets, []string{"x_token"}) {
		t.Errorf("got %+v, %v, %v", d, secrets, err)
	}
	again, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Parse([]byte(again)); err != nil || same.Env["TOKEN"] != d.Env["TOKEN"] {
		t.Errorf("%s\n%v", again, err)
	}
}

func TestRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := Rows{s}
		ctx := t.Context()
		d := Definition{Name: "x", Description: "d", Command: []Words{{"p"}, {"-n", "{{n}}"}},
			Parameters: parameters("n")}
		for range 2 {
			if err := r.Put(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := r.Get(ctx, "x"); err != nil || len(got.Command) != 2 || len(got.Command[1]) != 2 {
			t.Errorf("got %+v, %v", got, err)
		}
		if all, err := r.List(ctx); err != nil || len(all) != 1 {
			t.Errorf("got %v, %v", all, err)
		}
		if err := r.Put(ctx, Definition{Name: "bad name"}); err == nil {
			t.Error("a definition with mistakes was stored")
		}
		if err := r.Remove(ctx, "x"); err != nil {
			t.Fatal(err)
		}
		if err := r.Remove(ctx, "x"); err != ErrUnknown {
			t.Errorf("got %v", err)
		}
	})
}

func TestFilesWithMistakesAreNamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "name: a\ndescription: d\ncommand: [p]",
		"b.json": `{"name":"b","description":"d","script":"return 1"}`,
		"c.yml":  "name: c", "d.txt": "no definition", ".hidden.yaml": "no definition",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := LoadDir(dir)
	if len(all) != 2 || err == nil || !strings.Contains(err.Error(), "c.yml") ||
		strings.Contains(err.Error(), "d.txt") {
		t.Errorf("got %d, %v", len(all), err)
	}
	if all, err := LoadDir(filepath.Join(dir, "missing")); all != nil || err != nil {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestChangesOfFilesAreNoticed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools.d") // does not exist yet
	ctx, cancel := context.WithCancel(t.Context())
	changed, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- Watch(ctx, func() []string { return []string{dir} }, func() { changed <- struct{}{} })
	}()
	for i := 0; ; i++ { // until the watch has begun
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
			if i > 60 {
				t.Fatal("no change was noticed")
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			continue
		}
		break
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// plainClient sends requests without any rules.
type plainClient struct{}

func (plainClient) Check(context.Context, outbound.Request) error { return nil }

func (plainClient) Do(ctx context.Context, r outbound.Request) (*outbound.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, strings.NewReader(string(r.Body)))
	if err != nil {
		return nil, err
	}
	req.Header = r.Header
	if r.Secret != nil {
		if _, err := r.Secret.Attach(ctx, req); err != nil {
			return nil, err
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return &outbound.Answer{Status: res.StatusCode, Header: res.Header, URL: r.URL, Body: res.Body}, nil
}

func TestRequests(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/fails/x" {
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "uri": r.RequestURI, "auth": r.Header.Get("Authorization"), "body": string(content),
			"type": r.Header.Get("Content-Type"),
		})
	}))
	defer served.Close()
	masked := ""
	o := Options{
		Client: plainClient{}, Marks: tool.NewMarks(),
		Secret: func(name string) ([]byte, error) { return []byte("the " + name), nil },
		Mask:   func(_ string, values ...string) error { masked = values[0]; return nil },
	}
	d := Definition{
		Name: "x", Description: "d", Parameters: parameters("id", "n"),
		Request: &Request{
			Method: "post", URL: served.URL + "/a/{{id}}",
			Headers: map[string]string{"Authorization": "Bearer {{secret:key}}"},
			Body:    map[string]any{"number": "{{n}}", "text": "n={{n}}"},
		},
	}
	if err := d.check(); err != nil {
		t.Fatal(err)
	}
	call := func(args string) (tool.Result, error) {
		c, err := Tools([]Definition{d}, o)[0].Bind([]byte(args), tool.DefaultLimits())
		if err != nil {
			return tool.Result{}, err
		}
		return c.Run(t.Context())
	}
	res, err := call(`{"id":"b/c","n":4}`)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := res.Data.(map[string]any)
	want := map[string]any{
		"method": "POST", "uri": "/a/b%2Fc", "auth": "Bearer the key", "body": `{"number":4,"text":"n=4"}`,
		"type": "application/json",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if masked != "the key" || !strings.Contains(res.Text(), "b%2Fc") {
		t.Errorf("masked %q; %s", masked, res.Text())
	}
	if _, err := call(`{"id":"x","other":1}`); tool.AsError(err).Kind != tool.Invalid {
		t.Errorf("an unknown argument: %v", err)
	}
	d.Request.URL = served.URL + "/fails/{{id}}"
	if res, err := call(`{"id":"x"}`); err != nil || !res.Failed || !strings.Contains(res.Text(), "404") {
		t.Errorf("got %q, %v", res.Text(), err)
	}
}

// A recorder keeps the request and sends nothing.
type recorder struct {
	plainClient
	sent outbound.Request
}

func (c *recorder) Do(_ context.Context, r outbound.Request) (*outbound.Answer, error) {
	c.sent = r
	return &outbound.Answer{Status: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}
