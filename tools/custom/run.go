package custom

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/script"
)

// Options are the needs of the tools.
type Options struct {
	Commands interface {
		Site(ctx context.Context, dir string, elevated bool) (sandbox.Site, error)
		Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error)
	}
	Checkpoint func(ctx context.Context, c workspace.Command) (ended func())
	// Changeable reports whether the caller could replace the program at a path.
	Changeable func(ctx context.Context, path string) bool
	Client     outbound.Client
	Marks      tool.Marks
	Scripts    *script.Runner
	Secret     func(name string) ([]byte, error)
	Mask       func(name string, values ...string) error // keeps values from being shown
}

// Tools returns the tools of checked definitions.
func Tools(all []Definition, o Options) []tool.Tool {
	var tools []tool.Tool
	for _, d := range all {
		if !d.Disabled {
			tools = append(tools, custom{d, o}.tool())
		}
	}
	return tools
}

// custom is a tool with a definition.
type custom struct {
	Definition
	o Options
}

func (c custom) tool() tool.Tool {
	risk, _ := c.risk() // was checked
	limit, _ := c.timeout()
	spec := tool.Spec{
		Name: c.Name, Group: cmp.Or(c.Group, Group),
		Title: cmp.Or(clean(c.Title), strings.ReplaceAll(c.Name, "_", " ")), Doc: cmp.Or(clean(c.Description), c.Name),
		Risk: risk, Timeout: limit + 10*time.Second, Composes: c.Script != "",
		Hints: tool.Hints{OpenWorld: c.Request != nil},
	}
	if c.Script != "" {
		spec.Timeout = time.Hour // a script has its own limit; it does not count questions
	}
	return tool.PreparedForeign(spec, c.schema(), c.prepare)
}

// clean returns a text without characters that people cannot see.
func clean(text string) string {
	text, _ = tool.Clean(text)
	return strings.TrimSpace(text)
}

// prepare returns the plan of a call.
func (c custom) prepare(ctx context.Context, raw json.RawMessage) (tool.Plan, error) {
	if c.Agent != "" && tool.CallerFrom(ctx).Agent != c.Agent {
		return tool.Plan{}, tool.Errorf(tool.NotFound, "there is no tool %q here", c.Name).Try("use another one")
	}
	v, err := arguments(raw)
	if err != nil {
		return tool.Plan{}, err
	}
	switch {
	case c.Script != "":
		return tool.Plan{Run: func(ctx context.Context) (tool.Result, error) {
			out, err := c.o.Scripts.Run(ctx, c.Script, raw)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(out.String()), nil
		}}, nil
	case c.Request != nil:
		return c.prepareRequest(v)
	}
	return c.prepareCommand(ctx, v)
}

// arguments reads the arguments of a call. Numbers keep their spelling.
func arguments(raw json.RawMessage) (values, error) {
	v := values{secret: func(name string) (string, error) {
		return "", errors.New("a secret has no place here")
	}}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(&v.args)
}

// withSecrets returns v where secrets have a place. Their values are masked from now on.
func (c custom) withSecrets(v values) values {
	v.secret = func(name string) (string, error) {
		value, err := c.o.Secret(name)
		if err != nil {
			return "", tool.Errorf(tool.Unavailable, "the secret %s of this tool is not there", name).Because(err).
				Try("tell the operator: mcp-tools secrets set %s", name)
		}
		if err := c.o.Mask("custom."+name, string(value)); err != nil {
			return "", fmt.Errorf("masking a secret: %w", err)
		}
		return string(value), nil
	}
	return v
}

func (c custom) prepareCommand(ctx context.Context, v values) (tool.Plan, error) {
	words, err := argv(c.Command, v)
	if err != nil {
		return tool.Plan{}, err
	}
	stdin, err := parse(c.Stdin)
	if err != nil {
		return tool.Plan{}, err
	}
	input, _, err := stdin.fill(v, nil)
	if err != nil {
		return tool.Plan{}, err
	}
	site, err := c.o.Commands.Site(ctx, c.Dir, c.Sandbox == "host")
	if err != nil {
		return tool.Plan{}, err
	}
	shown := shownWords(words)
	risk, _ := c.risk()
	ask := "" // a person approves commands on the host, whoever has defined them
	if site.Elevated {
		ask = "elevated"
	}
	return tool.Plan{
		Why: "runs " + text.Clip(shown, 300), Ask: ask,
		Facts: func(context.Context) (tool.Facts, error) {
			_, program := site.Find(words[0])
			return tool.Facts{"directory": site.Dir, "sandbox": site.Where(), "program": words[0] + " " + program}, nil
		},
		Run: func(ctx context.Context) (tool.Result, error) {
			if risk != tool.Reads {
				defer c.o.Checkpoint(ctx, workspace.Command{Text: shown})()
			}
			return c.run(ctx, v, site, sandbox.Command{Argv: words, Text: shown, Dir: c.Dir, At: site,
				Stdin: []byte(input)})
		},
	}, nil
}

// shownWords writes words so that none can pass for two.
func shownWords(words []string) string {
	shown := make([]string, len(words))
	for i, word := range words {
		shown[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n\"'\\") {
			shown[i] = strconv.Quote(word)
		}
	}
	return strings.Join(shown, " ")
}

// run runs a command to its end, and returns its output.
func (c custom) run(ctx context.Context, v values, site sandbox.Site, cmd sandbox.Command) (tool.Result, error) {
	limit, _ := c.timeout()
	cmd.Timeout, cmd.Merge = min(limit, site.MaxTimeout), true
	if err := c.environ(ctx, v, &cmd); err != nil {
		return tool.Result{}, err
	}
	p, err := c.o.Commands.Start(ctx, cmd)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = p.Remove(ctx) // a process that cannot be ended now ends with its session
	}()
	st := p.Wait(ctx, sandbox.WaitCondition{})
	if err := ctx.Err(); err != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	out, err := c.output(p.Log(sandbox.Stdout))
	if err != nil {
		return tool.Result{}, err
	}
	res := tool.Text(cmp.Or(out, "the command wrote nothing"))
	res.ExitCode = st.Code
	if st.State == sandbox.Exited && st.Code == 0 {
		return res, nil
	}
	how := fmt.Sprintf("exit code %d", st.Code)
	if st.State != sandbox.Exited {
		how = strings.TrimSuffix(string(st.State)+": "+st.Why, ": ")
	}
	res.Failed, res.Kind = true, tool.Unavailable
	if st.State == sandbox.TimedOut {
		res.Kind = tool.Timeout
	}
	return res.Add(tool.Part{Text: "[" + how + "]"}), nil
}

// environ adds the variables. A command with secrets gets a sandbox of its own.
func (c custom) environ(ctx context.Context, v values, cmd *sandbox.Command) error {
	var secrets []string
	for name, value := range c.Env {
		t, err := parse(value)
		if err != nil {
			return err
		}
		filled, complete, err := t.fill(c.withSecrets(v), nil)
		switch {
		case err != nil:
			return err
		case !complete:
		case t.hasSecret():
			secrets = append(secrets, name+"="+filled)
		default:
			cmd.Env = append(cmd.Env, name+"="+filled)
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	program, err := filepath.EvalSymlinks(cmd.Argv[0])
	if err != nil || c.o.Changeable(ctx, program) {
		return tool.Errorf(tool.Unavailable, "the program %s of this tool is not there, or callers can change it",
			cmd.Argv[0]).Because(err).Try("tell the operator")
	}
	cmd.Argv = append([]string{program}, cmd.Argv[1:]...)
	cmd.Private = &sandbox.Private{Secrets: secrets, Program: program, Asks: cmd.At.Asks}
	return nil
}

// output returns the output of a command, cut at the limit.
func (c custom) output(log sandbox.Log) (string, error) {
	size := log.Size()
	limit := min(size, int64(cmp.Or(c.Output, defaultOutput)))
	if gap, end := log.Gap(); end > gap {
		limit = min(limit, gap)
	}
	b := make([]byte, limit)
	n, err := log.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrNoProgress) {
		return "", fmt.Errorf("reading the output: %w", err)
	}
	out := strings.ToValidUTF8(string(b[:n]), "\uFFFD")
	if int64(n) < size {
		out += fmt.Sprintf("\n[%d more bytes of output left out]", size-int64(n))
	}
	return strings.TrimRight(out, "\n"), nil
}

// prepareRequest builds the request without its secrets.
func (c custom) prepareRequest(v values) (tool.Plan, error) {
	to, err := address(c.Request.URL, v)
	if err != nil {
		return tool.Plan{}, err
	}
	limit, _ := c.timeout()
	r := outbound.Request{
		Method: strings.ToUpper(cmp.Or(c.Request.Method, http.MethodGet)), URL: to, Header: http.Header{},
		MaxBytes: int64(cmp.Or(c.Output, defaultOutput)), Timeout: limit, Polite: true,
	}
	if r.Body, err = c.requestBody(v, r.Header); err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{
		Why:   fmt.Sprintf("sends %s to %s", r.Method, text.Clip(to, 300)),
		Facts: func(ctx context.Context) (tool.Facts, error) { return nil, c.o.Client.Check(ctx, r) },
		Run:   func(ctx context.Context) (tool.Result, error) { return c.send(ctx, r, v) },
	}, nil
}

func (c custom) requestBody(v values, header http.Header) ([]byte, error) {
	if c.Request.Body == nil {
		return nil, nil
	}
	if plain, ok := c.Request.Body.(string); ok {
		t, err := parse(plain)
		if err != nil {
			return nil, err
		}
		var quote func(string) (string, error)
		if strings.Contains(c.Request.contentType(), "urlencoded") {
			quote = func(value string) (string, error) { return url.QueryEscape(value), nil }
		}
		filled, _, err := t.fill(v, quote)
		return []byte(filled), err
	}
	value, _, err := body(c.Request.Body, v)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	return json.Marshal(value)
}

// send sends a request. Redirects are not followed: a secret could go to another host.
// credentialHeaders are the headers with credentials that the operator has written into a definition. They are sent to
// the address of the definition; requests of custom tools follow no redirects.
type credentialHeaders map[string]string

// Attach adds the headers to a request.
func (h credentialHeaders) Attach(_ context.Context, r *http.Request) (bool, error) {
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return true, nil
}

func (c custom) send(ctx context.Context, r outbound.Request, v values) (tool.Result, error) {
	credentials := make(credentialHeaders)
	for name, value := range c.Request.Headers {
		t, err := parse(value)
		if err != nil {
			return tool.Result{}, err
		}
		filled, complete, err := t.fill(c.withSecrets(v), func(value string) (string, error) {
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
				return "", tool.Errorf(tool.Invalid, "a value for a header has a line break or a control character").
					Try("send one line")
			}
			return value, nil
		})
		if err != nil {
			return tool.Result{}, err
		}
		switch {
		case !complete:
		case strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie"):
			credentials[name] = filled
		default:
			r.Header.Set(name, filled)
		}
	}
	if len(credentials) > 0 {
		r.Secret = credentials
	}
	answer, err := c.o.Client.Do(ctx, r)
	if err != nil {
		return tool.Result{}, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	note := ""
	switch {
	case errors.Is(err, outbound.ErrTooLong):
		note = fmt.Sprintf("\n[only the first %d bytes]", len(content))
	case err != nil:
		return tool.Result{}, err
	}
	shown := c.o.Marks.Quote(r.URL, strings.ToValidUTF8(string(content), "\uFFFD")) + note
	if answer.Status >= http.StatusMultipleChoices {
		res := tool.Textf("%s: the service answered with status %d\n%s", tool.Unavailable, answer.Status, shown)
		res.Failed, res.Kind = true, tool.Unavailable
		return res, nil
	}
	res := tool.Text(shown)
	var value any
	if note == "" && json.Unmarshal(content, &value) == nil {
		if _, isObject := value.(map[string]any); isObject {
			res = res.With(value)
		}
	}
	return res, nil
}

// Preview returns the effect of a call, without making it. Secrets are named.
func Preview(d Definition, raw json.RawMessage) (string, error) {
	call, err := custom{d, Options{}}.tool().Bind(raw, tool.DefaultLimits())
	if err != nil {
		return "", err
	}
	v, err := arguments(call.JSON())
	if err != nil {
		return "", err
	}
	switch {
	case d.Script != "":
		return "runs the script with args = " + string(call.JSON()), nil
	case d.Request != nil:
		to, err := address(d.Request.URL, v)
		if err != nil {
			return "", err
		}
		content, err := custom{Definition: d}.requestBody(v, http.Header{})
		return strings.TrimSpace(fmt.Sprintf("sends %s to %s\n%s",
			strings.ToUpper(cmp.Or(d.Request.Method, http.MethodGet)), to, content)), err
	}
	words, err := argv(d.Command, v)
	return "runs " + shownWords(words), err
}
