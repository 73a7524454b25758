package console

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file shows the browsers of agents, and lets a person use one. What a person does are verbs of the room browser; the
// pictures are those that its verb watch emits.

// A runningBrowser is what the room browser says about one.
type runningBrowser struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	User    string    `json:"user"`
	Session string    `json:"session"`
	Profile string    `json:"profile"`
	URL     string    `json:"url"`
	Tabs    int       `json:"tabs"`
	Used    time.Time `json:"used"`
	Person  string    `json:"person"`
	Focus   string    `json:"focus"`
	Picture []byte    `json:"picture"`
}

// A browserKey is a key that the page has a button for.
type browserKey struct{ Key, Name, Does string }

func browserKeys() []browserKey {
	return []browserKey{
		{"Tab", "Tab", "next field"}, {"Shift+Tab", "Shift+Tab", "field before"}, {"Enter", "Enter", "press or send"},
		{"Space", "Space", "tick or press"}, {"ArrowUp", "Arrow up", ""}, {"ArrowDown", "Arrow down", ""},
		{"ArrowLeft", "Arrow left", ""}, {"ArrowRight", "Arrow right", ""}, {"Backspace", "Backspace", "delete a character"},
		{"Control+a", "Ctrl+A", "select all"}, {"Escape", "Escape", "close"}, {"PageUp", "Page up", "scroll"},
		{"PageDown", "Page down", "scroll"},
	}
}

type browserData struct {
	runningBrowser
	Mine bool // the person has it
	Keys []browserKey
}

func (r *Request) browsers() (list []runningBrowser, err error) {
	result, _, err := r.Call("browser", "list", nil)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(result.Data)
	if err == nil {
		err = json.Unmarshal(encoded, &list)
	}
	return list, err
}

func showBrowsers(r *Request) (any, error) { return r.browsers() }

func showBrowser(r *Request) (any, error) {
	list, err := r.browsers()
	for _, one := range list {
		if one.ID == r.PathValue("id") {
			return browserData{one, one.Person == r.Who.Name, browserKeys()}, nil
		}
	}
	if err == nil {
		err = tool.Errorf(tool.NotFound, "this browser does not run any more")
	}
	return nil, err
}

// errSeen ends a stream after its first picture.
var errSeen = errors.New("seen")

// watch passes what a browser shows to each, until each returns an error, the client goes or the console ends.
func (c *Console) watch(r *Request, each func(runningBrowser) error) error {
	home, v, err := r.verb("browser", "watch")
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]string{"id": r.PathValue("id")})
	if err != nil {
		return err
	}
	_, _, err = c.API.Do(r.Context(), r.Who, home, v, args, false, func(one tool.Result) error {
		var b runningBrowser
		encoded, err := json.Marshal(one.Data)
		if err == nil {
			err = json.Unmarshal(encoded, &b)
		}
		if err != nil {
			return err
		}
		return each(b)
	})
	return err
}

// browserPicture answers with one picture of a browser, for pages without a script.
func (c *Console) browserPicture(w http.ResponseWriter, r *Request) {
	var picture []byte
	err := c.watch(r, func(b runningBrowser) error { picture = b.Picture; return errSeen })
	if picture == nil {
		c.fail(w, r, errors.Join(err, tool.Errorf(tool.Unavailable, "the browser shows nothing")))
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(picture) // else the client has disconnected
}

// browserFrames sends pictures of a browser as events until the client goes.
func (c *Console) browserFrames(w http.ResponseWriter, r *Request) {
	if r.session.streams.Add(1) > maxStreams {
		r.session.streams.Add(-1)
		http.Error(w, "too many open pages", http.StatusTooManyRequests)
		return
	}
	defer r.session.streams.Add(-1)
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	_ = control.SetReadDeadline(time.Time{}) // else it would end the stream
	send := func(event, data string) error {
		_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		return errors.Join(control.SetWriteDeadline(time.Now().Add(writeLimit)), err, control.Flush())
	}
	err := c.watch(r, func(b runningBrowser) error {
		if c.ended.Err() != nil || r.session.valid != nil && !r.session.valid(r.Context()) {
			return errSeen
		}
		state, err := json.Marshal(map[string]any{
			"url": terminal.Short(terminal.OneLine(b.URL), 200), "person": b.Person, "focus": terminal.Short(terminal.OneLine(b.Focus), 300),
			"picture": base64.StdEncoding.EncodeToString(b.Picture),
		})
		if err != nil {
			return err
		}
		return send("frame", string(state))
	})
	if r.Context().Err() == nil && err != nil {
		_ = send("gone", "-") // else the client has gone first
	}
}
