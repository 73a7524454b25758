package login

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/users"
)

// TestPasskeys sets a passkey in Chromium, with its virtual authenticator, logs in with it and agrees. Then it tries
// the passkey of one user as another one.
func TestPasskeys(t *testing.T) {
	path := needtest.Program(t, "chromium", "chromium-browser", "google-chrome")
	w := &world{TB: t, db: storetest.Open(t, t.TempDir()), browser: map[string]string{}, from: "127.0.0.1:1"}
	site := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			_, _ = rw.Write([]byte("<p id=client>the client</p>"))
			return
		}
		w.ServeHTTP(rw, r)
	}))
	t.Cleanup(site.Close)
	at, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	here := "https://localhost:" + at.Port()
	w.Server = w.replica(w.db, nil)
	o := w.Options
	o.Endpoint = here + "/mcp"
	o.Users = users.New(users.Options{DB: w.db, Seal: plainSealer{}, Origin: func() string { return here }})
	w.Server = New(o)
	back := here + "/callback"
	client := w.register(back)

	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(hang), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("ignore-certificate-errors", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), hang)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it may have ended already
		end()
		stop()
		cancel()
	})
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			body, _ := chromedp.Run(ctx, chromedp.Text("body")) // for the message
			t.Fatalf("%v on a page with %q", err, body)
		}
	}
	text := func(of string) string {
		t.Helper()
		got, err := chromedp.Run(ctx, chromedp.Text(of))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var device webauthn.AuthenticatorID
	plug := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		made, err := cdp.Call(ctx, target, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
			Options: &webauthn.VirtualAuthenticatorOptions{
				Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
				HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
			},
		})
		device = made.AuthenticatorID
		return err
	})
	credentials := func() []*webauthn.Credential {
		t.Helper()
		got, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (webauthn.GetCredentialsResult, error) {
			return cdp.Call(ctx, target, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: device})
		})
		if err != nil || len(got.Credentials) != 1 {
			t.Fatalf("credentials: %+v, %v", got, err)
		}
		return got.Credentials
	}
	narrow := func() {
		t.Helper()
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth"))
		if err != nil || wide > 320 {
			t.Errorf("the page is %d pixels wide, %v", wide, err)
		}
	}
	begin := func() string {
		q := request(client)
		q.Set("redirect_uri", back)
		q.Set("resource", here+"/mcp")
		return here + authorizePath + "?" + q.Encode()
	}
	setUp := func(name string) {
		t.Helper()
		link, err := w.Users.Add(t.Context(), users.User{Name: name, Profiles: []string{"coding", "readonly"}})
		if err != nil {
			t.Fatal(err)
		}
		run(chromedp.Navigate(link), chromedp.Click("button[data-passkey]"), chromedp.WaitVisible("#done"))
		narrow()
	}
	const logInButton = "button[data-passkey]"

	run(chromedp.EmulateViewport(320, 640), chromedp.Navigate(here+"/login/style.css"), plug)
	setUp("ann")
	run(chromedp.Navigate(begin()), chromedp.WaitVisible(logInButton))
	narrow()
	run(chromedp.Click(logInButton), chromedp.WaitVisible("button[value=allow]"))
	narrow()
	if got := text("main"); !strings.Contains(got, "as ann") || !strings.Contains(got, "this computer") {
		t.Errorf("the page of consent: %s", got)
	}
	run(chromedp.Click("button[value=allow]"), chromedp.WaitReady("#client"))
	location, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`code=([a-z0-9]+)`).FindStringSubmatch(location)
	if code == nil {
		t.Fatalf("the client got %s", location)
	}
	form := exchange(client, code[1])
	form.Set("redirect_uri", back)
	form.Set("resource", here+"/mcp")
	if got := w.tokenOf(here, form); got.Access == "" {
		t.Errorf("tokens: %+v", got)
	}

	// The passkey of bob says that it is ann's.
	anns := credentials()
	run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, webauthn.RemoveVirtualAuthenticator, webauthn.RemoveVirtualAuthenticatorParams{
			AuthenticatorID: device,
		})
		return err
	}), plug)
	setUp("bob")
	bobs := credentials()[0]
	forged := map[string]any{"authenticatorId": device, "credential": map[string]any{ // the package's type has fields that Chromium refuses here
		"credentialId": bobs.CredentialID, "isResidentCredential": true, "rpId": bobs.RpID, "privateKey": bobs.PrivateKey,
		"signCount": bobs.SignCount, "userHandle": anns[0].UserHandle,
	}}
	run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, webauthn.ClearCredentials, webauthn.ClearCredentialsParams{AuthenticatorID: device})
		if err == nil {
			add := cdp.Command[map[string]any, cdp.Empty]{Method: webauthn.CommandAddCredential}
			_, err = cdp.Call(ctx, target, add, forged)
		}
		return err
	}), chromedp.Navigate(begin()), chromedp.Click(logInButton), chromedp.WaitVisible("#problem"))
	if got := text("#problem"); !strings.Contains(got, "The passkey was not accepted.") {
		t.Errorf("the page says %q", got)
	}
	if got := w.recorded("login"); !slices.Equal(got, []string{"ok", "refused"}) {
		t.Errorf("recorded: %v", got)
	}
}

// hang is how long a test waits for what must happen.
const hang = 3 * time.Minute

// tokenOf asks for tokens at another host than that of the world.
func (w *world) tokenOf(here string, form url.Values) (g granted) {
	w.Helper()
	rec := httptest.NewRecorder()
	r := w.form(tokenPath, form)
	r.Host = strings.TrimPrefix(here, "https://")
	w.ServeHTTP(rec, r)
	if err := fromJSON(rec.Body.Bytes(), &g); err != nil {
		w.Fatalf("tokens: %d %s", rec.Code, rec.Body)
	}
	return g
}
