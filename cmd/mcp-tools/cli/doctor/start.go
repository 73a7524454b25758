package doctor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// slowStart is the duration of a start that gets a warning, longestStart the limit.
const (
	slowStart    = 2 * time.Second
	longestStart = 20 * time.Second
)

// checkStart starts a server with these settings, as a client would, and asks it
// for its tools.
func (c *checkup) checkStart() {
	const check = "start"
	data, err := os.MkdirTemp("", "mcp-tools-doctor-")
	if err != nil {
		c.fail(check, "fix the directory for temporary files", "%v", err)
		return
	}
	program, err := app.Executable()
	count, took := 0, time.Duration(0)
	if err == nil {
		err = c.lendVault(data)
	}
	if err == nil {
		count, took, err = TryStart(c.ctx, program, serveArgs(c.env, data), vaultVariable(c.env)...)
	}
	err = errors.Join(err, os.RemoveAll(data))
	switch {
	case err != nil:
		c.fail(check, "run mcp-tools serve --stdio and read its messages", "%v", err)
	case took > slowStart:
		c.warn(check, "check for a slow disk or a busy machine", "%s until tools/list answered",
			took.Round(time.Millisecond))
	default:
		c.ok(check, "%s until tools/list answered with %s", took.Round(time.Millisecond), text.Plural(count, "tool"))
	}
}

// hello has the messages of a client that requests the list of tools.
const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"mcp-tools doctor","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// TryStart runs a server until it has listed its tools, and returns their number and the time
// that took.
func TryStart(ctx context.Context, program string, args []string, environ ...string) (
	count int, took time.Duration, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, longestStart)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(cmd.Environ(), environ...)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	_, err = io.WriteString(in, hello)
	if count, err = listed(out, err); err == nil {
		took = time.Since(begin)
	}
	err = errors.Join(err, in.Close())
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("%w: %s", ended, terminal.OneLine(strings.TrimSpace(said.String()))))
	}
	return count, took, err
}

// listed reads responses until that to tools/list. written is the result of sending
// the requests: if the server did not start, it is an error.
func listed(out io.Reader, written error) (int, error) {
	if written != nil {
		return 0, fmt.Errorf("talking to the server: %w", written)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0, fmt.Errorf("the server ended before it listed its tools: %w", err)
		}
		var answer struct {
			ID     json.RawMessage
			Result struct{ Tools []json.RawMessage }
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return 0, fmt.Errorf("the server wrote something else than JSON on stdout: %w", err)
		}
		if answer.Error != nil {
			return 0, fmt.Errorf("the server answered with an error: %q", answer.Error.Message)
		}
		if string(answer.ID) == "2" {
			return len(answer.Result.Tools), nil
		}
	}
}

// serveArgs returns the arguments of a server with the flags of this run, on data.
func serveArgs(env *app.Env, data string) []string {
	args := []string{"serve", "--stdio", "--data", data}
	if env.ConfigFile != "" {
		args = append(args, "--config", env.ConfigFile)
	}
	for _, s := range app.SettingsReader().Settings() {
		if value, given := env.Overrides[s.Key]; given {
			args = append(args, "--"+s.Flag+"="+value)
		}
	}
	return args
}

// lendVault copies the vault to the store of a server with another data directory.
func (c *checkup) lendVault(data string) error {
	o, err := c.env.StoreOptions(c.settings.Config, nil)
	if err != nil || c.settings.Config.Store.DSN != "" || store.Missing(o.DSN) {
		return err // the server reports the error, or uses the same store
	}
	from, err := store.Open(c.ctx, o)
	if err != nil {
		return err
	}
	to, err := store.Open(c.ctx, store.Options{DSN: data})
	if err == nil {
		err = errors.Join(vault.Copy(c.ctx, from, to), to.Close())
	}
	return errors.Join(err, from.Close())
}

// vaultVariable returns the variable that sets the directory of the vault's key for a server
// with another data directory.
func vaultVariable(env *app.Env) []string {
	dir, _, err := env.VaultDir()
	if err != nil {
		return nil // the server reports it
	}
	return []string{config.EnvVaultDir + "=" + dir}
}
