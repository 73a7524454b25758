package login

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/users"
	"github.com/mcp-tools/mcp-tools/internal/webpage"
	"github.com/mcp-tools/mcp-tools/policy"
)

// contentPolicy restricts the pages in a browser: scripts and styles of the login only, and no frames. The
// redirect to a client is no answer to a form, because form-action would stop it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// The cookies. The prefix keeps other hosts of the domain from setting them.
const (
	browserCookie = "__Host-mcp-tools-login"  // binds a login to the browser that began it
	deviceCookie  = "__Host-mcp-tools-device" // of a browser after the login of a person
)

// newCookie returns the value of Set-Cookie. Lax, because the login begins at another site.
func newCookie(name, value string, age time.Duration) string {
	c := http.Cookie{
		Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int(age.Seconds()),
	}
	return c.String()
}

// cookie returns a secret from a cookie, or "".
func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil || len(c.Value) != len(users.NewSecret()) {
		return ""
	}
	return c.Value
}

// maxForm is the maximum size of a form, or of the answer of a passkey.
const maxForm = 64 << 10

func (s *Server) openPages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/style.css", s.file("text/css; charset=utf-8", func() ([]byte, error) { return s.Style, nil }))
	mux.HandleFunc("GET /login/login.js", s.file("text/javascript; charset=utf-8",
		func() ([]byte, error) { return files.ReadFile("login.js") }))
	mux.HandleFunc("GET /login/{id}", s.with("login", s.showLogin))
	mux.HandleFunc("POST /login/{id}/passkey", s.with("login", s.passkey))
	mux.HandleFunc("POST /login/{id}/password", s.with("login", s.password))
	mux.HandleFunc("POST /login/{id}/consent", s.with("consent", s.consent))
	mux.HandleFunc("GET "+users.InvitePath+"{secret}", s.showInvite)
	mux.HandleFunc("POST "+users.InvitePath+"{secret}/passkey", s.invitePasskey)
	mux.HandleFunc("POST "+users.InvitePath+"{secret}/code", s.showCode)
	mux.HandleFunc("POST "+users.InvitePath+"{secret}/password", s.invitePassword)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "", "", "There is nothing here.")
	})
	host := strings.TrimPrefix(s.origin, "https://")
	return webpage.Guard{
		Policy: contentPolicy, Hosts: func() []string { return []string{host} }, Secure: true, MaxForm: maxForm,
		WrongHost: "The login of this server is at " + s.origin + ".",
		Refuse: func(w http.ResponseWriter, r *http.Request, why, text string) {
			s.fail(w, r, http.StatusForbidden, "login", why, text)
		},
	}.Handler(mux)
}

//go:embed templates/*.html login.js
var files embed.FS

func parseLook() (map[string]*template.Template, error) {
	layout, err := template.ParseFS(files, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	look := map[string]*template.Template{}
	for _, name := range []string{"login", "consent", "done", "invite", "code", "failed"} {
		one, err := layout.Clone()
		if err == nil {
			_, err = one.ParseFS(files, "templates/"+name+".html")
		}
		if err != nil {
			return nil, err
		}
		look[name] = one
	}
	return look, nil
}

// write writes a page.
func (s *Server) write(w http.ResponseWriter, status int, name string, data any) {
	look, err := s.look()
	var page bytes.Buffer
	if err == nil {
		err = look[name].ExecuteTemplate(&page, "layout.html", data)
	}
	if err != nil {
		s.Log.Error("a page of the login cannot be written", "path", name, "err", err)
		http.Error(w, "the page cannot be written; the log of the server has the reason", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if w.Header().Get("Content-Security-Policy") == "" { // an answer of the protocol that a person sees
		w.Header().Set("Content-Security-Policy", contentPolicy)
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // else the client has disconnected
}

// fail answers with a page about the error, and records it if there is a verb.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, verb, why, text string) {
	if verb != "" {
		_ = s.record(r, event{verb: verb, why: why})
	}
	s.write(w, status, "failed", map[string]any{"Title": "This did not work", "Text": s.Scrub(text)})
}

// file serves a file of the pages.
func (s *Server) file(kind string, read func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := read()
		if err != nil {
			s.fail(w, r, http.StatusNotFound, "", "", "There is nothing here.")
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(content) // else the client has disconnected
	}
}

// A step is a request of a browser about its login.
type step struct {
	login
	client client
	user   users.User // "" before the login
	scopes []string   // profiles for the person to choose from
}

func (p step) event(verb, why string) event {
	return event{verb: verb, user: p.user.Name, agent: p.user.Agent, client: p.client.label(), why: why}
}

// with passes a request to next if its login is open and began in this browser.
func (s *Server) with(verb string, next func(http.ResponseWriter, *http.Request, step)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, why, err := s.step(r)
		switch {
		case err != nil:
			s.broken(w, r, err)
		case why != "":
			s.fail(w, r, http.StatusForbidden, verb, why,
				"This login is not open in this browser any more. Begin again in the program that sent you here.")
		default:
			next(w, r, p)
		}
	}
}

// broken answers when the store cannot be used.
func (s *Server) broken(w http.ResponseWriter, r *http.Request, err error) {
	s.Log.Error("a page of the login failed", "err", err)
	s.fail(w, r, http.StatusServiceUnavailable, "", "", "The login does not work now. Try again later.")
}

func (s *Server) step(r *http.Request) (p step, why string, err error) {
	err = s.DB.View(r.Context(), func(t *store.Tx) error {
		var expired bool
		p.login, expired, err = loginOf(t, "id", r.PathValue("id"), false)
		switch {
		case errors.Is(err, store.ErrNotFound):
			why = "a login that does not exist"
			return nil
		case err != nil:
			return err
		case expired || p.hasCode:
			why = "a login that has ended"
			return nil
		case p.browser != users.Digest(cookie(r, browserCookie)):
			why = "a login that began in another browser"
			return nil
		case p.account == "":
			return nil
		}
		p.user, err = users.Get(t, p.account)
		if errors.Is(err, store.ErrNotFound) {
			why, err = "a user who was removed", nil
		}
		return err
	})
	if err != nil || why != "" {
		return p, why, err
	}
	p.client, _, err = s.known(r.Context(), p.login.client)
	if errors.Is(err, errNoClient) {
		return p, errNoClient.Error(), nil
	}
	p.scopes = s.choices(p)
	return p, "", err
}

// choices returns the profiles for the person to choose from: the profiles of the user, as far as the
// client asks for them by scope or resource.
func (s *Server) choices(p step) []string {
	all := s.Scopes()
	offered := slices.Clone(p.user.Profiles)
	if slices.Contains(offered, policy.AnyProfile) {
		offered = all
	}
	asked := strings.Fields(p.scope)
	if profile, ok := strings.CutPrefix(p.resource, s.Endpoint+"/"); ok {
		asked = []string{profile}
	}
	asked = slices.DeleteFunc(asked, func(scope string) bool { return !slices.Contains(all, scope) })
	if len(asked) > 0 {
		offered = slices.DeleteFunc(offered, func(name string) bool { return !slices.Contains(asked, name) })
	}
	return offered
}

// showLogin shows the page for the login, or the page for the consent.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, p step) {
	s.showStep(w, r, p, http.StatusOK, "")
}

func (s *Server) showStep(w http.ResponseWriter, _ *http.Request, p step, status int, problem string) {
	to, _ := url.Parse(p.redirect) // it was parsed when the client registered it
	data := map[string]any{
		"Title": "Log in", "ID": p.id, "Client": p.client.Name, "Publisher": p.client.host(), "Host": to.Host,
		"Problem": problem, "Passkeys": s.Users.HasPasskeys(), "Passwords": s.Users.HasPasswords(), "Server": s.host(),
		"Here": isThisMachine(to.Hostname()), "App": to.Scheme != "http" && to.Scheme != "https", "Scheme": to.Scheme,
	}
	if p.account == "" {
		s.write(w, status, "login", data)
		return
	}
	workspace := p.user.Workspace
	if workspace == "" {
		workspace = s.Workspace
	}
	data["Title"], data["User"], data["Agent"] = "Give access", p.user.Name, p.user.Agent
	data["Workspace"], data["Profiles"] = workspace, p.scopes
	s.write(w, status, "consent", data)
}

func (s *Server) host() string { return strings.TrimPrefix(s.origin, "https://") }

// A nextPage is the answer to a script of a page.
type nextPage struct {
	Options any    `json:"options,omitzero"`
	Next    string `json:"next,omitzero"`
	Problem string `json:"problem,omitzero"`
}

// passkey answers the script of the page: the options for the browser if the request is empty, else the
// page that follows the signature in it.
func (s *Server) passkey(w http.ResponseWriter, r *http.Request, p step) {
	s.ceremony(w, r, p.event("login", ""),
		func() (any, error) { return s.Users.BeginPasskey(r.Context(), p.id) },
		func(response []byte) (users.User, string, error) {
			one, err := s.Users.FinishPasskey(r.Context(), p.id, response)
			if err == nil {
				err = s.logIn(r.Context(), p, one)
			}
			return one, pagePath + p.id, err
		})
}

// ceremony does one half of a ceremony of passkeys.
func (s *Server) ceremony(w http.ResponseWriter, r *http.Request, e event, begin func() (any, error),
	finish func([]byte) (one users.User, next string, err error)) {
	body, err := io.ReadAll(r.Body)
	var one users.User
	var res nextPage
	switch {
	case err != nil:
	case len(body) == 0:
		res.Options, err = begin()
	default:
		one, res.Next, err = finish(body)
		if one.Name != "" {
			e.user, e.agent = one.Name, one.Agent
		}
	}
	if err != nil {
		status, why, problem := s.explain(err)
		e.why = why
		_ = s.record(r, e)
		writeJSON(w, status, nextPage{Problem: problem})
		return
	}
	if res.Next != "" {
		if err := s.welcome(w, r, e, one); err != nil {
			writeJSON(w, http.StatusServiceUnavailable, nextPage{Problem: "The login cannot be recorded now. Try again later."})
			return
		}
	}
	writeJSON(w, http.StatusOK, res)
}

// explain returns an error for the log and for the person.
func (s *Server) explain(err error) (status int, why, problem string) {
	known := (*tool.Error)(nil)
	if !errors.As(err, &known) {
		s.Log.Error("a login failed", "err", err)
		return http.StatusServiceUnavailable, "the login failed", "The login does not work now. Try again later."
	}
	why, problem = known.What, strings.ToUpper(known.What[:1])+known.What[1:]+"."
	if cause := known.Unwrap(); cause != nil {
		why += ": " + cause.Error()
	}
	if known.Next != "" {
		problem += " " + strings.ToUpper(known.Next[:1]) + known.Next[1:] + "."
	}
	status = http.StatusForbidden
	if known.Kind == tool.Busy {
		status = http.StatusTooManyRequests
	}
	return status, why, s.Scrub(problem)
}

// logIn notes the user in a login.
func (s *Server) logIn(ctx context.Context, p step, one users.User) error {
	return s.DB.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("UPDATE login SET account = $2 WHERE id = $1 AND code = ''", p.id, one.ID)
		if err == nil && n == 0 {
			err = tool.Errorf(tool.Refused, "this login has ended").Try("begin again in the program that sent you here")
		}
		return err
	})
}

// welcome records a login and remembers the browser.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, e event, one users.User) error {
	if err := s.record(r, e); err != nil {
		return err
	}
	if cookie(r, deviceCookie) == "" {
		device, err := s.Users.Remember(r.Context(), one)
		if err != nil {
			return err
		}
		w.Header().Add("Set-Cookie", newCookie(deviceCookie, device, 365*24*time.Hour))
	}
	return nil
}

// password logs a person in with a password and a code.
func (s *Server) password(w http.ResponseWriter, r *http.Request, p step) {
	one, err := s.Users.Password(r.Context(), r.PostFormValue("name"), r.PostFormValue("password"), r.PostFormValue("code"),
		address(r), cookie(r, deviceCookie))
	if err == nil {
		err = s.logIn(r.Context(), p, one)
	}
	if err != nil {
		status, why, problem := s.explain(err)
		_ = s.record(r, p.event("login", why))
		s.showStep(w, r, p, status, problem)
		return
	}
	p.user = one
	if err := s.welcome(w, r, p.event("login", ""), one); err != nil {
		s.broken(w, r, err)
		return
	}
	http.Redirect(w, r, pagePath+p.id, http.StatusSeeOther)
}

// allProfiles is the choice of all profiles that are offered.
const allProfiles = "*"

// lasting returns how long a login may last, by the choice of the person.
func lasting(choice string) (time.Duration, bool) {
	days, ok := map[string]int{"1": 1, "30": 30, "365": 365}[choice]
	return time.Duration(days) * 24 * time.Hour, ok
}

// consent ends a login: with a code for the client, or with a refusal.
func (s *Server) consent(w http.ResponseWriter, r *http.Request, p step) {
	if p.account == "" {
		s.fail(w, r, http.StatusForbidden, "consent", "consent before the login", "Log in first.")
		return
	}
	if r.PostFormValue("decision") != "allow" {
		s.finish(w, r, p, "", "access_denied")
		return
	}
	chosen := r.PostForm["profile"]
	if slices.Equal(chosen, []string{allProfiles}) {
		chosen = p.scopes
	}
	lasts, ok := lasting(r.PostFormValue("lasts"))
	wider := slices.ContainsFunc(chosen, func(name string) bool { return !slices.Contains(p.scopes, name) })
	if !ok || len(chosen) == 0 || wider {
		_ = s.record(r, p.event("consent", "a choice that was not offered"))
		s.showStep(w, r, p, http.StatusForbidden, "Choose one of the profiles, and how long the access lasts.")
		return
	}
	code := users.NewSecret()
	profiles, err := store.ToJSON(chosen, false)
	if err == nil {
		err = s.DB.Update(r.Context(), func(t *store.Tx) error {
			n, err := t.Exec(`UPDATE login SET code = $2, profiles = $3, lasts = $4, expires = {{now}} + $5 WHERE id = $1
				AND code = '' AND account = $6`, p.id, users.Digest(code), profiles, lasts.Milliseconds(), codeAge.Milliseconds(), p.account)
			if err == nil && n == 0 {
				err = errors.New("the login has ended in the meantime")
			}
			return err
		})
	}
	if err != nil {
		s.broken(w, r, err)
		return
	}
	s.finish(w, r, p, code, "")
}

// finish sends the person back to the client, with a code or an error.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, p step, code, refusal string) {
	q, why := url.Values{"code": {code}}, ""
	if refusal != "" {
		q, why = url.Values{"error": {refusal}, "error_description": {"the user did not agree"}}, "the user did not agree"
		err := s.DB.Update(r.Context(), func(t *store.Tx) error {
			_, err := t.Exec("DELETE FROM login WHERE id = $1 AND code = ''", p.id)
			return err
		})
		if err != nil {
			s.broken(w, r, err)
			return
		}
	}
	if err := s.record(r, p.event("consent", why)); err != nil {
		s.broken(w, r, err)
		return
	}
	to, err := s.respond(p.login, q)
	if err != nil {
		s.broken(w, r, err)
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Refresh", "0; url="+to)
	title := "You are connected"
	if refusal != "" {
		title = "You did not agree"
	}
	s.write(w, http.StatusOK, "done", map[string]any{"Title": title, "Client": p.client.Name,
		"To": template.URL(to)}) //nolint:gosec // redirectFault has checked it
}

// showInvite shows the page of a one-time link. It uses up nothing.
func (s *Server) showInvite(w http.ResponseWriter, r *http.Request) {
	one, err := s.Users.Invited(r.Context(), r.PathValue("secret"))
	if err != nil {
		s.refuseInvite(w, r, one, err)
		return
	}
	s.write(w, http.StatusOK, "invite", s.invitation(r, one, "Welcome, "+one.Name, ""))
}

func (s *Server) invitation(r *http.Request, one users.User, title, problem string) map[string]any {
	return map[string]any{
		"Title": title, "User": one.Name, "Path": users.InvitePath + r.PathValue("secret"), "Problem": problem,
		"Passkeys": s.Users.HasPasskeys(), "Passwords": s.Users.HasPasswords(), "Server": s.host(), "Endpoint": s.Endpoint,
		"Done": false,
	}
}

func (s *Server) refuseInvite(w http.ResponseWriter, r *http.Request, one users.User, err error) {
	status, why, problem := s.explain(err)
	_ = s.record(r, event{verb: "invite", user: one.Name, why: why})
	s.write(w, status, "failed", map[string]any{"Title": "This did not work", "Text": problem})
}

// invitePasskey answers the script of the page of a link.
func (s *Server) invitePasskey(w http.ResponseWriter, r *http.Request) {
	secret := r.PathValue("secret")
	s.ceremony(w, r, event{verb: "invite"},
		func() (any, error) { return s.Users.BeginSetup(r.Context(), secret) },
		func(response []byte) (users.User, string, error) {
			one, err := s.Users.FinishSetup(r.Context(), secret, response)
			return one, "done", err
		})
}

// showCode shows the secret of codes, to be added to a phone, and the form of the password.
func (s *Server) showCode(w http.ResponseWriter, r *http.Request) {
	s.codePage(w, r, http.StatusOK, "")
}

func (s *Server) codePage(w http.ResponseWriter, r *http.Request, status int, problem string) {
	one, err := s.Users.Invited(r.Context(), r.PathValue("secret"))
	var sheet users.Sheet
	if err == nil {
		sheet, err = s.Users.BeginPassword(r.Context(), r.PathValue("secret"))
	}
	if err != nil {
		s.refuseInvite(w, r, one, err)
		return
	}
	data := s.invitation(r, one, "A password and codes", problem)
	data["Secret"] = sheet.Secret
	var picture bytes.Buffer
	if image, err := sheet.Key.Image(240, 240); err == nil && png.Encode(&picture, image) == nil {
		data["Picture"] = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes()))
	}
	s.write(w, status, "code", data)
}

// invitePassword sets the password of the user of a link.
func (s *Server) invitePassword(w http.ResponseWriter, r *http.Request) {
	one, err := s.Users.FinishPassword(r.Context(), r.PathValue("secret"), r.PostFormValue("password"), r.PostFormValue("code"))
	if err != nil {
		_, why, problem := s.explain(err)
		_ = s.record(r, event{verb: "invite", user: one.Name, why: why})
		s.codePage(w, r, http.StatusForbidden, problem)
		return
	}
	if err := s.welcome(w, r, event{verb: "invite", user: one.Name, agent: one.Agent}, one); err != nil {
		s.broken(w, r, err)
		return
	}
	data := s.invitation(r, one, "Done", "")
	data["Done"] = true
	s.write(w, http.StatusOK, "invite", data)
}
