package console

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/webpage"
)

// contentPolicy restricts the pages in a browser: scripts and styles of the console only, no
// frames, and no text as a script.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types console"

// guard refuses requests that no page of the console makes.
func (c *Console) guard(next http.Handler) http.Handler {
	return webpage.Guard{
		Policy: contentPolicy, Hosts: func() []string { return c.Hosts }, Secure: c.Secure, MaxForm: maxForm,
		WrongHost: "This console does not answer to that name. Use the address that it was opened with; with console.listen " +
			"the operator sets it as console.url.",
		Refuse: func(w http.ResponseWriter, r *http.Request, why, text string) {
			c.refuse(w, r, http.StatusForbidden, why, text)
		},
	}.Handler(next)
}

// maxForm is the maximum size of a form.
const maxForm = 4 << 20

// known passes a request to next if its path has a session and its cookie belongs to it.
// Everything else gets the same answer, whether there is such a page or not.
func (c *Console) known(next func(http.ResponseWriter, *Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, "/"+sessionPath+"/")
		base, _, _ := strings.Cut(rest, "/")
		if !ok {
			c.refuse(w, r, http.StatusNotFound, "", "There is nothing here. "+c.wayIn())
			return
		}
		s, refused := c.sessions.find(base, r.CookiesNamed(c.cookieName()))
		if refused == "" && s.valid != nil && !s.valid(r.Context()) {
			refused = "a session whose token is not valid any more"
		}
		if refused == "" && r.Method == http.MethodPost &&
			subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(s.csrf)) != 1 {
			refused = "a form without the token of its session"
		}
		if refused != "" {
			c.refuse(w, r, http.StatusForbidden, refused, "This page is not open any more. "+c.wayIn())
			return
		}
		next(w, &Request{Request: r, Who: s.who, Base: s.base, session: s, console: c})
	}
}

// wayIn says how a person opens the console.
func (c *Console) wayIn() string {
	if c.Identify != nil || c.member != nil {
		return "Log in again."
	}
	return "Run mcp-tools ui for a new link."
}

// refuse answers a request that is not let in, and records why.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, status int, why, text string) {
	if why != "" {
		c.Log.Info("a request to the console was refused", "why", why, "from", r.RemoteAddr)
		if c.refusals.Record() {
			c.record(r, "", "refused", "refused", why)
		}
	}
	c.gate(w, r, status, text)
}

// record writes a login or a refusal to the audit log.
func (c *Console) record(r *http.Request, user, what, outcome, why string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	err = c.Record(context.WithoutCancel(r.Context()), audit.Record{
		Phase: audit.Done, Kind: "console", Tool: "console " + what, User: user, Transport: "console", Outcome: outcome,
		Error: c.Scrub(why), About: "from " + host,
	})
	if err != nil {
		c.Log.Error("the console's audit record was not written", "verb", what, "err", err)
	}
}

// questionID is the form of an id after /questions/.
var questionID = text.Pattern(`^[a-z0-9-]{1,80}$`)

// showGate shows how to open the console. The page of a question leads there after the login.
func (c *Console) showGate(w http.ResponseWriter, r *http.Request) {
	c.gate(w, r, http.StatusOK, "")
}

// A gate is the page before the login.
type gate struct {
	Title, Text string
	Tokens      bool   // people log in with a token
	At          string // host of the provider for logins
	Enter       string // page of the session that has begun
	Link        string // path of the form that uses up a link
	Next        string // page after the login
}

func (c *Console) gate(w http.ResponseWriter, r *http.Request, status int, text string) {
	g := gate{Title: "Console", Text: text, Tokens: c.Identify != nil, Next: next(r)}
	if c.member != nil {
		g.At = c.member.host()
	}
	c.write(w, status, "gate", g)
}

// allQuestions is the page of all questions.
const allQuestions = "questions"

// next returns the page after the login: the page of a question, the page of all questions (questions of agents are
// on it), or "".
func next(r *http.Request) string {
	id := r.PathValue("id")
	if id == "" {
		id, _ = strings.CutPrefix(r.FormValue("next"), allQuestions+"/")
	}
	switch {
	case id == allQuestions, strings.HasPrefix(id, "q-"):
		return allQuestions
	case !questionID().MatchString(id):
		return ""
	}
	return allQuestions + "/" + id
}

// linkForm is the form of the secret of a link.
var linkForm = text.Pattern(`^[a-z0-9]{52}$`)

// showLink shows the button of a link. The answer is the same for every link, so that
// programs that look at links learn nothing and use up nothing.
func (c *Console) showLink(w http.ResponseWriter, r *http.Request) {
	g := gate{Title: "Open the console"}
	if secret := r.PathValue("secret"); linkForm().MatchString(secret) {
		g.Link = "/open/" + secret
	}
	c.write(w, http.StatusOK, "gate", g)
}

// openLink uses up a link.
func (c *Console) openLink(w http.ResponseWriter, r *http.Request) {
	who, ok := c.sessions.spend(r.PathValue("secret"))
	if !ok {
		c.refuse(w, r, http.StatusForbidden, "a link that was used or has expired",
			"This link was used already, or has expired. "+c.wayIn())
		return
	}
	c.letIn(w, r, who, nil, "")
}

// logIn logs a person in with a token.
func (c *Console) logIn(w http.ResponseWriter, r *http.Request) {
	if c.Identify == nil {
		c.refuse(w, r, http.StatusNotFound, "", "There is nothing here. "+c.wayIn())
		return
	}
	if !c.sessions.mayTry(r.RemoteAddr) {
		c.refuse(w, r, http.StatusTooManyRequests, "too many logins", "Too many logins. Wait a minute, then try again.")
		return
	}
	token := strings.TrimSpace(r.PostFormValue("token"))
	who, err := c.Identify(r.Context(), token)
	if err != nil {
		c.refuse(w, r, http.StatusForbidden, "a token that is not valid: "+text.Clip(err.Error(), 200),
			"This token does not open the console. It is unknown, expired or revoked, or it may not decide: the operator "+
				"makes one with mcp-tools token create --approve.")
		return
	}
	valid := func(ctx context.Context) bool {
		now, err := c.Identify(ctx, token)
		return err == nil && now == who
	}
	c.letIn(w, r, who, valid, next(r))
}

func (c *Console) logOut(w http.ResponseWriter, r *Request) {
	c.sessions.end(strings.TrimPrefix(r.Base, "/"+sessionPath+"/"))
	c.gate(w, r.Request, http.StatusOK, "You are logged out. "+c.wayIn())
}
