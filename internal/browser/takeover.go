package browser

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file lets a person use a browser in place of its agent. While a person has it, requests of the agent get an error
// that says so, or wait. What the person types is never shown to the agent.

const (
	// personIdle is how long a browser stays with a person who neither looks at it nor does anything.
	personIdle = 2 * time.Minute
	personPoll = 200 * time.Millisecond
	minTyped   = 4 // characters of a text that is hidden afterwards
	maxTyped   = 100
	// maxTypedText is the maximum length of a text in bytes.
	maxTypedText = 10_000
	glassQuality = 60
)

// A Running browser, for people.
type Running struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	User    string    `json:"user"`
	Session string    `json:"session"`
	Profile string    `json:"profile,omitempty"`
	URL     string    `json:"url"`
	Tabs    int       `json:"tabs"`
	Used    time.Time `json:"used"`
	Person  string    `json:"person,omitempty"` // who has it; "" for the agent
	Focus   string    `json:"focus,omitempty"`  // the element that gets the keys, for the person who looks at it and has it
}

// An Input is something that a person does in a browser: a click at a point, a text, or a key.
type Input struct {
	Click bool    `json:"click,omitempty"`
	X     float64 `json:"x,omitempty"`
	Y     float64 `json:"y,omitempty"`
	Text  string  `json:"text,omitempty"`
	Key   string  `json:"key,omitempty"`
}

// A person has a browser. The lock of the session guards it.
type person struct {
	name  string
	at    time.Time // of the last input or look
	run   string    // texts since the last click or key: parts of one
	typed []string  // all texts, to be hidden
}

// having returns the person who has the browser, "" for none. The caller holds s.mu.
func (s *session) having() string {
	if s.person.name != "" && time.Since(s.person.at) > personIdle {
		s.person.name = ""
		s.note("a person has used the browser, and left it")
	}
	return s.person.name
}

func (s *session) taken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.having()
}

// awaitPerson returns nil when no person has the browser. Wait waits for that, other requests get an error.
func (s *session) awaitPerson(ctx context.Context, req Request) error {
	most := max(time.Duration(req.Millis)*time.Millisecond, defaultWait)
	for end := time.Now().Add(min(most, maxWait)); ; {
		who := s.taken()
		if who == "" {
			return nil
		}
		if req.Action != Wait || time.Now().After(end) {
			return tool.Errorf(tool.Busy, "a person (%s) is using the browser", short(who, 100)).
				Try("wait for it with {\"action\":\"wait\",\"ms\":60000}, or ask the person whether it is done")
		}
		if err := clock.Sleep(ctx, personPoll); err != nil {
			return err
		}
	}
}

// Running returns the browsers, the one that was used last first.
func (b *Browsers) Running() (all []Running) {
	b.mu.Lock()
	sessions := make([]*session, 0, len(b.sessions))
	for _, s := range b.sessions {
		sessions = append(sessions, s)
	}
	b.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
		if s.current != nil {
			all = append(all, Running{
				ID: s.id, Agent: s.who.Agent, User: s.who.User, Session: s.owner.session, Profile: s.profileName,
				URL: s.current.url, Tabs: len(s.tabs), Used: s.lastUse().UTC().Truncate(time.Second), Person: s.having(),
			})
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Running) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.ID, b.ID)) })
	return all
}

// byID returns a running browser.
func (b *Browsers) byID(id string) (*session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if s.id == id {
			return s, nil
		}
	}
	return nil, NoBrowser(id)
}

// NoBrowser returns the error for a browser that does not run.
func NoBrowser(id string) error {
	return tool.Errorf(tool.NotFound, "there is no browser %.20q; it may have been closed", id).
		Try("mcp-tools browser list shows those that run")
}

// Take gives a browser to a person, when the request that is running in it has ended.
func (b *Browsers) Take(ctx context.Context, id, who string) error {
	s, err := b.byID(id)
	if err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if has := s.having(); has != "" && has != who {
		return tool.Errorf(tool.Conflict, "%s has the browser", has).Try("ask %s to give it back", has)
	}
	s.person.name, s.person.at = who, time.Now()
	return nil
}

// Give gives a browser back to its agent.
func (b *Browsers) Give(id, who string) error {
	s, err := b.byID(id)
	if err != nil {
		return err
	}
	if err := s.of(who); err != nil {
		return err
	}
	s.mu.Lock()
	s.person.name = ""
	s.note("a person has used the browser, and given it back: take a snapshot")
	s.mu.Unlock()
	s.usedAt.Store(time.Now().UnixNano())
	if s.profile != nil {
		select {
		case s.profile.dirty <- struct{}{}:
		default:
		}
	}
	return nil
}

// of returns an error if a person does not have the browser, and keeps it for the person otherwise.
func (s *session) of(who string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch has := s.having(); has {
	case who:
		s.person.at = time.Now()
		s.usedAt.Store(time.Now().UnixNano())
		return nil
	case "":
		return tool.Errorf(tool.Conflict, "the agent has the browser").Try("take it over first")
	default:
		return tool.Errorf(tool.Conflict, "%s has the browser", has).Try("ask %s to give it back", has)
	}
}

// Input does something in a browser that a person has.
func (b *Browsers) Input(ctx context.Context, id, who string, in Input) error {
	s, err := b.byID(id)
	if err == nil {
		err = s.of(who)
	}
	if err != nil {
		return err
	}
	if len(in.Text) > maxTypedText {
		return tool.Errorf(tool.TooLarge, "the text has more than %d bytes", maxTypedText).Try("type a part of it")
	}
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	t, err := s.find("")
	if err != nil {
		return err
	}
	if in.Click {
		s.typed("", true)
		if err := t.mouse(ctx, in.X, in.Y, Request{Action: Click}); err != nil {
			return err
		}
	}
	if in.Text != "" {
		s.typed(in.Text, false) // before it is there to be seen
		if err := run(ctx, t.main.endpoint, input.InsertText, input.InsertTextParams{Text: in.Text}); err != nil {
			return err
		}
	}
	if in.Key != "" {
		s.typed("", true)
		k, modifiers, err := parseKey(in.Key)
		if err != nil {
			return err
		}
		return t.main.key(ctx, k, modifiers) // Chromium passes it on to the frame with the focus
	}
	return nil
}

// typed keeps a text that a person has typed, so that it is hidden from the agent.
func (s *session) typed(text string, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.person
	if ends {
		p.run = ""
	}
	p.run += text
	for _, one := range []string{text, p.run} {
		if one = strings.TrimSpace(one); len(one) >= minTyped && !slices.Contains(p.typed, one) {
			p.typed = append(p.typed[max(0, len(p.typed)-maxTyped):], one)
		}
	}
	if s.o.Mask == nil || text == "" {
		return
	}
	var long []string
	for _, one := range p.typed {
		if len(one) >= minMasked {
			long = append(long, one)
		}
	}
	if err := s.o.Mask("browser "+s.id, long...); err != nil {
		s.o.Log.Debug("texts of a person are too common to be masked everywhere", "err", err)
	}
}

// hide replaces what a person has typed, and the cookies of a profile.
func (s *session) hide(text string) string {
	if s.profile != nil {
		text = s.profile.hide(text)
	}
	s.mu.Lock()
	typed := slices.Clone(s.person.typed)
	s.mu.Unlock()
	slices.SortFunc(typed, func(a, b string) int { return len(b) - len(a) }) // the longest first
	for _, one := range typed {
		forms := []string{one, url.QueryEscape(one), url.PathEscape(one), strings.Join(strings.Fields(one), " ")}
		if old, ok := latin1(one); ok { // as pages without UTF-8 send it
			forms = append(forms, url.QueryEscape(old))
		}
		for _, form := range forms {
			text = strings.ReplaceAll(text, form, "[typed]")
		}
	}
	return text
}

// latin1 returns a text in the encoding Latin-1, if that has all its characters.
func latin1(text string) (string, bool) {
	var out []byte
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		out = append(out, byte(r))
	}
	return string(out), true
}

// Look returns a picture of the visible part of a browser as a JPEG, one pixel for each of the page, and its state. A look
// of the person who has the browser keeps it for the person.
func (b *Browsers) Look(ctx context.Context, id, who string) (picture []byte, now Running, err error) {
	s, err := b.byID(id)
	if err != nil {
		return nil, now, err
	}
	if s.taken() == who {
		_ = s.of(who)
	}
	for _, one := range b.Running() {
		if one.ID == id {
			now = one
		}
	}
	t, err := s.find("")
	if err != nil {
		return nil, now, err
	}
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	taken, err := call(ctx, t.main.endpoint, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatJpeg, Quality: new(int64(glassQuality)),
	})
	if err != nil {
		return nil, now, fmt.Errorf("no picture: %w", err)
	}
	if who != "" && now.Person == who {
		now.Focus = t.main.focus(ctx)
	}
	return taken.Data, now, nil
}

// focused returns the element that gets the keys, also in frames of the same process.
const focused = `(() => {
	let e = document.activeElement;
	for (let inner; e && (inner = e.shadowRoot ? e.shadowRoot.activeElement : e.contentDocument && e.contentDocument.activeElement);) e = inner;
	return e;
})()`

// focus describes the element that gets the keys as a screen reader would: its name, its role and its state, and what is
// chosen in a list, but not what is typed in a field. Without such an element, and while a page changes, it returns "".
func (p *pageTarget) focus(ctx context.Context) string {
	found, err := call(ctx, p.endpoint, runtime.Evaluate, runtime.EvaluateParams{Expression: focused})
	if err != nil || found.Result == nil || found.Result.ObjectID == "" {
		return ""
	}
	id := found.Result.ObjectID
	defer func() { _ = run(ctx, p.endpoint, runtime.ReleaseObject, runtime.ReleaseObjectParams{ObjectID: id}) }() // else the page is gone
	tree, err := call(ctx, p.endpoint, accessibility.GetPartialAXTree,
		accessibility.GetPartialAXTreeParams{ObjectID: id, FetchRelatives: new(false)})
	if err != nil || len(tree.Nodes) == 0 {
		return ""
	}
	from := tree.Nodes[0]
	n := node{role: valueText(from.Role), name: valueText(from.Name), value: valueText(from.Value)}
	for _, p := range from.Properties {
		value := valueText(p.Value)
		switch n.addState(p.Name, value); {
		case p.Name == accessibility.PropertyNameEditable:
			n.value = ""
		case p.Name == accessibility.PropertyNameChecked && value == "false":
			n.states = append(n.states, "not checked")
		}
	}
	if from.Ignored || n.role == "RootWebArea" || n.role == "generic" {
		return ""
	}
	n.states = slices.DeleteFunc(n.states, func(state string) bool { return state == "focused" })
	parts := append([]string{short(n.name, 100), n.role, short(n.value, 100)}, n.states...)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}
