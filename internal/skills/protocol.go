package skills

import (
	"context"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// A Prompt is a skill as something that a person chooses in a client.
type Prompt struct {
	Name        string
	Description string
	Arguments   []skill.Argument
}

// Prompts lists the skills that the caller sees, by their names, after one.
func (l *Library) Prompts(ctx context.Context, after string, limit int) (list []Prompt, more bool, err error) {
	err = l.look(ctx, func(v *view, _ skill.Owner) error {
		for _, i := range v.sorted() {
			switch {
			case i.slug <= after || i.problem != "":
			case len(list) == limit:
				more = true
				return nil
			default:
				list = append(list, Prompt{i.slug, i.meta.Description, promptArguments(i.meta)})
			}
		}
		return nil
	})
	return list, more, err
}

// promptArguments are what the skill says, or one that takes anything.
func promptArguments(m skill.Meta) []skill.Argument {
	if len(m.Arguments) > 0 {
		return m.Arguments
	}
	return []skill.Argument{{Name: "args", Description: "what to work on"}}
}

// Prompt returns what a model is told when a person has chosen a skill.
func (l *Library) Prompt(ctx context.Context, name string, args map[string]string) (text, description string, err error) {
	i, err := l.find(ctx, name, 0)
	if err != nil {
		return "", "", err
	}
	for _, a := range i.meta.Arguments {
		if a.Required && args[a.Name] == "" {
			return "", "", tool.Errorf(tool.Invalid, "skill %s needs the argument %q", i.slug, a.Name).Try("send it")
		}
	}
	s, err := l.Use(ctx, name, 0)
	if err != nil {
		return "", "", err
	}
	var given strings.Builder
	for _, a := range promptArguments(s.Meta) {
		if value := args[a.Name]; value != "" {
			given.WriteString(a.Name + ": " + value + "\n")
		}
	}
	return skills.Show(s, strings.TrimSpace(given.String())), s.Meta.Description, nil
}

// A Resource is a file of a skill.
type Resource struct {
	URI         string // skill://NAME/PATH
	Name        string
	Description string
	Size        int64 // 0 when it is not known
}

const scheme = "skill://"

// Resources lists SKILL.md of the skills that the caller sees, by their names,
// after one. Their other files are read by the template skill://{name}/{+path}.
func (l *Library) Resources(ctx context.Context, after string, limit int) (list []Resource, more bool, err error) {
	prompts, more, err := l.Prompts(ctx, after, limit)
	for _, p := range prompts {
		list = append(list, Resource{URI: scheme + p.Name + "/" + skill.Main, Name: p.Name, Description: p.Description})
	}
	return list, more, err
}

// mostResource is how large a file is that is sent at once; the file tools read
// larger ones.
const mostResource = 1 << 20

// Resource returns a file of a skill by its URI, and whether it is text. To
// read a file is not to use the skill, and is not counted.
func (l *Library) Resource(ctx context.Context, uri string) (data []byte, text bool, err error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	name, file, hasFile := strings.Cut(rest, "/")
	file, bad := url.PathUnescape(file)
	if !ok || !hasFile || bad != nil || !skill.ValidSlug(name) || !clean(file) || skill.Junk(file) {
		return nil, false, tool.Errorf(tool.NotFound, "%.200q is no file of a skill", uri).Try("send a URI such as skill://pdf-forms/%s", skill.Main)
	}
	i, err := l.find(ctx, name, 0)
	if err != nil {
		return nil, false, err
	}
	data, err = l.read(ctx, i, file, mostResource)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		return nil, false, tool.Errorf(tool.NotFound, "skill %s has no file %q that can be read", name, file).Because(err).Try("use_skill lists its files")
	}
	return data, skill.IsText(data), nil
}

// clean reports whether a path stays where it is, on every system.
func clean(file string) bool {
	return file != "" && utf8.ValidString(file) && !path.IsAbs(file) && path.Clean(file) == file && file != ".." &&
		!strings.HasPrefix(file, "../") && !strings.ContainsAny(file, "\\:\x00")
}

// Complete lists names of skills that begin with a text.
func (l *Library) Complete(ctx context.Context, prefix string, limit int) (list []string, err error) {
	err = l.look(ctx, func(v *view, _ skill.Owner) error {
		for _, i := range v.sorted() {
			if strings.HasPrefix(i.slug, prefix) && len(list) < limit {
				list = append(list, i.slug)
			}
		}
		return nil
	})
	return list, err
}
