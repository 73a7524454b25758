// Package credential sends requests with what the operator keeps secret, to the
// hosts that each secret is for and to no other.
//
// It knows names, hosts, methods and who may use which; the model knows the
// names alone. A secret is fetched when it is needed, is made known to whoever
// masks secrets before it goes out, and is put into a request on its way, so that
// no redirect takes it to another host. It does not know where secrets are kept.
//
// Begin with [Wallet.Find].
package credential

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// How a secret is sent.
const (
	Bearer = "bearer"
	Basic  = "basic"
	Header = "header"
)

// A Credential is one secret with what it is for.
type Credential struct {
	Name      string
	Hosts     []string // patterns as in [egress.Rules]
	Paths     []string // beginnings; none means all
	Fetch     func() (string, error)
	As        string   // Bearer, Basic, or Header; "" is Bearer
	Header    string   // for Header
	Methods   []string // none means GET and HEAD
	Profiles  []string // of callers that may use it; none means all
	Agents    []string
	Redirects bool // within the same host
}

// Options say what a Wallet needs to know.
type Options struct {
	Credentials []Credential
	// Private are the hosts, with a port, that may be asked without TLS.
	Private []string
	// Profile names the policy profile of the caller of ctx.
	Profile func(ctx context.Context) string
	// Mask has a secret taken out of whatever leaves, from now on.
	Mask func(name string, values ...string) error
}

// A Wallet is the credentials of one server. It implements [web.Secrets].
type Wallet struct {
	all     []item
	private []string
	profile func(context.Context) string
	mask    func(string, ...string) error
}

type item struct {
	Credential
	hosts egress.Hosts
}

// New checks what the operator has written.
func New(o Options) (*Wallet, error) {
	w := &Wallet{private: o.Private, profile: o.Profile, mask: o.Mask}
	for _, c := range o.Credentials {
		hosts, err := egress.ParseHosts(c.Hosts)
		if err != nil {
			return nil, fmt.Errorf("web.credentials: %s: hosts: %w", c.Name, err)
		}
		if slices.ContainsFunc(w.all, func(other item) bool { return other.Name == c.Name }) {
			return nil, fmt.Errorf("web.credentials: there are two of the name %s", c.Name)
		}
		if (c.As == Header) != (c.Header != "") {
			return nil, fmt.Errorf("web.credentials: %s: header goes with as: header, and nothing else", c.Name)
		}
		if len(c.Methods) == 0 {
			c.Methods = []string{http.MethodGet, http.MethodHead}
		}
		w.all = append(w.all, item{c, hosts})
	}
	return w, nil
}

// usable reports whether the caller of ctx may use an item at all.
func (w *Wallet) usable(ctx context.Context, c item) bool {
	return (len(c.Profiles) == 0 || slices.Contains(c.Profiles, w.profile(ctx))) &&
		(len(c.Agents) == 0 || slices.Contains(c.Agents, tool.CallerFrom(ctx).Agent))
}

// Find returns the credential of a name, if the caller of ctx may send it with
// this method to this URL. Those that it may not use do not exist for it.
func (w *Wallet) Find(ctx context.Context, name, method, address string) (web.Credential, error) {
	var names []string
	for _, c := range w.all {
		if !w.usable(ctx, c) {
			continue
		}
		if names = append(names, c.Name); c.Name != name {
			continue
		}
		u, err := url.Parse(address)
		if err != nil {
			return nil, tool.Errorf(tool.Invalid, "%.200q is no URL", address).Because(err)
		}
		if !slices.Contains(c.Methods, method) {
			return nil, tool.Errorf(tool.Refused, "the credential %q may be used with %s, not with %s", name, strings.Join(c.Methods, ", "), method).
				Try("use one of these, or ask the person to have the operator allow it")
		}
		if err := w.fits(c, u); err != nil {
			return nil, tool.Errorf(tool.Refused, "the credential %q is not for %q: %v", name, u.Host, err).
				Try("send the request without it, or to one of: %s", strings.Join(c.Hosts, ", ")+beneathWords(c.Paths))
		}
		return attachment{w, c}, nil
	}
	err := tool.Errorf(tool.NotFound, "there is no credential %.64q for you", name)
	if len(names) == 0 {
		return nil, err.Try("send the request without auth_profile, or ask the person to have the operator set one up")
	}
	return nil, err.Try("these are there: %s", strings.Join(names, ", "))
}

func beneathWords(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return ", beneath " + strings.Join(paths, " or ")
}

// fits says why a credential may not go to a URL, or nil.
func (w *Wallet) fits(c item, u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	to, err := egress.NewTarget(u.Hostname(), port)
	if err != nil {
		return errors.New("that is no host")
	}
	switch {
	case !c.hosts.Has(to):
		return errors.New("it is for other hosts")
	case u.Scheme != "https" && !slices.Contains(w.private, to.String()):
		return errors.New("it goes over https only")
	case u.Scheme == "https" && to.Port != 443 && !c.hosts.HasPort(to) && !slices.Contains(w.private, to.String()):
		return errors.New("it is for port 443") // behind another may be somebody else
	case len(c.Paths) > 0 && !beneath(u.Path, c.Paths):
		return fmt.Errorf("it is for paths that begin with %s", strings.Join(c.Paths, " or "))
	}
	return nil
}

// beneath reports whether a path begins as one of the operator's does, however
// it is written.
func beneath(asked string, beginnings []string) bool {
	odd := func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`\;%`, c) }
	if strings.ContainsFunc(asked, odd) || asked != path.Clean(asked) && asked != path.Clean(asked)+"/" {
		return false // servers do not agree on what it is
	}
	return slices.ContainsFunc(beginnings, func(b string) bool {
		rest, ok := strings.CutPrefix(asked, b)
		return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(b, "/"))
	})
}

// An attachment is a credential that goes out with a request.
type attachment struct {
	wallet *Wallet
	item
}

// Redirects says whether they may be followed.
func (a attachment) Redirects() bool { return a.Credential.Redirects }

// Attach puts the secret into a request to a host that it is for.
func (a attachment) Attach(_ context.Context, r *http.Request) (bool, error) {
	if a.wallet.fits(a.item, r.URL) != nil || !slices.Contains(a.Methods, r.Method) {
		return false, nil
	}
	secret, err := a.Fetch()
	if err != nil {
		return false, a.unreadable(err)
	}
	if strings.ContainsFunc(secret, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return false, tool.Errorf(tool.Unavailable, "the credential %q has characters that no header can carry", a.Name).
			Try("ask the person to have the operator look at it")
	}
	header, value, values := a.written(secret)
	if err := a.wallet.mask("web.credentials."+a.Name, values...); err != nil {
		return false, tool.Errorf(tool.Refused, "the credential %q could not be kept out of results", a.Name).
			Try("ask the operator for a longer one").Because(err)
	}
	r.Header.Set(header, value)
	return true, nil
}

func (a attachment) unreadable(err error) error {
	return tool.Errorf(tool.Unavailable, "the credential %q cannot be read", a.Name).
		Try("ask the person to have the operator look at it").Because(err)
}

// written is the header, its value, and all that is to be masked.
func (a attachment) written(secret string) (header, value string, values []string) {
	switch a.As {
	case Basic:
		encoded := base64.StdEncoding.EncodeToString([]byte(secret))
		values = []string{encoded, secret}
		if _, password, found := strings.Cut(secret, ":"); found && password != "" {
			values = append(values, password)
		}
		return "Authorization", "Basic " + encoded, values
	case Header:
		return a.Credential.Header, secret, []string{secret}
	}
	return "Authorization", "Bearer " + secret, []string{secret}
}
