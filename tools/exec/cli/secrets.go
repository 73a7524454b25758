package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// leastPart is the least length of a part of a secret that is hidden by itself.
const leastPart = 8

// maxParts bounds the parts of one secret that are hidden by themselves.
const maxParts = 200

// names returns the secrets of a program, in order and once each.
func (p program) names() []string {
	names := slices.Concat(slices.Collect(maps.Values(p.Env)), slices.Collect(maps.Values(p.Files)))
	slices.Sort(names)
	return slices.Compact(names)
}

// secret reads one. The caller clears it.
func (r *Router) secret(p program, name string) ([]byte, error) {
	if r.o.Secret == nil {
		return nil, tool.Errorf(tool.Unavailable, "there are no secrets here for %s",
			p.Name).Try("the operator sets up the vault")
	}
	value, err := r.o.Secret(name)
	if err != nil || len(bytes.TrimSpace(value)) == 0 {
		clear(value)
		return nil, tool.Errorf(tool.Unavailable, "the secret %q that %s needs is not there, or cannot be read", name,
			p.Name).
			Because(err).Try("ask the operator to run: mcp-tools secrets set %s", name)
	}
	return value, nil
}

// present reports whether all secrets of a program are there, before anybody is
// asked about it.
func (r *Router) present(p program) error {
	for _, name := range p.names() {
		value, err := r.secret(p, name)
		clear(value)
		if err != nil {
			return err
		}
	}
	return nil
}

// arm puts the secrets into a launch. They are masked before anything can say them, and so are
// their parts.
func (r *Router) arm(p program, l *Launch) error {
	values := map[string][]byte{}
	defer func() {
		for _, v := range values {
			clear(v)
		}
	}()
	for _, name := range p.names() {
		value, err := r.secret(p, name)
		if err != nil {
			return err
		}
		values[name] = value
		if err := r.mask(p, name, value); err != nil {
			return err
		}
	}
	for _, variable := range slices.Sorted(maps.Keys(p.Env)) {
		value := strings.TrimRight(string(values[p.Env[variable]]), "\r\n")
		if strings.ContainsRune(value, 0) {
			return tool.Errorf(tool.Unavailable, "the secret %q is no text",
				p.Env[variable]).Try("the operator gives it to %s as a file", p.Name)
		}
		l.Secrets = append(l.Secrets, variable+"="+value)
	}
	l.Files = make(map[string][]byte, len(p.Files))
	for variable, name := range p.Files {
		l.Files[variable] = bytes.Clone(values[name])
	}
	if content, given := l.Files[p.preset.twin[0]]; given && l.Files[p.preset.twin[1]] == nil {
		l.Files[p.preset.twin[1]] = bytes.Clone(content)
	}
	return nil
}

// mask hides a secret, or refuses to use one that cannot be hidden. Parts that
// are no secrets by themselves stay visible.
func (r *Router) mask(p program, name string, value []byte) error {
	if r.o.Mask == nil {
		return tool.Errorf(tool.Unavailable, "the output of %s cannot be scrubbed here", p.Name)
	}
	id := "program/" + p.Name + "/" + name
	if err := r.o.Mask(id, string(value)); err != nil {
		return tool.Errorf(tool.Unavailable, "the secret %q cannot be hidden in the output of %s", name, p.Name).
			Because(err).Try("ask the operator to set a longer one: mcp-tools secrets set %s", name)
	}
	if parts := partsOf(value); len(parts) > 0 {
		_ = r.o.Mask(id+"/parts", parts...) // parts too common to be hidden reveal nothing
	}
	return nil
}

// credentialKeys are names of things in files of credentials that are secret.
func credentialKeys() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(key|token|secret|password|passphrase|credential|auth|-data$|^data$)`)
}

// partsOf finds the secret parts within a secret that has a structure: JSON, or lines of names
// and values as in YAML and the files of aws.
func partsOf(value []byte) []string {
	var parts []string
	add := func(text string) {
		text = strings.Trim(strings.TrimSpace(text), `"'`)
		if len(text) >= leastPart && len(parts) < maxParts && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	var tree any
	if json.Unmarshal(value, &tree) == nil {
		walk(tree, "", 0, add)
	} else if bytes.ContainsRune(value, '\n') {
		secretLines(string(value), add)
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	return parts
}

// walk finds the secret texts in decoded JSON. A private key is also hidden
// line by line, since programs print it so.
func walk(v any, key string, depth int, add func(string)) {
	if depth > 20 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walk(v[k], k, depth+1, add)
		}
	case []any:
		for _, one := range v {
			walk(one, key, depth+1, add)
		}
	case string:
		if !credentialKeys().MatchString(key) || strings.HasPrefix(v, "https://") {
			return
		}
		add(v)
		lines(v, add)
	}
}

// lines adds the lines of a text that has several, PEM's own excepted.
func lines(text string, add func(string)) {
	if !strings.Contains(strings.TrimSpace(text), "\n") {
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
			add(line)
		}
	}
}

// secretLines finds the secret values among lines of "name: value" and "name = value", and
// whole lines that look like a key.
func secretLines(text string, add func(string)) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.IndexAny(line, ":=")
		if i > 0 && !strings.ContainsAny(line[:i], " \t") || i > 0 && strings.ContainsRune(" \t", rune(line[i-1])) {
			if credentialKeys().MatchString(strings.TrimLeft(strings.TrimSpace(line[:i]), "- ")) {
				add(line[i+1:])
			}
			continue
		}
		if len(line) >= 40 && !strings.HasPrefix(line, "-----") && !strings.ContainsAny(line, " \t") {
			add(line)
		}
	}
}
