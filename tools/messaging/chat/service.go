package chat

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// A Service is a kind of channel. The package of each service returns it, and package
// services lists it; no other package names a service.
type Service struct {
	Name     string   // in the settings and in addresses, such as telegram
	Title    string   // such as Telegram
	Also     []string // other names in addresses
	Settings []Setting
	Needs    string // that people set up at the service first; for the documentation
	Markup   string // that Markdown becomes; for the documentation
	// Owns reports whether an id without the name of a channel looks like one of the
	// service. nil: none does.
	Owns func(id string) bool
	// Chat returns the id of the chat in an address. nil: the address is the id.
	Chat func(address string) string
	// Single: a channel is one chat, and is its address.
	Single bool
	// Forgeable: anybody can name a message that an incoming one answers.
	Forgeable bool
	// AnyCase: ids that differ only in case are the same.
	AnyCase bool
	// Open returns a channel. It connects to nothing.
	Open func(a Account) (Channel, error)
}

// A Setting is a setting that a service has for its channels. Several services may have one of the same name and form.
type Setting struct {
	Name, Doc string
	Form      string // of its text, as package config names it; secret leads to a secret
	Required  bool
}

// Names reports whether a name in an address names the service.
func (s Service) Names(prefix string) bool {
	for _, name := range append([]string{s.Name}, s.Also...) {
		if name == prefix {
			return true
		}
	}
	return false
}

// A Secret returns a credential. nil: there is none.
type Secret func(ctx context.Context) (string, error)

// Get returns the credential, "" if there is none. Its errors are of kind Denied, and name the credential.
func (s Secret) Get(ctx context.Context, name string) (string, error) {
	if s == nil {
		return "", nil
	}
	value, err := s(ctx)
	if err != nil {
		return "", &Error{Kind: Denied, Text: "the " + name + " cannot be used", Cause: err}
	}
	return value, nil
}

// An Account has the settings of a channel, and its ways to the network.
type Account struct {
	HTTP  outbound.Client
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Roots *x509.CertPool   // of connections by Dial; nil: the system's
	Now   func() time.Time // nil: the system's clock

	Values  map[string]string // of the settings that the service declares
	Secrets map[string]Secret // of the settings that lead to secrets
}

// Time returns the time now.
func (a Account) Time() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}
