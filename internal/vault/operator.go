package vault

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for the vault that open returns. Storing a secret is a conversation, and no verb.
// others are data that other packages have sealed.
func Room(open func(*room.Host) (*Vault, error), others ...Dependents) *room.Room {
	o := &operator{others: others}
	return &room.Room{
		Name: "secrets", Title: "Manage the vault of secrets for settings and commands",
		Doc: `secrets manages the vault, which stores secrets encrypted. Settings refer to them
as secret:NAME. Secrets are never shown; a forgotten secret has to be set again.
docs/secrets.md describes where the key is, and how to move it.`,
		Open: func(h *room.Host) (err error) { o.Vault, err = open(h); return err },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the names of all secrets, and when they were set", Risk: tool.Reads,
				Where:   room.Operator,
				Doc:     `list prints the names of all secrets. It needs no key, and shows no secret.`,
				Example: "  mcp-tools secrets list\n  mcp-tools secrets list --output json",
			}, o.list),
			room.Do(room.Verb{
				Name: "remove", Title: "Delete a secret", Args: []string{"name"}, Risk: tool.Destroys,
				Doc:     `remove deletes a secret from the vault. It needs no key.`,
				Example: `  mcp-tools secrets remove deploy-key`, Complete: o.names,
			}, o.remove),
			room.Do(room.Verb{
				Name: "rotate", Title: "Encrypt all secrets with a new key", Risk: tool.Writes,
				Doc: `rotate creates a new key, encrypts all secrets with it and removes the old key. If
the key is in the variable MCP_TOOLS_VAULT_KEY, first set MCP_TOOLS_VAULT_KEY_NEXT to
the new one.

With --from, the old key is read from there, and the new one is stored where the
setting vault.key_from says. This moves the key.`,
				Example: `  mcp-tools secrets rotate
  MCP_TOOLS_VAULT_KEY_FROM=keyring mcp-tools secrets rotate --from file`,
			}, o.rotate),
			o.resetVerb(),
		},
		Checks: []room.Check{{Name: "vault", Run: o.check}},
	}
}

// operator has the verbs of a vault.
type operator struct {
	*Vault
	others []Dependents
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, err := o.List(ctx)
	const none = "There are no secrets in this store; mcp-tools secrets set NAME stores one."
	return room.Rows(list, none, []string{"NAME", "FIRST SET", "CHANGED"}, func(e Entry) []string {
		return []string{e.Name, terminal.Date(e.Created), terminal.Date(e.Changed)}
	}), err
}

// Names returns the names of all secrets, each with its last change after a tab.
func (v *Vault) Names(ctx context.Context) (names []string, err error) {
	list, err := v.List(ctx)
	for _, e := range list {
		names = append(names, e.Name+"\tchanged "+terminal.Date(e.Changed))
	}
	return names, err
}

func (o *operator) names(ctx context.Context) ([]string, error) { return o.Names(ctx) }

type removeArgs struct {
	Name string `json:"name" jsonschema:"name of the secret"`
}

func (o *operator) remove(ctx context.Context, a removeArgs) (tool.Result, error) {
	err := o.Remove(ctx, a.Name)
	if errors.Is(err, ErrUnknown) {
		err = tool.Errorf(tool.NotFound, "%w", err)
	}
	return room.Said(map[string]string{"removed": a.Name}, "The secret %s was removed.", a.Name), err
}

type rotateArgs struct {
	From KeyStore `json:"from,omitempty" jsonschema:"location of the old key: file, env, keyring or command (default: from the settings)" enum:"file,env,keyring,command"`
}

func (o *operator) rotate(ctx context.Context, a rotateArgs) (tool.Result, error) {
	r, err := o.Rotate(ctx, a.From)
	if err != nil {
		return tool.Result{}, err
	}
	sealed := "secret was encrypted with a new key"
	if r.Secrets != 1 {
		sealed = "secrets were encrypted with a new key"
	}
	key, next := r.Key, ""
	switch {
	case r.KeyStore == Env && (a.From == "" || a.From == Env):
		key = "the variable " + o.config.EnvNext
		next = fmt.Sprintf("\nNow set %s to it, and unset %s.", o.config.EnvKey, o.config.EnvNext)
	case a.From == Env && r.KeyStore != Env:
		next = fmt.Sprintf("\nNow unset %s, or it will be used as the key.", o.config.EnvKey)
	}
	return room.Said(r, "%d %s, which is in %s.%s", r.Secrets, sealed, key, next), nil
}

// check reports the readers of the vault, and decrypts all secrets.
func (o *operator) check(ctx context.Context, f *room.Findings) {
	r, err := o.Check(ctx)
	switch {
	case err != nil:
		f.Fail("", "%v", err)
	case !r.Exists:
		f.OK("none yet; mcp-tools secrets set NAME creates it")
	case r.OldKeys > 0:
		f.Advise("mcp-tools secrets rotate tries again", "%s could not be removed", text.Plural(r.OldKeys, "old key"))
	default:
		f.OK("%s; the key is in %s", text.Plural(r.Secrets, "secret"), r.Key)
	}
}
