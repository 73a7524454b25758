//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/view/viewtest"
)

// A consoleUser is a person with a browser, and mcp-tools ui on a data directory.
type consoleUser struct {
	t       *testing.T
	address string // of the console
	base    string // of the pages after the login
	browser http.Client
}

// openConsole runs mcp-tools ui, and opens its link.
func (r *remote) openConsole() *consoleUser {
	r.t.Helper()
	out := &logbook{news: make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- r.run(ctx, out, "ui", "--no-open", "--config", filepath.Join(r.dir, "config.yaml"), "--data",
			filepath.Join(r.dir, "data"))
	}()
	r.t.Cleanup(func() {
		end()
		<-ended
	})
	link := out.find(r.t, `(http://127\.0\.0\.1:\d+/open/\w+)`)
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	u := &consoleUser{t: r.t, browser: http.Client{Jar: jar}}
	u.address, _, _ = strings.Cut(link, "open/")
	at, _ := u.fetch(http.MethodPost, link, nil)
	u.base = regexp.MustCompile(`^.*/c/\w+`).FindString(at)
	if u.base == "" {
		r.t.Fatalf("the link leads to %s", at)
	}
	return u
}

// fetch returns the address and the text of a page.
func (u *consoleUser) fetch(method, address string, form url.Values) (at, page string) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", strings.TrimSuffix(u.address, "/"))
	}
	res, err := u.browser.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		u.t.Fatalf("%s %s: %d %v\n%s", method, address, res.StatusCode, err, text)
	}
	return res.Request.URL.String(), string(text)
}

// decide opens the page that a client was sent to, and presses a button.
func (u *consoleUser) decide(page, verb, reason string) {
	u.t.Helper()
	id, ok := strings.CutPrefix(page, u.address+"questions/")
	if !ok {
		u.t.Fatalf("the client was sent to %s, the console is at %s", page, u.address)
	}
	if _, gate := u.fetch(http.MethodGet, page, nil); !strings.Contains(gate, "questions/"+id) {
		u.t.Errorf("the page does not lead to the question: %s", gate)
	}
	_, question := u.fetch(http.MethodGet, u.base+"/questions/"+id, nil)
	csrf := regexp.MustCompile(`name="csrf" value="(\w+)"`).FindStringSubmatch(question)
	if csrf == nil || !strings.Contains(question, "rm -f") {
		u.t.Fatalf("the page of the question is %s", question)
	}
	form := url.Values{"csrf": {csrf[1]}, "arg.id": {id}, "back": {"questions"}}
	if reason != "" {
		form.Set("arg.reason", reason)
	}
	u.fetch(http.MethodPost, u.base+"/do/approvals/"+verb, form)
}

// sentToPage is a question to a client that names a page.
type sentToPage struct{ Mode, URL, ElicitationID, Message string }

const supervised = "policy: {autonomy: supervised}\n"

// TestClientOpensThePageOfAQuestion has clients that show no forms, over stdio and HTTP, and a person who decides in
// the console. The calls continue with the answer.
func TestClientOpensThePageOfAQuestion(t *testing.T) {
	r := serveRemote(t, supervised, "--workspace", t.TempDir(), "--sandbox", "host")
	agent := r.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	person := r.openConsole()
	data, settings := filepath.Join(r.dir, "data"), filepath.Join(r.dir, "config.yaml")

	t.Run("stdio", func(t *testing.T) {
		cmd := apart(ourselves(t), "--data", data, "--config", settings, "--profile", "full", "--workspace", t.TempDir(),
			"--sandbox", "host")
		in, errIn := cmd.StdinPipe()
		out, errOut := cmd.StdoutPipe()
		for _, err := range []error{errIn, errOut, cmd.Start()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
		lines := bufio.NewScanner(out)
		next := func() (m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			Result json.RawMessage
		}) {
			t.Helper()
			if !lines.Scan() {
				t.Fatalf("the server has ended: %v", lines.Err())
			}
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			return m
		}
		send := func(format string, args ...any) {
			t.Helper()
			if _, err := fmt.Fprintf(in, format+"\n", args...); err != nil {
				t.Fatal(err)
			}
		}
		send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"t","version":"1"}}}`)
		next()
		send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for i, test := range []struct{ verb, reason, want string }{
			{"deny", "not that one", `a person denied this call of exec: \"not that one\"`}, {"allow", "", `"content"`},
		} {
			send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"exec","arguments":{"command":"rm -f %s"}}}`,
				i+1, test.verb)
			ask := next()
			var q sentToPage
			if err := json.Unmarshal(ask.Params, &q); err != nil || ask.Method != "elicitation/create" || q.Mode != "url" ||
				!strings.HasPrefix(q.Message, "Run a command (exec) in ") {
				t.Fatalf("the client was sent %+v, %v", ask, err)
			}
			send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, ask.ID)
			person.decide(q.URL, test.verb, test.reason)
			completed := false
			m := next()
			for ; m.Method != ""; m = next() {
				completed = completed || m.Method == "notifications/elicitation/complete" &&
					strings.Contains(string(m.Params), q.ElicitationID)
			}
			if !completed || !strings.Contains(string(m.Result), test.want) ||
				test.verb == "allow" && strings.Contains(string(m.Result), "isError") {
				t.Errorf("%s: completed %t, the call got %s", test.verb, completed, m.Result)
			}
		}
	})

	t.Run("http", func(t *testing.T) {
		call := func(more string) string {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"command":"rm -f x"}%s,`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}`, more)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return ""
			}
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Authorization": "Bearer " + agent, "Mcp-Protocol-Version": "2026-07-28",
				"Mcp-Method": "tools/call", "Mcp-Name": "exec",
			} {
				req.Header.Set(name, value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return ""
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
		var asked struct {
			Result struct {
				RequestState  string
				InputRequests map[string]struct{ Params sentToPage }
			}
		}
		first := call("")
		if err := json.Unmarshal([]byte(first), &asked); err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		page := asked.Result.InputRequests["approval"].Params.URL
		got := make(chan string, 1)
		go func() {
			got <- call(fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":"accept"}}`,
				asked.Result.RequestState))
		}()
		person.decide(page, "allow", "")
		if answer := <-got; !strings.Contains(answer, `"content"`) || strings.Contains(answer, "isError") {
			t.Errorf("the call got %s", answer)
		}
	})
}

// An sdkClient is a client of an SDK, which opens pages and shows no forms.
type sdkClient struct {
	sent chan *mcp.ElicitParams // to pages
	call func(tool string, args map[string]any) (result string, err error)
}

// goClient returns a client of the official Go SDK.
func goClient(t *testing.T, server *exec.Cmd) sdkClient {
	sent := make(chan *mcp.ElicitParams, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			sent <- q.Params
			return &mcp.ElicitResult{Action: "accept"}, nil // the browser is open
		},
	})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: server, TerminateDuration: hang}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return sdkClient{sent, func(tool string, args map[string]any) (string, error) {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return "", err
		}
		said, err := json.Marshal(result)
		return string(said), err
	}}
}

// typeScriptClient returns a client of a TypeScript SDK: the package sdk, or client, its second version.
func typeScriptClient(t *testing.T, sdk string, server *exec.Cmd) sdkClient {
	installed, err := exec.CommandContext(t.Context(), "../../.ci/conformance-install").Output()
	if err != nil {
		needtest.Lacking(t, "node", fmt.Sprintf("the TypeScript SDK is not there: %v", err))
	}
	node, _, _ := strings.Cut(string(installed), "\n")
	beside, _, _ := strings.Cut(node, "node_modules")
	cmd := exec.Command(node, append([]string{"../../testdata/conformance/pageclient.mjs", sdk, filepath.Join(beside, "package.json"), server.Path},
		server.Args[1:]...)...)
	cmd.Env, cmd.SysProcAttr = server.Env, server.SysProcAttr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	complaints := &logbook{news: make(chan struct{})}
	cmd.Stderr = complaints
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	type line struct {
		Page   *mcp.ElicitParams
		Result json.RawMessage
		Error  string
	}
	c, results, ended := sdkClient{sent: make(chan *mcp.ElicitParams, 1)}, make(chan line, 1), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(results)
		for read := json.NewDecoder(out); ; {
			var one line
			switch err := read.Decode(&one); {
			case err != nil:
				return
			case one.Page != nil:
				c.sent <- one.Page
			default:
				results <- one
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		<-ended
		kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client has ended with %v: %s", err, complaints.text)
		}
	})
	c.call = func(tool string, args map[string]any) (string, error) {
		if err := json.NewEncoder(in).Encode(map[string]any{"name": tool, "arguments": args}); err != nil {
			return "", err
		}
		got, ok := <-results
		if !ok || got.Error != "" {
			return "", fmt.Errorf("the client says %q", got.Error)
		}
		return string(got.Result), nil
	}
	return c
}

// TestClientsOfSDKsOpenThePage has clients of the official Go and TypeScript SDKs, which open pages and show no forms. A
// person decides about a call and answers a question of the agent in the console. The call continues, and the answer
// comes to the inbox.
func TestClientsOfSDKsOpenThePage(t *testing.T) {
	r := serveRemote(t, supervised, "--workspace", t.TempDir(), "--sandbox", "host")
	person := r.openConsole()
	for name, connect := range map[string]func(*testing.T, *exec.Cmd) sdkClient{
		"go":           goClient,
		"typescript 1": func(t *testing.T, server *exec.Cmd) sdkClient { return typeScriptClient(t, "sdk", server) },
		"typescript 2": func(t *testing.T, server *exec.Cmd) sdkClient { return typeScriptClient(t, "client", server) },
	} {
		t.Run(name, func(t *testing.T) {
			server := apart(ourselves(t), "--data", filepath.Join(r.dir, "data"), "--config", filepath.Join(r.dir, "config.yaml"),
				"--profile", "full", "--workspace", t.TempDir(), "--sandbox", "host")
			connect(t, server).decidesOnPages(t, person)
		})
	}
}

func (c sdkClient) decidesOnPages(t *testing.T, person *consoleUser) {
	// call calls a tool, and returns its result after the client was sent to a page and the person has acted there.
	call := func(tool string, args map[string]any, act func(page string)) string {
		t.Helper()
		type answer struct {
			result string
			err    error
		}
		got := make(chan answer, 1)
		go func() {
			result, err := c.call(tool, args)
			got <- answer{result, err}
		}()
		select {
		case q := <-c.sent:
			if q.Mode != "url" || q.Message == "" {
				t.Errorf("%s: the client was sent %+v", tool, q)
			}
			act(q.URL)
		case a := <-got:
			t.Fatalf("%s: the client was sent to no page: %s, %v", tool, a.result, a.err)
		}
		a := <-got
		if a.err != nil {
			t.Fatalf("%s: %v", tool, a.err)
		}
		return a.result
	}
	if got := call("exec", map[string]any{"command": "rm -f x && echo done"}, func(page string) { person.decide(page, "allow", "") }); !strings.Contains(got, "done") || strings.Contains(got, "isError") {
		t.Errorf("the call got %s", got)
	}
	asked := ""
	if got := call("ask_user", map[string]any{"question": "Which of the two?", "options": []string{"this", "that"}}, func(page string) {
		id := strings.TrimPrefix(page, person.address+"questions/")
		asked = id
		_, question := person.fetch(http.MethodGet, person.base+"/questions/"+id, nil)
		csrf := regexp.MustCompile(`name="csrf" value="(\w+)"`).FindStringSubmatch(question)
		if csrf == nil || !strings.Contains(question, "Which of the two?") {
			t.Fatalf("the page of the question is %s", question)
		}
		person.fetch(http.MethodPost, person.base+"/do/questions/answer", url.Values{
			"csrf": {csrf[1]}, "arg.id": {id}, "arg.text": {"that"}, "back": {"questions"},
		})
	}); !strings.Contains(got, "waits for the user. The answer comes to your inbox") {
		t.Errorf("the agent got %s", got)
	}
	if answer, err := c.call("wait", map[string]any{"for": []string{asked}, "timeout": 120}); err != nil || !strings.Contains(answer, `Which of the two?\": that`) {
		t.Errorf("the answer in the inbox is %s, %v", answer, err)
	}
}

// TestRefusalLeadsToThePage has a client that can show nothing. The model gets a sentence for the user, and the next
// equal call uses the answer.
func TestRefusalLeadsToThePage(t *testing.T) {
	r := serveRemote(t, supervised, "--workspace", t.TempDir(), "--sandbox", "host")
	agent := r.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	call := func() string {
		_, body := r.post("/mcp", agent, "tools/call", `"name":"exec","arguments":{"command":"rm -f x"}`, "Mcp-Name", "exec")
		return body
	}
	refused := call()
	id := regexp.MustCompile("decide there, or run `mcp-tools approvals allow (\\w+)").FindStringSubmatch(refused)
	if id == nil {
		t.Fatalf("it is refused with %s", refused)
	}
	person := r.openConsole()
	person.decide(person.address+"questions/"+id[1], "allow", "")
	if got := call(); strings.Contains(got, "isError") {
		t.Errorf("after the answer an equal call got %s", got)
	}
}

// TestFirstApproval walks as a person does who has never seen the console. The client cannot ask, so its model passes on
// a sentence; the person starts what it names, opens the link in a browser, and presses two buttons. The equal call
// runs. While the page is open the next call that needs an approval waits for it, and the person presses one button.
func TestFirstApproval(t *testing.T) {
	if works, err := condition("kernel"); !works || err != nil {
		needtest.Lacking(t, "the kernel sandbox", fmt.Sprint(err))
	}
	home, ws := t.TempDir(), t.TempDir()
	data := filepath.Join(home, "data")
	notes := filepath.Join(ws, "notes.txt")
	if err := os.WriteFile(notes, []byte("a note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startAgent(t, home, data, ws)
	remove := map[string]any{"command": "rm notes.txt"}
	last := time.Now()
	step := func(what string) {
		t.Logf("%5d ms: %s", time.Since(last).Milliseconds(), what)
		last = time.Now()
	}
	refused, _, ok := c.try("exec", remove)
	sentence := regexp.MustCompile("say to the user: \"Please run `(mcp-tools ui --data [^`]+)` in a terminal .* Then tell me to go on\\.\"")
	if ok || !sentence.MatchString(refused) {
		t.Fatalf("the model got %s", refused)
	}
	step("the client's message")

	name := strings.Fields(sentence.FindStringSubmatch(refused)[1])
	ui := apart(ourselves(t), name[1:]...)
	out := &logbook{news: make(chan struct{})}
	ui.Stdout, ui.Stderr = out, out
	if err := ui.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ui.Process.Signal(os.Interrupt)
		if err := ui.Wait(); err != nil {
			t.Errorf("the console ended with %v: %s", err, out.text)
		}
	})
	link := out.find(t, `(http://127\.0\.0\.1:\d+/open/\w+)`)
	step("mcp-tools ui shows the link")
	browser := viewtest.Chromium(t, 2*hang)
	act := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(browser, actions...); err != nil {
			t.Fatal(err)
		}
	}
	act() // starts it
	last = time.Now()
	act(chromedp.Navigate(link), chromedp.WaitVisible("button.go"))
	step("the page with the button")
	act(chromedp.Click("button.go"), chromedp.WaitVisible(".risk-destroys button.go"))
	step("the question")
	question, err := chromedp.Run(browser, chromedp.Evaluate[string]("document.querySelector('main').innerText"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rm notes.txt", "Run a command", "Allow once", "Undo restores them"} {
		if !strings.Contains(question, want) {
			t.Errorf("the person reads no %q:\n%s", want, question)
		}
	}
	act(chromedp.Click(".risk-destroys button.go"), chromedp.WaitVisible(".notice.good"))
	step("allowed")
	if text, _, ok := c.try("exec", remove); !ok {
		t.Fatalf("after the answer the equal call got %s", text)
	}
	if _, err := os.Stat(notes); err == nil {
		t.Error("the command was allowed, and did not run")
	}
	step("the equal call has run")

	pressed := make(chan error, 1)
	go func() {
		button := ".risk-destroys button.go"
		pressed <- chromedp.Do(browser, chromedp.WaitVisible(button), chromedp.Click(button))
	}()
	c.call("exec", map[string]any{"command": "rm -f other.txt"})
	if err := <-pressed; err != nil {
		t.Error(err)
	}
	step("a call has waited for the open page, and has run")
}

// TestPersonChangesACall has a person who changes the command of a call in the console, first to one that cannot be
// run. What runs is the changed call, and the agent reads that.
func TestPersonChangesACall(t *testing.T) {
	r := serveRemote(t, supervised, "--workspace", t.TempDir(), "--sandbox", "host")
	agent := r.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	call := func() string {
		_, body := r.post("/mcp", agent, "tools/call", `"name":"exec","arguments":{"command":"rm -f x"}`, "Mcp-Name", "exec")
		return body
	}
	id := regexp.MustCompile(`approvals allow (\w+)`).FindStringSubmatch(call())
	if id == nil {
		t.Fatal("nothing was asked")
	}
	person := r.openConsole()
	page := person.base + "/questions/" + id[1]
	_, question := person.fetch(http.MethodGet, page, nil)
	csrf := regexp.MustCompile(`name="csrf" value="(\w+)"`).FindStringSubmatch(question)
	if csrf == nil || !strings.Contains(question, "rm -f x") {
		t.Fatalf("the page of the question is %s", question)
	}
	edit := func(command, more string) (status int, text string) {
		res, err := person.browser.PostForm(person.base+"/do/approvals/edit", url.Values{
			"csrf": {csrf[1]}, "arg.id": {id[1]}, "edit.command": {command}, "edit.more arguments": {more}, "brief": {"1"},
			"back": {"questions/" + id[1]},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for _, wrong := range []struct{ command, more, want string }{
		{"rm -f x", "", "no argument was changed"}, {"rm -rf /", "", "removes far too much"},
		{"rm -f x", `{"cwd":"/nowhere"}`, "is outside the workspace"}, {"rm -f x", `{"cwdd":1}`, "cwdd"}, {"rm -f x", "x", "no JSON object"},
	} {
		if status, text := edit(wrong.command, wrong.more); status != http.StatusBadRequest || !strings.Contains(text, wrong.want) {
			t.Errorf("%q, %s: %d, without %q: %s", wrong.command, wrong.more, status, wrong.want, text)
		}
	}
	if status, text := edit("rm -f x && echo and more", ""); status != http.StatusOK || !strings.Contains(text, "has changed the arguments") ||
		!strings.Contains(text, "rm -f x &amp;&amp; echo and more") {
		t.Fatalf("the change got %d: %s", status, text)
	}
	person.decide(person.address+"questions/"+id[1], "allow", "")
	if got := call(); !strings.Contains(got, "and more") || !strings.Contains(got, "A person changed the arguments of this call") {
		t.Errorf("the call got %s", got)
	}
}

// TestAgentsDoNotReachTheConsole has an agent that knows the address of the console, and tries to open it with all tools
// that reach something. Its own link would let it in.
func TestAgentsDoNotReachTheConsole(t *testing.T) {
	if works, err := condition("kernel"); !works || err != nil {
		needtest.Lacking(t, "the kernel sandbox", fmt.Sprint(err))
	}
	r := serveRemote(t, "policy: {autonomy: full}\n", "--workspace", t.TempDir(), "--sandbox", "kernel")
	agent := r.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	person := r.openConsole()
	address := strings.TrimSuffix(person.address, "/")
	port := address[strings.LastIndex(address, ":")+1:]
	for _, host := range []string{address, "http://localhost:" + port, "http://[::1]:" + port, "http://0.0.0.0:" + port, "http://2130706433:" + port} {
		for _, call := range []string{
			fmt.Sprintf(`"name":"http_request","arguments":{"url":%q}`, host+"/"),
			fmt.Sprintf(`"name":"web_fetch","arguments":{"url":%q}`, host+"/questions/x"),
			fmt.Sprintf(`"name":"browser","arguments":{"action":"open","url":%q}`, host+"/"),
			fmt.Sprintf(`"name":"exec","arguments":{"command":"curl -sS --max-time 20 %s/; true"}`, host),
		} {
			name, _, _ := strings.Cut(strings.TrimPrefix(call, `"name":"`), `"`)
			_, got := r.post("/mcp", agent, "tools/call", call, "Mcp-Name", name)
			if strings.Contains(got, "<html") || strings.Contains(got, "mcp-tools: Console") || strings.Contains(got, "one-time") ||
				!strings.Contains(got, `"content"`) {
				t.Errorf("%s %s got %.1500s", name, host, got)
			}
		}
	}
	person.fetch(http.MethodGet, person.base+"/questions", nil) // the person does
}

// TestTwoConsoles has two consoles of one data directory: both show and decide the same questions.
func TestTwoConsoles(t *testing.T) {
	r := serveRemote(t, supervised, "--workspace", t.TempDir(), "--sandbox", "host")
	agent := r.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	_, body := r.post("/mcp", agent, "tools/call", `"name":"exec","arguments":{"command":"rm -f x"}`, "Mcp-Name", "exec")
	id := regexp.MustCompile(`approvals allow (\w+)`).FindStringSubmatch(body)
	if id == nil {
		t.Fatalf("nothing was asked: %s", body)
	}
	first, second := r.openConsole(), r.openConsole()
	for _, person := range []*consoleUser{first, second} {
		if _, page := person.fetch(http.MethodGet, person.base+"/questions", nil); !strings.Contains(page, id[1]) {
			t.Errorf("a console does not show the question: %s", page)
		}
	}
	second.decide(second.address+"questions/"+id[1], "deny", "no")
	if _, page := first.fetch(http.MethodGet, first.base+"/questions/"+id[1], nil); !strings.Contains(page, "denied") {
		t.Errorf("the first console shows %s", page)
	}
	res, err := http.Get(first.address + strings.TrimPrefix(second.base, second.address) + "/questions")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		t.Error("a session of one console counts at the other")
	}
}

// TestQuestionOnTheDesktop has a notify-send that writes down what it gets.
func TestQuestionOnTheDesktop(t *testing.T) {
	bin, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + out + ".new && mv " + out + ".new " + out + "\n"
	if err := os.WriteFile(filepath.Join(bin, "notify-send"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	r := serveRemote(t, supervised+"approvals: {desktop: true}\n", "--workspace", t.TempDir(), "--sandbox", "host")
	agent := r.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	_, refused := r.post("/mcp", agent, "tools/call", `"name":"exec","arguments":{"command":"rm -f '<b>x'"}`, "Mcp-Name", "exec")
	wantText(t, refused, "say to the user")
	var got []byte
	for late := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if got, err = os.ReadFile(out); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("no notification: %v\n%s", err, r.log.text)
		}
	}
	wantText(t, string(got), "Allow? Run a command (exec) in ")
	wantText(t, string(got), "&lt;b&gt;x")
	wantText(t, string(got), "mcp-tools ui")
}
