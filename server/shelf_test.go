package server

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// shelf is a Library in memory. What it has belongs to a principal, or to
// all callers when that is "".
type shelf struct {
	tool      map[string]string // that governs, by the scheme of a URI; "" is that of prompts
	templates []tool.Template
	dynamic   func(ctx context.Context, uri string) ([]tool.Part, error) // for what is not there

	mu      sync.Mutex
	items   map[string][]item
	scripts map[string][]script
	heard   []string // what it was asked, with the principal who did
}

type item struct {
	tool.Resource
	parts []tool.Part
}

type script struct {
	tool.Prompt
	fill func(args map[string]string) tool.FilledPrompt
}

// testShelf has items of alice, of bob and of all callers, under three
// tools, of which launch is not used without asking.
func testShelf() *shelf {
	s := &shelf{
		tool: map[string]string{"memory": "echo", "file": "chatty", "secret": "launch", "": "long"},
		templates: []tool.Template{
			{URI: "memory:///{path}", Name: "memory", Title: "Memory", Description: "What is remembered.",
				MIME: "text/markdown"},
			{URI: "file:///{name}", Name: "file", Description: "Context files."},
			{URI: "secret:///{name}", Name: "secret"},
		},
		items: map[string][]item{}, scripts: map[string][]script{},
	}
	s.put("", "file:///AGENTS.md", "be kind")
	s.put("", "secret:///plan", "nobody knows")
	for _, who := range []string{"a/alice", "b/bob", "a/u"} {
		name := who[strings.LastIndex(who, "/")+1:]
		for _, of := range []string{"today.md", "tea.md", "work.md"} {
			s.put(who, "memory:///"+name+"/"+of, "what "+name+" knows of "+of)
		}
		s.scripts[who] = []script{greeting("greet-" + name)}
	}
	return s
}

func greeting(name string) script {
	return script{
		tool.Prompt{Name: name, Title: "Greet", Description: "Greets somebody.",
			Arguments: []tool.Argument{{Name: "whom", Description: "a name", Required: true}, {Name: "how"}}},
		func(args map[string]string) tool.FilledPrompt {
			return tool.FilledPrompt{Description: "A greeting.", Messages: []tool.Message{
				{Part: tool.Part{Text: "Greet " + args["whom"] + "!"}},
				{Assistant: true, Part: tool.Part{Text: "Hello."}},
			}}
		},
	}
}

func (s *shelf) put(who, uri, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := tool.Resource{URI: uri, Name: uri[strings.LastIndex(uri, "/")+1:], MIME: "text/markdown"}
	if who == "" {
		r.Size = int64(len(text))
	}
	s.items[who] = append(s.items[who], item{r, []tool.Part{{Text: text, MIME: "text/markdown"}}})
}

// ask records a request and returns the items of its caller.
func (s *shelf) ask(c tool.Caller, what string) (mine []item, scripts []script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := c.Principal()
	s.heard = append(s.heard, who+" "+what)
	mine = append(slices.Clone(s.items[""]), s.items[who]...)
	return mine, append(slices.Clone(s.scripts[""]), s.scripts[who]...)
}

func (s *shelf) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func (s *shelf) Tools() (names []string) {
	for _, name := range s.tool {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *shelf) Tool(ref Ref) string {
	scheme, _, _ := strings.Cut(ref.URI, ":")
	return s.tool[scheme]
}

func (s *shelf) Templates() []tool.Template { return s.templates }

func (s *shelf) Resources(_ context.Context, c tool.Caller) (list []tool.Resource, err error) {
	mine, _ := s.ask(c, "list")
	for _, one := range mine {
		list = append(list, one.Resource)
	}
	return list, nil
}

func (s *shelf) Read(ctx context.Context, c tool.Caller, uri string) ([]tool.Part, error) {
	mine, _ := s.ask(c, "read "+uri)
	for _, one := range mine {
		if one.URI == uri {
			return one.parts, nil
		}
	}
	if s.dynamic != nil {
		return s.dynamic(ctx, uri)
	}
	return nil, tool.Errorf(tool.NotFound, "the shelf has no %s", uri)
}

func (s *shelf) Prompts(_ context.Context, c tool.Caller) (list []tool.Prompt, err error) {
	_, scripts := s.ask(c, "prompts")
	for _, one := range scripts {
		list = append(list, one.Prompt)
	}
	return list, nil
}

func (s *shelf) Prompt(_ context.Context, c tool.Caller, name string, args map[string]string) (tool.FilledPrompt,
	error) {
	_, scripts := s.ask(c, "prompt "+name)
	for _, one := range scripts {
		if one.Name == name {
			for _, a := range one.Arguments {
				if a.Required && args[a.Name] == "" {
					return tool.FilledPrompt{}, tool.Errorf(tool.Invalid, "the argument %q is missing",
						a.Name).Try("give it")
				}
			}
			return one.fill(args), nil
		}
	}
	return tool.FilledPrompt{}, tool.Errorf(tool.NotFound, "the shelf has no %s", name)
}

func (s *shelf) Complete(_ context.Context, c tool.Caller, about CompletionRequest) (values []string, more bool,
	err error) {
	mine, _ := s.ask(c, "complete "+about.Of.URI+about.Of.Prompt)
	if about.Of.Prompt != "" {
		return []string{about.Value + about.Given["whom"] + "!"}, false, nil
	}
	stem, _, _ := strings.Cut(about.Of.URI, "{")
	for _, one := range mine {
		if rest, ok := strings.CutPrefix(one.URI, stem); ok && strings.HasPrefix(rest, about.Value) {
			values = append(values, rest)
		}
	}
	return values, false, nil
}
