package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Provider is an endpoint, and the models of it that may be used.
type Provider struct {
	Endpoint
	Models []string // the first one is the provider's default
}

// Options describe the models of the program. Without providers there are none.
type Options struct {
	Providers []Provider
	Default   string // PROVIDER/NAME; "" is the first model of the first provider
}

// Models are all models that the operator has set up. The methods may be called
// concurrently, and on a nil *Models, which has no model.
type Models struct {
	names   []string // PROVIDER/NAME, the default first
	clients map[string]*Client
}

// NewModels returns the models that o describes. It sends nothing yet.
func NewModels(o Options) (*Models, error) {
	m := &Models{clients: make(map[string]*Client)}
	for _, p := range o.Providers {
		client, err := NewClient(p.Endpoint)
		if err != nil {
			return nil, err
		}
		m.clients[p.Name] = client
		for _, name := range p.Models {
			m.names = append(m.names, p.Name+"/"+name)
		}
	}
	if o.Default != "" {
		at := slices.Index(m.names, o.Default)
		if at < 0 {
			return nil, fmt.Errorf("the default model %q is not among the models of a provider", o.Default)
		}
		m.names = slices.Insert(slices.Delete(m.names, at, at+1), 0, o.Default)
	}
	return m, nil
}

// Close closes idle connections.
func (m *Models) Close() (err error) {
	for _, c := range m.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Names returns the models as PROVIDER/NAME, the default first.
func (m *Models) Names() []string {
	if m == nil {
		return nil
	}
	return slices.Clone(m.names)
}

// Find returns the full name of a model. A caller may leave the provider out, and
// with "" the default model is meant.
func (m *Models) Find(name string) (string, error) {
	all := m.Names()
	if len(all) == 0 {
		return "", tool.Errorf(tool.Unavailable, "no model is set up").
			Try("do it without, or ask the operator to add a provider to the models section of the settings")
	}
	if name == "" {
		return all[0], nil
	}
	for _, full := range all {
		if _, short, _ := strings.Cut(full, "/"); full == name || short == name {
			return full, nil
		}
	}
	return "", tool.Errorf(tool.NotFound, "no model %q", name).Try("use one of %s", strings.Join(all, ", "))
}

// Complete sends a request to a model for the caller in ctx. The usage of the reply
// is valid also if there is an error. Errors are a *tool.Error, or the cause of ctx.
func (m *Models) Complete(ctx context.Context, r Request) (Reply, error) {
	full, err := m.Find(r.Model)
	if err != nil {
		return Reply{}, err
	}
	provider, name, _ := strings.Cut(full, "/")
	r.Model = name
	reply, err := m.clients[provider].Complete(ctx, r)
	reply.Model = full
	return reply, err
}
