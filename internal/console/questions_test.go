package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/room"
)

func TestAllowAndDeny(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	first, second := f.ask(someCall()), f.ask(someCall())
	page := c.get("questions")
	for _, want := range []string{"Run a command (exec)", "rm notes.txt", "It deletes or overwrites data. This cannot be undone."} {
		if !strings.Contains(page.text, want) {
			t.Errorf("the page has no %q:\n%s", want, page.text)
		}
	}
	if got := c.do("approvals/allow", url.Values{"arg.id": {first}, "back": {"questions"}}); got.status != http.StatusOK ||
		!strings.HasSuffix(got.path, "/questions") || !strings.Contains(got.text, first+": allowed") {
		t.Errorf("allow got %d at %s:\n%s", got.status, got.path, got.text)
	}
	c.do("approvals/deny", url.Values{"arg.id": {second}, "arg.reason": {"use the <b>test</b> database"}})
	q, err := f.asks.Get(t.Context(), second, approvals.Approver{})
	if err != nil || q.State != approvals.Denied || q.Decision.Reason != "use the <b>test</b> database" ||
		q.Decision.By != "ann" || q.Decision.Channel != "console" {
		t.Errorf("the question is %+v, %v", q, err)
	}
	if got := f.done(); !slices.Equal(got, []string{"ann: approvals allow", "ann: approvals deny"}) {
		t.Errorf("recorded are %q", got)
	}
	if got := c.do("approvals/allow", url.Values{"arg.id": {second}}); got.status != http.StatusConflict {
		t.Errorf("a second decision got %d:\n%s", got.status, got.text)
	}
}

// TestPersonOfSomeCallers shows a person who decides for one agent nothing of the others.
func TestPersonOfSomeCallers(t *testing.T) {
	f := newFixture(t)
	f.person["ben"] = room.Person{Name: "token:ben", Channel: "console", Agent: "tester"}
	c := f.logIn("ben")
	other := f.ask(someCall())
	own := someCall()
	own.Agent, own.Shown = "tester", `{"command":"go test"}`
	f.ask(own)
	page := c.get("questions")
	if !strings.Contains(page.text, "go test") || strings.Contains(page.text, "rm notes") ||
		strings.Contains(page.text, "Pause everything") {
		t.Errorf("the page is:\n%s", page.text)
	}
	if got := c.do("approvals/allow", url.Values{"arg.id": {other}}); got.status != http.StatusNotFound {
		t.Errorf("allow got %d", got.status)
	}
	if got := c.do("pauses/pause", url.Values{}); got.status != http.StatusNotFound {
		t.Errorf("pause got %d", got.status)
	}
}

func TestPause(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	page := c.do("pauses/pause", url.Values{"arg.reason": {"it <i>loops</i>"}, "back": {"questions"}})
	if !strings.Contains(page.text, "it &lt;i&gt;loops") || !strings.Contains(page.text, "Resume all") {
		t.Errorf("the page is:\n%s", page.text)
	}
	if page = c.do("pauses/resume", url.Values{"back": {"questions"}}); strings.Contains(page.text, "Resume all") {
		t.Errorf("the page is:\n%s", page.text)
	}
}

// TestBack leads to pages of the console only.
func TestBack(t *testing.T) {
	r := &Request{Base: "/c/x"}
	for path, want := range map[string]string{
		"questions": "/c/x/questions", "calls?tool=exec": "/c/x/calls?tool=exec", "": "/c/x/",
		"//evil.example": "/c/x/", "https://evil.example": "/c/x/", "/login": "/c/x/", "../y": "/c/x/",
		`\\evil.example`: "/c/x/", "javascript:alert(1)": "/c/x/", "a\r\nb": "/c/x/",
	} {
		if got := r.back(path); got != want {
			t.Errorf("back to %q is %q", path, got)
		}
	}
}
