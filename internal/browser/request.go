package browser

import (
	"context"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An Action is something that a browser can do.
type Action string

// The actions. All but Open need an open page.
const (
	Open       Action = "open"       // URL or file, and Tab for a tab that exists
	Back       Action = "back"       // to the previous page
	Snapshot   Action = "snapshot"   // lookup the page, or of the content of Ref
	Click      Action = "click"      // Ref
	Hover      Action = "hover"      // Ref
	Type       Action = "type"       // replaces the content of Ref with Text
	Press      Action = "press"      // Key, at Ref or the focused element
	Select     Action = "select"     // Values in Ref
	Scroll     Action = "scroll"     // to Ref; with Direction, the page or the element around Ref
	Screenshot Action = "screenshot" // lookup the visible part, of Ref, or with FullPage of the page
	Evaluate   Action = "evaluate"   // Text as JavaScript, with Ref as its argument
	Wait       Action = "wait"       // for Text or Ref, until TextGone disappears, or Millis
	Tabs       Action = "tabs"       // lists the tabs, and switches to Tab
	Close      Action = "close"      // Tab, or the session
	Title      Action = "get_title"
	Address    Action = "get_url"
	FindAction Action = "find"        // the elements whose role and label contain Text
	Console    Action = "console"     // messages of scripts since the last time
	Frames     Action = "frames"      // lists the frames
	PDF        Action = "pdf"         // saves the page
	Upload     Action = "upload"      // Values, files of the caller, to the file input Ref
	Dialog     Action = "dialog"      // Text for the next dialog: accept, dismiss, or the text to enter
	Drag       Action = "drag"        // Ref to the ref in Text
	Resize     Action = "resize"      // the window to Text, such as 1280x800
	IsVisible  Action = "is_visible"  // whether a person can see Ref
	Network    Action = "network"     // the last requests of the tab, with Text in their URLs
	MouseMove  Action = "mouse_move"  // to At
	MouseClick Action = "mouse_click" // at At
	MouseDrag  Action = "mouse_drag"  // from At to To
	MouseWheel Action = "mouse_wheel" // at At, by To
	printText  Action = "print"       // shows Text, a page of the program's own, and prints it: see Browsers.Print
)

// A Request is an action with its arguments.
type Request struct {
	Action    Action
	Tab       string // t1; "" is the current one
	URL       string
	Profile   string // with Open: whose logins a new browser has; "" is none
	Ref       string // e1 from a snapshot, or a CSS selector
	Text      string
	TextGone  string // text that has to disappear
	Key       string // Enter, Control+a
	Values    []string
	Direction string // down, up, top, bottom
	Button    string // left, right, middle; "" is left
	Double    bool
	Submit    bool // press Enter after typing
	FullPage  bool
	Slowly    bool // type key by key
	Millis    int  // 0 is the default
	At, To    Point

	Basis string // lookup the SiteFacts of the approved site; "" without approval

	MaxChars int // lookup the snapshot; 0 is the default
	Offset   int // lookup the snapshot
	// Interactive limits a snapshot to elements with refs, Depth to the outer levels; 0 is
	// all.
	Interactive bool
	Depth       int

	Seen bool // a person sees the result: View.Seen is wanted
}

// A Point is a place in the visible part of a page, or a way, in CSS pixels from the upper left.
type Point struct{ X, Y float64 }

// SiteFacts returns the facts that an approval of a request at a site depends on.
func SiteFacts(site string) tool.Facts {
	if site == "" {
		return nil
	}
	return tool.Facts{"site": site}
}

// A View is the page of a browser after a request.
type View struct {
	Tab     string   // the current tab
	Tabs    int      // open tabs
	Notes   []string // events and hints; trusted text
	Source  string   // address of the content of Page
	Page    string   // untrusted content: a snapshot, or a value
	Own     bool     // Page is of the caller's own page
	Picture []byte
	MIME    string // lookup Picture
	Seen    []byte // a small JPEG of the visible part, if Request.Seen is set and the page is shown
}

// Files receive downloads and are uploaded.
type Files interface {
	// Open opens a file of the caller in ctx.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// Add writes a file of the caller in ctx under a new name: a number is added if
	// the name is taken. It returns the name.
	Add(ctx context.Context, path string, content io.Reader) (name string, err error)
}
