// Package provider has media made and read by the providers that the operator has set
// up: pictures, speech, sound, music and video, transcripts and descriptions.
//
// For each task there is a chain of models. The first one is asked; if it cannot, because it
// has ended, is too busy or fails, the next one is, and the answer says so. A request that a
// provider refuses because of its content is not tried elsewhere. Before each request the
// highest price that it can have is taken from the budgets of the models; [Providers.Ask] names
// the price that a person must approve.
//
// The table of models in models.txt is data: names, prices and the days on which they end. The
// package knows no workspace and no tool. Begin with [New] and [Providers.Photo]; order.go has
// the long work. The APIs are in the packages below, over package wire.
package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/dashscope"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/elevenlabs"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/fal"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/gemini"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/minimax"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/openai"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/openrouter"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// A Kind names the API of a provider, as in the settings.
type Kind string

// kinds has all providers.
func kinds() []wire.Provider {
	return []wire.Provider{
		openai.Provider(),
		gemini.Provider(),
		minimax.Provider(),
		dashscope.Provider(),
		openrouter.Provider(),
		fal.Provider(),
		elevenlabs.Provider(),
	}
}

// Words returns all kinds, for the settings.
func (Kind) Words() (names []string) {
	for _, one := range kinds() {
		names = append(names, one.Kind)
	}
	return names
}

// find returns the provider of a kind; nil if there is none.
func (k Kind) find() *wire.Provider {
	for _, one := range kinds() {
		if Kind(one.Kind) == k {
			return &one
		}
	}
	return nil
}

// Abilities of APIs.
type (
	photographer interface {
		Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, error)
	}
	speaker interface {
		Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, error)
	}
	// ignorer is a speaker that does not have all arguments.
	ignorer interface {
		Ignores(r wire.SpeechRequest) (names []string)
	}
	transcriber interface {
		Transcribe(ctx context.Context, r wire.TranscriptionRequest) (wire.Transcript, error)
	}
	describer interface {
		Describe(ctx context.Context, r wire.DescriptionRequest) (string, error)
	}
	sounder interface {
		Sound(ctx context.Context, r wire.SoundRequest) (wire.Made, error)
	}
	musician interface {
		Music(ctx context.Context, r wire.MusicRequest) (wire.Made, error)
	}
	filmer interface {
		Video(ctx context.Context, r wire.VideoRequest) (wire.Made, error)
	}
)

// does reports whether an API can do a task.
func does(api any, t wire.Task) (ok bool) {
	switch t {
	case wire.Photo:
		_, ok = api.(photographer)
	case wire.Speech:
		_, ok = api.(speaker)
	case wire.Transcription:
		_, ok = api.(transcriber)
	case wire.Description:
		_, ok = api.(describer)
	case wire.Sound:
		_, ok = api.(sounder)
	case wire.Music:
		_, ok = api.(musician)
	case wire.Video:
		_, ok = api.(filmer)
	}
	return ok
}

// An Endpoint is a provider that the operator has set up.
type Endpoint struct {
	Name   string
	Kind   Kind
	URL    string             // "": the default of the kind
	Key    string             // "": none
	Prices map[string]float64 // of models that cost something else than the table says, in its unit, or a call
}

// local reports whether it is a server with the API of OpenAI that is not OpenAI's. Its
// abilities are not known, so it is asked only for the models of a chain, and it costs nothing.
func (e Endpoint) local() bool {
	return string(e.Kind) == openai.Provider().Kind && e.URL != "" && e.URL != openai.URL
}

// Limits bound how long a provider may take until its response begins, and between two parts of it.
func Limits() egress.Limits { return egress.Limits{Head: 5 * time.Minute, Stall: 2 * time.Minute} }

// Options describe the providers of the program.
type Options struct {
	Endpoints []Endpoint
	// Chains has the models for a task, as PROVIDER or PROVIDER/MODEL, in the order of trying.
	// A task without a chain takes the order of the table.
	Chains   map[wire.Task][]string
	AskAbove llm.Money // the price of a request that needs an approval
	// Hold takes the price of a request from the budgets of the caller in ctx; settle takes the
	// true price. Nil keeps no budgets.
	Hold func(ctx context.Context, model string, price llm.Money, known bool) (settle func(used llm.Money), err error)
	// API reaches the providers, Web the hosts that their responses link to.
	API, Web outbound.Client
	Scrub    func(text string) string // scrubs requests and errors; nil leaves them as they are
	Now      func() time.Time         // nil is the time
	Wait     func(ctx context.Context, d time.Duration) error
}

// SetKeys gives the providers their keys. One whose key cannot be read, or that has none and needs one, is left out with
// its models, and reported to failed: the rest works without.
func (o *Options) SetKeys(key func(provider string) (string, error), failed func(provider string, err error)) {
	var usable []Endpoint
	unusable := make(map[string]bool)
	for _, e := range o.Endpoints {
		var err error
		if e.Key, err = key(e.Name); err == nil && e.Key == "" && e.URL == "" {
			err = fmt.Errorf("media.providers.%s.key is not set", e.Name)
		}
		if err != nil {
			failed(e.Name, err)
			unusable[e.Name] = true
			continue
		}
		usable = append(usable, e)
	}
	o.Endpoints = usable
	for task, chain := range o.Chains {
		o.Chains[task] = slices.DeleteFunc(slices.Clone(chain), func(model string) bool {
			name, _, _ := strings.Cut(model, "/")
			return unusable[name]
		})
	}
}

// URLs returns the addresses of the providers that have one in the settings.
func (o *Options) URLs() (urls []string) {
	for _, e := range o.Endpoints {
		urls = append(urls, e.URL)
	}
	return urls
}

// Providers are the providers that the operator has set up. The methods may be called
// concurrently. A nil Providers has no provider.
type Providers struct {
	o      Options
	apis   map[string]any // by the names of endpoints
	chains map[wire.Task][]string
}

// New returns the providers that o describes. It sends nothing yet.
func New(o Options) (*Providers, error) {
	p := &Providers{o: o, apis: map[string]any{}, chains: map[wire.Task][]string{}}
	if p.o.Scrub == nil {
		p.o.Scrub = func(text string) string { return text }
	}
	if p.o.Now == nil {
		p.o.Now = time.Now
	}
	for _, e := range o.Endpoints {
		kind := e.Kind.find()
		switch {
		case kind == nil:
			return nil, fmt.Errorf("the media provider %q has the unknown kind %q", e.Name, e.Kind)
		case e.URL == "" && kind.URL == "":
			return nil, fmt.Errorf("media.providers.%s: set its url: %s", e.Name, kind.URLs)
		}
		c, err := wire.NewClient(wire.Options{
			Name: e.Name, URL: cmp.Or(e.URL, kind.URL), Key: e.Key, Attach: kind.Attach, API: o.API, Web: o.Web,
			Scrub: o.Scrub, Wait: o.Wait,
		})
		if err != nil {
			return nil, err
		}
		p.apis[e.Name] = kind.Open(c)
	}
	for _, t := range wire.Tasks() {
		chain, err := p.chain(t)
		if err != nil {
			return nil, err
		}
		p.chains[t] = chain
	}
	return p, nil
}

// chain returns the models for a task.
func (p *Providers) chain(t wire.Task) (chain []string, err error) {
	if named := p.o.Chains[t]; len(named) > 0 {
		for _, name := range named {
			c, err := p.candidate(t, name)
			if err != nil {
				return nil, fmt.Errorf("media.chain.%s: %w", t, err)
			}
			chain = append(chain, c.name())
		}
		return chain, nil
	}
	for _, row := range table() {
		for _, e := range p.o.Endpoints {
			first, ok := lookup(t, e.Kind, "", p.o.Now())
			if row.Task == t && row.Kind == e.Kind && ok && row.Model == first.Model && !e.local() &&
				!row.Ended(p.o.Now()) && does(p.apis[e.Name], t) {
				chain = append(chain, e.Name+"/"+row.Model)
			}
		}
	}
	return chain, nil
}

// A candidate is a model that may be asked.
type candidate struct {
	Row
	endpoint string
	api      any
	known    bool // whether its price is known
}

func (c candidate) name() string { return c.endpoint + "/" + c.Model }

// candidate returns the model with a name: PROVIDER/MODEL, or PROVIDER for its default.
func (p *Providers) candidate(t wire.Task, name string) (c candidate, err error) {
	provider, model, _ := strings.Cut(name, "/")
	api, ok := p.apis[provider]
	if !ok {
		return c, tool.Errorf(tool.NotFound, "no provider %q is set up", provider).
			Try("leave the provider out, or use one of %s", strings.Join(p.chains[t], ", "))
	}
	if !does(api, t) {
		return c, tool.Errorf(tool.Invalid, "the provider %q has no %s", provider, t).
			Try("leave the provider out, or use one of %s", strings.Join(p.chains[t], ", "))
	}
	c = candidate{endpoint: provider, api: api}
	var e Endpoint
	for _, one := range p.o.Endpoints {
		if one.Name == provider {
			e = one
		}
	}
	if c.Row, c.known = lookup(t, e.Kind, model, p.o.Now()); !c.known {
		if model == "" {
			return c, tool.Errorf(tool.Invalid, "the provider %q has no model for %s that is known", provider, t).
				Try("name one, as %s/MODEL", provider)
		}
		c.Row = Row{Task: t, Kind: e.Kind, Model: model, Per: wire.Once}
	}
	if e.local() {
		c.Price, c.known = 0, true
	}
	if price, ok := e.Prices[c.Model]; ok {
		c.Price, c.known = price, true
	}
	return c, nil
}

// candidates returns the models to ask for a task, the first one first. The caller may
// have named a provider, a model, or both.
func (p *Providers) candidates(t wire.Task, name string) (list []candidate, err error) {
	if p == nil || len(p.chains[t]) == 0 {
		return nil, none(t)
	}
	names := p.chains[t]
	if name != "" {
		named, _, _ := strings.Cut(name, "/")
		if p.apis[named] == nil {
			for _, one := range names { // MODEL without its provider
				if _, model, _ := strings.Cut(one, "/"); model == name {
					name = one
				}
			}
		} else if name == named { // the model of the chain, or the default
			for _, one := range names {
				if strings.HasPrefix(one, name+"/") {
					name = one
					break
				}
			}
		}
		names = []string{name}
	}
	for _, name := range names {
		c, err := p.candidate(t, name)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func none(t wire.Task) error {
	return tool.Errorf(tool.Unavailable, "no provider for %s is set up", t).
		Try("do without it, or ask the operator to add one to media.providers")
}

// Can reports whether there is a model for a task.
func (p *Providers) Can(t wire.Task) bool { return p != nil && len(p.chains[t]) > 0 }

// Chain returns the models for a task, as PROVIDER/MODEL, in the order of trying.
func (p *Providers) Chain(t wire.Task) []string {
	if p == nil {
		return nil
	}
	return p.chains[t]
}

// EndOf returns when the provider ends a model for a task; zero if that is not known.
func (p *Providers) EndOf(t wire.Task, name string) time.Time {
	c, err := p.candidate(t, name)
	if err != nil {
		return time.Time{}
	}
	return c.Ends
}

// Ask returns the effect that a person must approve because of the price of a request, or "". It is the Ask of a
// [tool.Plan].
func (p *Providers) Ask(r wire.Request) string {
	if p == nil {
		return ""
	}
	list, err := p.candidates(r.Task(), r.Target().Model)
	if err != nil {
		return "" // the call fails
	}
	var highest llm.Money
	dearest := ""
	for _, c := range list {
		if !c.known {
			return fmt.Sprintf("%s by %s, at a price that is not known", r.Task(), c.name())
		}
		if price := c.cost(r); price > highest {
			highest, dearest = price, c.name()
		}
	}
	if highest <= p.o.AskAbove {
		return ""
	}
	return fmt.Sprintf("%s for up to %s (%s)", r.Task(), highest, dearest)
}

// By names the provider that has answered a request.
type By struct {
	Model string    // PROVIDER/MODEL
	Cost  llm.Money // an estimate; 0 if no price is known
	Notes []string  // a sentence for each provider asked before, with the reason of its failure
}

// hold takes the price of a request from the budgets.
func (p *Providers) hold(ctx context.Context, c candidate, r wire.Request) (settle func(llm.Money), err error) {
	if p.o.Hold == nil {
		return func(llm.Money) {}, nil
	}
	return p.o.Hold(ctx, c.name(), c.cost(r), c.known)
}

// run asks the models of a chain until one answers. The request is the one that to is
// part of.
func run[T any](ctx context.Context, p *Providers, r wire.Request, to *wire.To,
	ask func(api any) (T, error)) (out T, by By, err error) {
	list, err := p.candidates(r.Task(), to.Model)
	if err != nil {
		return out, by, err
	}
	var last *wire.Failure
	for _, c := range list {
		settle, err := p.hold(ctx, c, r)
		if err != nil {
			return out, by, err
		}
		to.Model, to.Params = c.Model, c.Params
		out, err := ask(c.api)
		if err == nil {
			by.Model, by.Cost = c.name(), c.cost(r)
			settle(by.Cost)
			return out, by, nil
		}
		if !errors.As(err, &last) {
			settle(0)
			return out, by, err
		}
		if r.Task() == wire.Photo {
			last = last.Charged()
		}
		if last.Reason == wire.Unknown {
			settle(c.cost(r))
		} else {
			settle(0)
		}
		if by.Notes = append(by.Notes, note(c, last)); last.Final() {
			break
		}
	}
	return out, by, refusal(last, by.Notes)
}

// note says why a model was passed over.
func note(c candidate, f *wire.Failure) string { return c.name() + " did not answer: " + f.Error() }

// refusal is the error of a request that no model has answered.
func refusal(last *wire.Failure, notes []string) error {
	shown := tool.AsError(last.Shown())
	if len(notes) < 2 {
		return shown
	}
	return tool.Errorf(shown.Kind, "%s", strings.Join(notes, "; ")).Try("%s", shown.Next).Because(last)
}

// Photo makes pictures.
func (p *Providers) Photo(ctx context.Context, r wire.PhotoRequest) ([]wire.File, By, error) {
	r.Prompt = p.scrubbed(r.Prompt)
	return run(ctx, p, r, &r.To, func(api any) ([]wire.File, error) { return api.(photographer).Photo(ctx, r) })
}

// Speak reads a text aloud.
func (p *Providers) Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, By, error) {
	r.Text, r.Style = p.scrubbed(r.Text), p.scrubbed(r.Style)
	var asked any
	file, by, err := run(ctx, p, r, &r.To, func(api any) (wire.File, error) {
		asked = api
		return api.(speaker).Speak(ctx, r)
	})
	if one, ok := asked.(ignorer); ok && err == nil {
		if names := one.Ignores(r); len(names) > 0 {
			by.Notes = append(by.Notes, by.Model+" has no "+strings.Join(names, " and no ")+"; it was not heeded")
		}
	}
	return file, by, err
}

// Transcribe returns the words of a recording.
func (p *Providers) Transcribe(ctx context.Context, r wire.TranscriptionRequest) (wire.Transcript, By, error) {
	r.Hint = p.scrubbed(r.Hint)
	t, by, err := run(ctx, p, r, &r.To, func(api any) (wire.Transcript, error) {
		return api.(transcriber).Transcribe(ctx, r)
	})
	if err == nil && r.Speakers && len(t.Segments) == 0 {
		by.Notes = append(by.Notes, by.Model+" does not tell speakers apart")
	}
	return t, by, err
}

// Describe answers a question about files.
func (p *Providers) Describe(ctx context.Context, r wire.DescriptionRequest) (string, By, error) {
	r.Prompt = p.scrubbed(r.Prompt)
	return run(ctx, p, r, &r.To, func(api any) (string, error) { return api.(describer).Describe(ctx, r) })
}

func (p *Providers) scrubbed(text string) string {
	if p == nil {
		return text
	}
	return p.o.Scrub(text)
}
