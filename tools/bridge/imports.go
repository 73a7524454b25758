package bridge

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// An Import is a server in the settings file of a client, as a server of the bridge.
type Import struct {
	Name    string
	Server  Server
	Secrets map[string]string // values that belong into the vault, by the name that Server refers to
	Notes   []string          // the operator's task
	Skip    string            // why it cannot be imported; "" if it can
}

var (
	secretName = text.Pattern(`(?i)(key|token|secret|passw|credential|auth|cookie)`)
	schemeName = text.Pattern(`(?i)^(basic|bearer|token|api-?key)$`)
	reference  = text.Pattern(`\$\{[^}]*\}|\$[A-Z_]+`)
	badName    = text.Pattern(`[^a-z0-9-]+`)
)

// Imports converts the servers of a settings file. Values that look like secrets go into the vault.
func Imports(servers map[string]clients.Server) (all []Import) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, importOf(name, servers[name]))
	}
	return all
}

func importOf(name string, from clients.Server) Import {
	i := Import{
		Name:    strings.Trim(badName().ReplaceAllString(strings.ToLower(name), "-"), "-"),
		Secrets: make(map[string]string),
	}
	if len(i.Name) > maxName {
		i.Name = strings.Trim(i.Name[:maxName], "-")
	}
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(from.Command)), ".exe")
	if base == clients.EntryName {
		i.Skip = "it is this program"
		return i
	}
	if from.URL != "" {
		i.Server.URL = from.URL
	} else if from.Command != "" {
		i.Server.Command = append([]string{from.Command}, from.Args...)
	}
	convert := func(what string, values map[string]string) map[string]string {
		if len(values) == 0 {
			return nil
		}
		into := make(map[string]string, len(values))
		for _, key := range slices.Sorted(maps.Keys(values)) {
			value := values[key]
			switch {
			case reference().MatchString(value):
				i.Notes = append(i.Notes, fmt.Sprintf("%s %s refers to %s, which is not known here: set the secret %s",
					what,
					key, value, i.secretName(key)))
				into[key] = "secret:" + i.secretName(key)
			case secretName().MatchString(key):
				into[key] = i.keep(key, value)
			default:
				into[key] = value
			}
		}
		return into
	}
	i.Server.Environment, i.Server.Headers = convert("the variable", from.Env), convert("the header", from.Headers)
	for _, arg := range i.Server.Command {
		if reference().MatchString(arg) {
			i.Notes = append(i.Notes, fmt.Sprintf("the argument %q refers to a value that only the client knows: replace it",
				arg))
		}
		if filepath.IsAbs(arg) && !strings.HasPrefix(arg, "/usr/") && !strings.HasPrefix(arg, "/bin/") {
			i.Notes = append(i.Notes, fmt.Sprintf("in the sandbox the server does not see %s unless you add it with "+
				"--read or --write", arg))
		}
	}
	if err := CheckName(i.Name); err != nil {
		i.Skip = err.Error()
	} else if err := i.Server.Check(); err != nil {
		i.Skip = err.Error()
	}
	return i
}

// keep moves a value into the secrets, and returns its reference.
func (i Import) keep(key, value string) string {
	name, scheme := i.secretName(key), ""
	if before, rest, found := strings.Cut(value, " "); found && schemeName().MatchString(before) {
		scheme, value = before+" ", rest
	}
	i.Secrets[name] = value
	return scheme + "secret:" + name
}

// writtenOut reports whether the value of a variable or a header is a credential that is written out, by its name.
func writtenOut(key, value string) bool {
	return value != "" && secretName().MatchString(key) && !strings.Contains(value, "secret:")
}

// MoveSecrets moves credentials that are written out to the vault: it replaces them in values by references, and returns
// them by their names in the vault. of names whose values they are.
func (b *Bridge) MoveSecrets(of string, values ...map[string]string) (secrets map[string]string) {
	i := Import{Name: strings.Trim(badName().ReplaceAllString(strings.ToLower(of), "-"), "-"),
		Secrets: make(map[string]string)}
	for _, all := range values {
		for key, value := range all {
			if writtenOut(key, value) || value != "" && !strings.Contains(value, "secret:") && b.masks(value) {
				all[key] = i.keep(key, value)
			}
		}
	}
	return i.Secrets
}

// maxSecretName bounds the names of the vault.
const maxSecretName = 60

// secretName returns the name in the vault for a value of the server.
func (i Import) secretName(key string) string {
	name := "mcp-" + i.Name + "-" + strings.Trim(badName().ReplaceAllString(strings.ToLower(key), "-"), "-")
	return text.Clip(name, maxSecretName)
}
