// Package credential adds the operator's credentials to requests: each one only to requests to
// its hosts.
//
// It knows the names of credentials, their hosts, paths and methods, and the callers with the
// right to use them. The model knows only the names. A secret is fetched when a request needs
// it, and the scrubber learns it before it is sent. It is added to each request again, so that
// a redirect does not send it to another host. This package does not know the storage of
// secrets.
//
// Begin with [Wallet.Find].
package credential

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The values of [Settings].As that are not the name of a header.
const (
	Bearer = "bearer" // the default
	Basic  = "basic"
)

// Options are the needs of a Wallet.
type Options struct {
	Credentials map[string]Settings // by name
	// Private are the hosts, with a port, that get credentials also without TLS.
	Private []string
	// Profile returns the policy profile of the caller in ctx.
	Profile func(ctx context.Context) string
	// Fetch returns the value of a secret.
	Fetch func(config.Secret) (string, error)
	// Mask makes the scrubber replace values in all later results and logs.
	Mask func(name string, values ...string) error
}

// A Wallet has the credentials of one server.
type Wallet struct {
	Options
	all []credential
}

// credential is a configured credential with its parsed hosts.
type credential struct {
	Settings
	name   string
	places []place
}

// A place is a host that may get a credential, and the directory of the permitted paths; ""
// permits every path.
type place struct {
	hosts egress.Hosts
	path  string
}

// New checks the credentials and returns a Wallet.
func New(o Options) (*Wallet, error) {
	w := &Wallet{Options: o}
	for _, name := range slices.Sorted(maps.Keys(o.Credentials)) {
		c := credential{Settings: o.Credentials[name], name: name}
		for _, text := range c.Hosts {
			host, below, found := strings.Cut(text, "/")
			if found {
				below = "/" + below
			}
			hosts, err := egress.ParseHosts([]string{host})
			if err != nil {
				return nil, fmt.Errorf("web.credentials.%s.hosts: %w", name, err)
			}
			c.places = append(c.places, place{hosts, below})
		}
		if len(c.Methods) == 0 {
			c.Methods = []string{http.MethodGet, http.MethodHead}
		}
		w.all = append(w.all, c)
	}
	return w, nil
}

// usable reports whether the caller in ctx may use a credential at all.
func (w *Wallet) usable(ctx context.Context, c credential) bool {
	return (len(c.Profiles) == 0 || slices.Contains(c.Profiles, w.Profile(ctx))) &&
		(len(c.Agents) == 0 || slices.Contains(c.Agents, tool.CallerFrom(ctx).Agent))
}

// Find returns the credential with a name, if the caller in ctx may send it with this
// method to this URL. Credentials that the caller may not use at all are not found.
func (w *Wallet) Find(ctx context.Context, name, method, address string) (outbound.Credential, error) {
	var names []string
	for _, c := range w.all {
		if !w.usable(ctx, c) {
			continue
		}
		if names = append(names, c.name); c.name != name {
			continue
		}
		u, err := url.Parse(address)
		if err != nil {
			return nil, tool.Errorf(tool.Invalid, "%.200q is not a URL", address).
				Try("use a URL such as https://example.org/path").Because(err)
		}
		if !slices.Contains(c.Methods, method) {
			return nil, tool.Errorf(tool.Refused, "the credential %q may be used with %s, not with %s",
				name, strings.Join(c.Methods, ", "), method).
				Try("use one of these methods, or ask the user to have the operator allow it")
		}
		if err := w.fits(c, u); err != nil {
			return nil, tool.Errorf(tool.Refused, "the credential %q is not for %q: %v", name, u.Host, err).
				Try("send the request without it, or to one of: %s", strings.Join(c.Hosts, ", "))
		}
		return attachment{w, c}, nil
	}
	err := tool.Errorf(tool.NotFound, "no credential %.64q", name)
	if len(names) == 0 {
		return nil, err.Try("send the request without auth_profile, or ask the user to have the operator configure one")
	}
	return nil, err.Try("use one of %s", strings.Join(names, ", "))
}

// fits returns why a credential may not be sent to a URL, or nil.
func (w *Wallet) fits(c credential, u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	to, err := egress.NewTarget(u.Hostname(), port)
	if err != nil {
		return errors.New("this is not a host")
	}
	private := slices.Contains(w.Private, to.String())
	err = errors.New("it is for other hosts")
	for _, p := range c.places {
		switch {
		case !p.hosts.Has(to):
		case u.Scheme != "https" && !private:
			err = errors.New("it is sent over https only")
		case u.Scheme == "https" && to.Port != 443 && !p.hosts.HasPort(to) && !private:
			err = errors.New("it is for port 443") // another port may belong to another user of the host
		case p.path != "" && !below(u.Path, p.path):
			err = errors.New("it is for other paths")
		default:
			return nil
		}
	}
	return err
}

// below reports whether a path is the operator's or below it. It reports false for a path that
// servers may resolve to another one.
func below(asked, parent string) bool {
	ambiguous := func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`\;%`, c) }
	if strings.ContainsFunc(asked, ambiguous) || asked != path.Clean(asked) && asked != path.Clean(asked)+"/" {
		return false
	}
	rest, ok := strings.CutPrefix(asked, parent)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(parent, "/"))
}

// An attachment adds a credential to requests. It implements [outbound.Credential].
type attachment struct {
	wallet *Wallet
	credential
}

// Attach adds the secret to a request, if the credential is for its URL and method.
func (a attachment) Attach(_ context.Context, r *http.Request) (bool, error) {
	if a.wallet.fits(a.credential, r.URL) != nil || !slices.Contains(a.Methods, r.Method) {
		return false, nil
	}
	secret, err := a.wallet.Fetch(a.Secret)
	if err != nil {
		return false, a.unreadable(err)
	}
	if strings.ContainsFunc(secret, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return false, tool.Errorf(tool.Unavailable, "the credential %q has characters that are invalid in a header",
			a.name).
			Try("ask the user to have the operator check it")
	}
	header, value, values := a.encode(secret)
	if err := a.wallet.Mask("web.credentials."+a.name, values...); err != nil {
		return false, tool.Errorf(tool.Refused, "the credential %q cannot be masked in results", a.name).
			Try("ask the user to have the operator configure a longer one").Because(err)
	}
	r.Header.Set(header, value)
	return true, nil
}

func (a attachment) unreadable(err error) error {
	return tool.Errorf(tool.Unavailable, "the credential %q cannot be read", a.name).
		Try("ask the user to have the operator check it").Because(err)
}

// encode returns the name and the value of the header, and the values to mask.
func (a attachment) encode(secret string) (header, value string, values []string) {
	switch a.As {
	case Basic:
		encoded := base64.StdEncoding.EncodeToString([]byte(secret))
		values = []string{encoded, secret}
		if _, password, found := strings.Cut(secret, ":"); found && password != "" {
			values = append(values, password)
		}
		return "Authorization", "Basic " + encoded, values
	case "", Bearer:
		return "Authorization", "Bearer " + secret, []string{secret}
	}
	return a.As, secret, []string{secret}
}

// Within reports whether content contains the secret, unchanged or in an encoding that
// programs use when they print headers. It stops reading at the first occurrence.
func (a attachment) Within(content io.Reader) (bool, error) {
	secret, err := a.wallet.Fetch(a.Secret)
	if err != nil {
		return false, a.unreadable(err)
	}
	_, _, values := a.encode(secret)
	var forms [][]byte
	longest := 0
	for _, form := range encodingsOf(values) {
		forms = append(forms, []byte(form))
		longest = max(longest, len(form))
	}
	buf := make([]byte, max(1<<20, 4*longest))
	kept := 0 // bytes of the previous part, where the secret may begin
	for {
		n, err := io.ReadFull(content, buf[kept:])
		for _, form := range forms {
			if bytes.Contains(buf[:kept+n], form) {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, buf[len(buf)-longest:])
	}
}

// encodingsOf returns the values unchanged, URL-encoded, in hex and in base64. In base64
// a value has three encodings, for the three remainders of its offset modulo 3. The
// characters that also encode neighbouring bytes are left out.
func encodingsOf(values []string) (forms []string) {
	for _, v := range values {
		code := hex.EncodeToString([]byte(v))
		forms = append(forms, v, url.QueryEscape(v), url.PathEscape(v), code, strings.ToUpper(code))
		for before := range 3 { // bytes before the value in its first group
			text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), v...))
			text = text[[]int{0, 2, 3}[before]:]
			if (before+len(v))%3 != 0 {
				text = text[:len(text)-1] // also encodes the byte after the value
			}
			forms = append(forms, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
		}
	}
	return forms
}
