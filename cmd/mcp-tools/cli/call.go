package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
)

func (a *CLI) callCommand() *cobra.Command {
	object := ""
	cmd := &cobra.Command{
		Use:   "call NAME [key=value ... | --json OBJECT]",
		Short: "Call one tool, as an agent would",
		Long: `call runs one tool and prints its result. The call is handled like every other:
rate limits, policy, checks of the arguments, scrubbing and the audit log apply.
The caller comes from the settings: --profile, --agent, --workspace.

key=value sets an argument to a text, which is converted to the type that the tool
expects. key:=JSON sets it to a JSON value. A key that is given more than once makes
a list. If the policy requires an approval, you are asked, if there is a terminal.

The exit code is 1 if the tool fails; the error goes to stderr. If the tool runs a
command, such as exec, it is the exit code of that command.`,
		Example: `  mcp-tools call datetime timezone=Asia/Tokyo
  mcp-tools call datetime --json '{"at": "2026-01-31", "add": "1mo"}'
  echo '{}' | mcp-tools call session_status --json -
  mcp-tools call datetime --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usagef("call needs the NAME of a tool; mcp-tools tools list shows all")
			}
			return nil
		},
		ValidArgsFunction: a.completeCall,
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := a.callArguments(args[1:], object, cmd.Flags().Changed("json"))
			if err != nil {
				return err
			}
			return a.call(cmd.Context(), args[0], raw)
		},
	}
	cmd.Flags().StringVar(&object, "json", "", "all arguments as one JSON object; - reads it from stdin")
	return cmd
}

// callArguments returns the arguments of the command line as JSON.
func (a *CLI) callArguments(pairs []string, object string, isJSON bool) ([]byte, error) {
	switch {
	case isJSON && len(pairs) > 0:
		return nil, app.Usagef("give arguments as key=value or with --json, not both")
	case isJSON && object == "-":
		raw, err := io.ReadAll(a.In)
		if err != nil {
			return nil, fmt.Errorf("reading the arguments from stdin: %w", err)
		}
		return raw, nil
	case isJSON:
		return []byte(object), nil
	}
	return pairsToJSON(pairs)
}

func pairsToJSON(pairs []string) ([]byte, error) {
	values := make(map[string][]json.RawMessage)
	for _, pair := range pairs {
		key, value, err := splitPair(pair)
		if err != nil {
			return nil, err
		}
		values[key] = append(values[key], value)
	}
	object := make(map[string]any, len(values))
	for key, all := range values {
		if object[key] = all; len(all) == 1 {
			object[key] = all[0]
		}
	}
	return json.Marshal(object)
}

func splitPair(pair string) (key string, value json.RawMessage, err error) {
	key, text, found := strings.Cut(pair, "=")
	key, isJSON := strings.CutSuffix(key, ":")
	if !found || key == "" {
		return "", nil, app.Usagef("%q is not an argument; write key=value, key:=JSON, or use --json", pair)
	}
	if !isJSON {
		value, err = json.Marshal(text)
		return key, value, err
	}
	if !json.Valid([]byte(text)) {
		return "", nil, app.Usagef("%s: %q is not JSON; for a text write %s=%s", key, text, key, text)
	}
	return key, json.RawMessage(text), nil
}

// patienceOfPeople is the max time that a search on the command line waits for
// the index, since a person does not repeat it.
const patienceOfPeople = 20 * time.Second

// call makes the call and prints its result.
func (a *CLI) call(ctx context.Context, name string, args []byte) error {
	a.IndexPatience = patienceOfPeople
	h, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	access, err := h.LocalCaller("cli")
	if err != nil {
		return err
	}
	access.Structured = true // --output json prints it
	var who asker
	if terminal.IsTerminal(a.In) && terminal.IsTerminal(a.Err) {
		who = person{bufio.NewReader(a.In), a.Err}.answer
	}
	res, err := converse(ctx, h.Server.Call, server.Request{Access: access, Tool: name, Args: args, Can: isPerson}, who)
	if err != nil {
		return err
	}
	if err := a.show(callOutput(res), func(w io.Writer) error { return a.printResult(w, res) }); err != nil {
		return err
	}
	switch {
	case res.Failed:
		return failed{}
	case res.ExitCode != 0:
		return failed{res.ExitCode}
	}
	return nil
}

// printResult prints a result: a failure to stderr, everything else to w.
func (a *CLI) printResult(w io.Writer, res tool.Result) error {
	if res.Failed {
		w = a.Err
	}
	for _, p := range res.Parts {
		if strings.HasPrefix(p.URI, tool.ResultScheme) {
			continue // the text says how to read it
		}
		if _, err := io.WriteString(w, terminal.ForReader(w, partText(p))); err != nil {
			return err
		}
	}
	return nil
}

// partText returns the text of one part, or a description of a part that a terminal cannot
// show.
func partText(p tool.Part) string {
	text := p.Text
	if p.URI != "" {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += fmt.Sprintf("[link to %s]", strings.TrimSpace(p.Name+" "+p.URI))
	}
	if p.Data != nil {
		text += fmt.Sprintf("[%s, %d bytes; --output json prints them in base64]", p.MIME, len(p.Data))
	}
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// A callResult is a result for programs.
type callResult struct {
	OK      bool       `json:"ok"`
	Kind    tool.Kind  `json:"kind,omitempty"` // of the failure
	Content []callPart `json:"content"`
	Data    any        `json:"data,omitempty"`
}

type callPart struct {
	Text string `json:"text,omitempty"`
	URI  string `json:"uri,omitempty"`
	Name string `json:"name,omitempty"`
	MIME string `json:"mime_type,omitempty"`
	Data []byte `json:"data,omitempty"` // In base64
}

func callOutput(res tool.Result) callResult {
	out := callResult{OK: !res.Failed, Kind: res.Kind, Content: []callPart{}, Data: res.Data}
	for _, p := range res.Parts {
		out.Content = append(out.Content, callPart{p.Text, p.URI, p.Name, p.MIME, p.Data})
	}
	return out
}
