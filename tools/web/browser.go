package web

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Browser is a real one that the caller of ctx drives, and nobody else: what
// it remembers ends with the caller's conversation, or when it is closed. Its
// errors are fit for a model.
type Browser interface {
	// Do does one thing and says what is to be seen then. Of one caller, one
	// thing is done at a time. When ctx ends the work does, and the browser is
	// left as it is.
	Do(ctx context.Context, a Act) (View, error)
	// Where says at which site an Act would be done, such as https://a.example,
	// or why it would not be, as far as that is known without the browser: it is
	// neither started nor asked. "" is for acts that are done at none.
	Where(ctx context.Context, a Act) (site string, err error)
}

// A Deed is what a browser is asked to do.
type Deed string

// The deeds. All but the first need a page, which Open makes.
const (
	Open       Deed = "open"       // URL, and Tab for one that is there
	Back       Deed = "back"       // to the page before
	Snapshot   Deed = "snapshot"   // of the page, or of what is beneath Ref
	Click      Deed = "click"      // Ref
	Hover      Deed = "hover"      // Ref
	Type       Deed = "type"       // Text into Ref, in the place of what was there
	Press      Deed = "press"      // Key, at Ref or where the focus is
	Select     Deed = "select"     // Values of Ref
	Scroll     Deed = "scroll"     // Ref into view; with Way, the page or what Ref is in
	Screenshot Deed = "screenshot" // of what is in view, of Ref, or of all with Whole
	Evaluate   Deed = "evaluate"   // Text, which is JavaScript, with Ref as its argument
	Wait       Deed = "wait"       // for Text, Gone or Ref, or Millis
	Tabs       Deed = "tabs"       // lists them, and goes to Tab
	Close      Deed = "close"      // Tab, or all of it
)

// An Act is a Deed with what it is to be done with.
type Act struct {
	Deed   Deed
	Tab    string // t1; "" is the current one
	URL    string
	Ref    string // e1 from a snapshot, or a CSS selector
	Text   string
	Gone   string // text that is to go away
	Key    string // Enter, Control+a
	Values []string
	Way    string // down, up, top, bottom
	Button string // left, right, middle; "" is left
	Double bool
	Submit bool // press Enter after typing
	Whole  bool
	Millis int // 0 leaves it to the browser

	Basis string // of FactsAt the site where it may be done, "" for any

	MaxChars int // of the page's text; 0 leaves it to the browser
	Offset   int // where in it to begin
}

// FactsAt returns what an approval of an Act at a site depends on.
func FactsAt(site string) tool.Facts {
	if site == "" {
		return nil
	}
	return tool.Facts{"site": site}
}

// A View is what a Browser has to tell.
type View struct {
	Tab     string   // it is about
	Tabs    int      // that are open
	Notes   []string // in our words: what happened besides, what there is more of
	Source  string   // of Page: the address of what wrote it
	Page    string   // what strangers wrote, not cleaned: a snapshot, a value
	Picture []byte
	MIME    string // of Picture
}
