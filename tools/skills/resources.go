package skills

import (
	"context"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Prompts lists the skills that the caller sees, by name. A person can select them in a client.
func (l *Library) Prompts(ctx context.Context) (list []tool.Prompt, err error) {
	err = l.withView(ctx, func(v *view, _ tool.Owner) error {
		for _, i := range v.sorted() {
			if i.problem == "" {
				list = append(list, tool.Prompt{
					Name: i.slug, Description: i.meta.Description, Arguments: promptArguments(i.meta),
				})
			}
		}
		return nil
	})
	return list, err
}

// promptArguments returns the arguments that a skill declares, or one for any text.
func promptArguments(m skill.Meta) []tool.Argument {
	if len(m.Arguments) > 0 {
		return m.Arguments
	}
	return []tool.Argument{{Name: "args", Description: "the task"}}
}

// Prompt returns the text for a model after a person has selected a skill.
func (l *Library) Prompt(ctx context.Context, name string, args map[string]string) (p tool.FilledPrompt, err error) {
	i, err := l.find(ctx, name, 0)
	if err != nil {
		return p, err
	}
	for _, a := range i.meta.Arguments {
		if a.Required && args[a.Name] == "" {
			return p, tool.Errorf(tool.Invalid, "skill %s needs the argument %q", i.slug, a.Name).Try("send it")
		}
	}
	s, err := l.Use(ctx, name, 0)
	if err != nil {
		return p, err
	}
	var given strings.Builder
	for _, a := range promptArguments(s.Meta) {
		if value := args[a.Name]; value != "" {
			given.WriteString(a.Name + ": " + value + "\n")
		}
	}
	text := s.format(strings.TrimSpace(given.String()))
	message := tool.Message{Part: tool.Part{Text: text}}
	return tool.FilledPrompt{Description: s.Meta.Description, Messages: []tool.Message{message}}, nil
}

// Scheme begins the URI of each file of a skill.
const Scheme = "skill://"

// URI returns the URI of the SKILL.md of a skill.
func URI(name string) string { return Scheme + name + "/" + skill.Main }

// Resources lists SKILL.md of the skills that the caller sees, by name. Other files are read by the template
// skill://{name}/{+path}.
func (l *Library) Resources(ctx context.Context) (list []tool.Resource, err error) {
	prompts, err := l.Prompts(ctx)
	for _, p := range prompts {
		list = append(list, tool.Resource{
			URI: URI(p.Name), Name: p.Name, Description: p.Description, MIME: "text/markdown",
		})
	}
	return list, err
}

// maxResource is the size of the largest file that is sent as a resource. The file tools read larger ones.
const maxResource = 1 << 20

// Resource returns a file of a skill by its URI.
func (l *Library) Resource(ctx context.Context, uri string) (tool.Part, error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	name, file, hasFile := strings.Cut(rest, "/")
	file, err := url.PathUnescape(file)
	if !ok || !hasFile || err != nil || !skill.ValidSlug(name) || !isLocal(file) || skill.IsJunk(file) {
		return tool.Part{}, tool.Errorf(tool.NotFound, "%.200q is not a file of a skill", uri).
			Try("send a URI such as skill://pdf-forms/%s", skill.Main)
	}
	i, err := l.find(ctx, name, 0)
	if err != nil {
		return tool.Part{}, err
	}
	return l.resource(ctx, i, file, uri)
}

// resource returns a file of a skill under a URI.
func (l *Library) resource(ctx context.Context, i item, file, uri string) (tool.Part, error) {
	data, err := l.read(ctx, i, file, maxResource)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Part{}, context.Cause(ctx)
		}
		return tool.Part{}, tool.Errorf(tool.NotFound, "skill %s has no readable file %q", i.slug, file).Because(err).
			Try("use_skill lists its files")
	}
	if skill.IsText(data) {
		mime := "text/plain"
		if isMarkdown(file) {
			mime = "text/markdown"
		}
		return tool.Part{URI: uri, Text: string(data), MIME: mime}, nil
	}
	return tool.Part{URI: uri, Data: data, MIME: "application/octet-stream"}, nil
}

// isMarkdown reports whether a file is Markdown by its name.
func isMarkdown(file string) bool { return strings.EqualFold(path.Ext(file), ".md") }

// isLocal reports whether a path stays in its directory, on every system.
func isLocal(file string) bool {
	return file != "" && utf8.ValidString(file) && !path.IsAbs(file) && path.Clean(file) == file && file != ".." &&
		!strings.HasPrefix(file, "../") && !strings.ContainsAny(file, "\\:\x00")
}

// Complete lists names of skills that begin with a prefix.
func (l *Library) Complete(ctx context.Context, prefix string, limit int) (list []string, err error) {
	err = l.withView(ctx, func(v *view, _ tool.Owner) error {
		for _, i := range v.sorted() {
			if strings.HasPrefix(i.slug, prefix) && len(list) < limit {
				list = append(list, i.slug)
			}
		}
		return nil
	})
	return list, err
}
